/** What code of users throws: anything, such as null or undefined, and errors with megabytes of text. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { admissionKey } from '../../src/admission/index.js'
import { createDeadLetters } from '../../src/consumers/index.js'
import { openSystem } from '../../src/systems/index.js'
import { loadSystems } from '../../src/systems/list.js'
import { sharedDatabase } from '../database.js'
import { scopedEngines } from '../scope.js'
import { connectFor, engineName, eventually, startServer } from '../servers.js'
import { startConsumers, startGateway, startReader } from '../services.js'
import { sharedDeployment } from '../shared.js'
import { openSeats, ruleOf } from './seats.js'

const [{ url: databaseUrl }, { primary: { url: redisUrl }, keyPrefix }] = await Promise.all([sharedDatabase(t), sharedDeployment(t)])
const folder = await mkdtemp(join(tmpdir(), 'freshet-thrown-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
const connection = await connectFor(t, redisUrl)
const MOST = 4096
const HUGE = 5 * 1024 * 1024
// a rule gets no rep of megabytes
const LOG = ruleOf(`if args[1] == 'huge' then
    local text = string.rep('x', 1048576)
    error(text .. text .. text .. text .. text)
  end
  return 'logged', {}, { events = { { type = 'logged', text = args[1] } } }`)

/** @param {string} name @param {string} parts @returns {Promise<string>} path of a module */
async function moduleOf (name, parts) {
  await writeFile(join(folder, `${name}.js`), `const HUGE = 'x'.repeat(${HUGE})
    const fail = (thrown) => { throw thrown }
    const given = { name: '${name}', rules: { seat: { lua: ${JSON.stringify(LOG)} } }, ${parts} }
    export default given`)
  return join(folder, `${name}.js`)
}

/** @param {string} system @param {string} prefix */
function lettersOf (system, prefix) {
  const keyOf = (/** @type {number} */ partition) => admissionKey(prefix, system, partition, 2)
  return createDeadLetters({ connectionOf: () => connection, keyOf, partitions: 2 })
}

/** @param {import('tap').Test} t @param {string} log JSON lines */
function expectShortLines (t, log) {
  for (const line of log.trim().split('\n')) {
    JSON.parse(line, (name, value) => {
      if (typeof value === 'string' && Buffer.byteLength(value) > MOST) t.fail(`${name} of a log line has ${value.length} characters`)
      return value
    })
  }
}

t.test('a handler that throws anything fails its entries, and the partition goes on; the letter says what was thrown', async (t) => {
  const where = { redisUrl, keyPrefix: `${keyPrefix}a:`, partitions: 2 }
  const { system, submit } = await openSeats(t, where, { lua: LOG })
  const circular = Object.assign(Object.create(null), { toString () { throw new Error('never') } })
  const thrown = new Map(/** @type {[string, unknown][]} */ ([
    ['null', null], ['undefined', undefined], ['text', 'a text'], ['nameless', circular], ['rejected', null],
    ['retried', { message: 'an object', retryable: false }], ['error', new Error('an error')], ['huge', new Error('x'.repeat(HUGE))]
  ]))
  const seen = /** @type {string[]} */ ([])
  await system.consume('receipts', async (entries) => {
    for (const { text } of entries) {
      if (text === 'rejected') return Promise.reject(thrown.get(text))
      if (thrown.has(String(text))) throw thrown.get(String(text))
      seen.push(String(text))
    }
  }, { attempts: 2 })
  for (const name of thrown.keys()) await submit('k', name === 'huge' ? 'huge-text' : name)
  thrown.set('huge-text', thrown.get('huge'))
  await submit('k', 'last')
  await eventually(() => seen.includes('last'))
  const { items } = await lettersOf('seats', where.keyPrefix).list({ after: null, limit: 100 })
  const reasons = Object.fromEntries(items.map(({ fields: { text }, reason }) => [text, reason]))
  t.match(reasons, {
    null: 'null was thrown',
    undefined: 'undefined was thrown',
    text: 'a text',
    nameless: 'a value of type object was thrown',
    rejected: 'null was thrown',
    retried: 'an object',
    error: 'an error',
    'huge-text': /^x+\.\.\. \(5242880 characters\)$/
  })
  t.ok(Buffer.byteLength(reasons['huge-text']) <= MOST)
})

t.test('a module that throws anything while it is loaded, or in metrics, is refused with the reason', async (t) => {
  for (const [what, message] of /** @type {[string, RegExp][]} */ ([
    ['null', /cannot be loaded \(null was thrown\)/], ['undefined', /\(undefined was thrown\)/],
    ["new Error('x'.repeat(5e6))", /cannot be loaded \(x+\.\.\. \(\d+ characters\)/]
  ])) {
    const path = join(folder, `load-${what.slice(0, 4)}.js`)
    await writeFile(path, `throw ${what}`)
    const error = await loadSystems([path]).catch((error) => error)
    t.match(error, { code: 'SETTINGS_INVALID', message })
    t.ok(Buffer.byteLength(error.message) <= 2 * MOST)
  }
  const path = await moduleOf('counted', 'metrics: () => fail(null)')
  await t.rejects(startConsumers(t, { redisUrl, keyPrefix, flags: ['--systems', path] }),
    { code: 'SETTINGS_INVALID', message: /system counted: metrics throws \(null was thrown\)/ })
})

t.test('routes of a system that throw anything answer 500, and the process goes on', async (t) => {
  const route = (/** @type {string} */ path, /** @type {string} */ command) =>
    `{ path: '/v1/thrown/${path}/:id', summary: 'x', replies: { logged: 201 }, command: (given) => ${command} }`
  const query = (/** @type {string} */ path, /** @type {string} */ shown) =>
    `{ path: '/v1/thrown/${path}/:id', summary: 'x', shown: (stored) => ${shown} }`
  const path = await moduleOf('thrown', `
    commands: {
      ok: ${route('ok', "({ rule: 'seat', key: given.params.id, args: ['text'] })")},
      none: ${route('null', 'fail(null)')}, undef: ${route('undefined', 'fail(undefined)')},
      later: ${route('later', 'Promise.reject(null)')}, error: ${route('error', 'fail(new Error(HUGE))')},
      rule: ${route('rule', "({ rule: 'seat', key: given.params.id, args: ['huge'] })")}
    },
    queries: {
      fine: ${query('fine', 'stored')}, none: ${query('null', 'fail(null)')}, undef: ${query('undefined', 'fail(undefined)')},
      json: ${query('json', '({ toJSON: () => fail(null) })')}, error: ${query('error', 'fail(new Error(HUGE))')}
    },
    stream: { path: '/v1/thrown/live/:id', summary: 'x', snapshot: () => fail(null), event: () => fail(undefined) }`)
  const flags = ['--systems', path]
  const of = { redisUrl, keyPrefix: `${keyPrefix}b:`, flags }
  const [gateway, reader] = [await startGateway(t, of), await startReader(t, of)]
  /** @param {string} url @param {RequestInit} [init] */
  async function expectFailure (url, init) {
    const response = await fetch(url, init)
    const text = await response.text()
    t.equal(response.status, 500, url)
    t.ok(text.length < 2 * MOST, `${text.length} bytes from ${url}`)
    t.match(JSON.parse(text), { status: 500, code: /^(INTERNAL|RULE_FAILED)$/ }, url)
  }
  const post = (/** @type {string} */ name) => `${gateway.url}/v1/thrown/${name}/a`
  const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
  t.equal((await fetch(post('ok'), request)).status, 201)
  for (const name of ['null', 'undefined', 'later', 'error', 'rule']) await expectFailure(post(name), request)
  await eventually(async () => (await fetch(`${reader.url}/v1/thrown/fine/a`)).status === 200)
  for (const name of ['null', 'undefined', 'json', 'error']) await expectFailure(`${reader.url}/v1/thrown/${name}/a`)
  const stop = new AbortController()
  const live = await fetch(`${reader.url}/v1/thrown/live/a`, { signal: stop.signal })
  t.equal(live.status, 200)
  t.equal((await fetch(post('ok'), request)).status, 201)
  t.equal((await fetch(`${reader.url}/v1/thrown/fine/a`)).status, 200)
  stop.abort()
  for (const { service } of [gateway, reader]) expectShortLines(t, service.log)
})

t.test('a transaction whose code throws null is rolled back, and its entry becomes a letter', async (t) => {
  const handler = '(entries, { database }) => database.transaction(async () => { throw null })'
  const path = await moduleOf('rows', `consumers: { receipts: ${handler} }`)
  const prefix = `${keyPrefix}c:`
  const { service } = await startConsumers(t, {
    redisUrl, keyPrefix: prefix, flags: ['--systems', path, '--database-url', databaseUrl, '--system-partitions', '2']
  })
  const system = await openSystem({ name: 'rows', rules: { seat: { lua: LOG } } }, { redisUrl, keyPrefix: prefix, partitions: 2 })
  t.teardown(() => system.close())
  await system.submit({ rule: 'seat', key: 'a', args: ['one'] })
  const letters = lettersOf('rows', prefix)
  const [letter] = await eventually(async () => {
    const { items } = await letters.list({ after: null, limit: 1 })
    return items.length > 0 && items
  })
  t.equal(letter.reason, 'null was thrown')
  expectShortLines(t, service.log)
})

for (const engine of await scopedEngines()) {
  t.test(`${engineName(engine)}: an error of a rule with megabytes of text is cut, and the commands beside it are decided`, async (t) => {
    const server = await startServer(t, { engine })
    const admin = await connectFor(t, server.url)
    const sentBytes = async () => Number(/total_net_output_bytes:(\d+)/.exec(String(await admin.send('INFO', 'stats')))?.[1])
    const { submit, system } = await openSeats(t, { redisUrl: server.url, keyPrefix: 'fr:', partitions: 1 }, { lua: LOG })
    const before = await sentBytes()
    const calls = await Promise.allSettled([submit('a', 'one'), submit('a', 'huge'), submit('b', 'two'), submit('b', 'huge')])
    t.same(calls.map(({ status }) => status), ['fulfilled', 'rejected', 'fulfilled', 'rejected'])
    t.ok(await sentBytes() - before < HUGE, 'a reply above 64 MiB would end the connection')
    const { reason } = /** @type {any} */ (calls[1])
    t.match(reason, { code: 'RULE_FAILED', rule: 'seat', line: 4, message: /seat, line 4: x+/ })
    t.ok(Buffer.byteLength(reason.message) <= MOST, `${reason.message.length} characters`)
    t.match(system.account, { accepted: 2, failed: 2, lost: 0 })
  })
}
