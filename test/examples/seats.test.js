/** The example of docs/own-systems.md: a hall of seats, as a user of the package writes it. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { checkRule, openSystem } from '../../src/systems/index.js'
import { loadSystems, SYSTEM_NAMES, SYSTEMS } from '../../src/systems/list.js'
import { endOfMain } from '../bin/in-process.js'
import { commandsIn, exampleOf, patternOf, shellOf } from '../docs/examples.js'
import { openLive } from '../push/live-client.js'
import { eventually } from '../servers.js'
import { startConsumers, startGateway, startReader } from '../services.js'
import { sharedDeployment } from '../shared.js'

const NOTHING_KEPT = /** @type {any} */ (null)

const run = promisify(execFile)
const EXAMPLE = new URL('../../examples/seats/', import.meta.url)
const receipts = await mkdtemp(join(tmpdir(), 'freshet-receipts-'))
t.teardown(() => rm(receipts, { recursive: true, force: true }))
process.env.SEATS_RECEIPTS = receipts
const { default: seats } = await import('../../examples/seats/index.js')
const { primary: { url: redisUrl }, keyPrefix } = await sharedDeployment(t)

t.test('a hall with the library: held, at most four a person, confirmed, released, expired; a receipt for each sold seat', async (t) => {
  const system = await openSystem(seats, { redisUrl, keyPrefix, deadlineMs: 10_000 })
  t.teardown(() => system.close())
  /** @param {string[]} args */
  const code = async (...args) => (await system.submit({ rule: 'hall', key: 'opera', args })).code
  t.equal(await code('hold', 'B-7', 'ann'), 'no_such_hall')
  const creations = ['3', '3', '4'].map((rows) => code('create', rows, '10'))
  t.same(await Promise.all(creations), ['created', 'unchanged', 'exists'])
  t.same(await Promise.all(['B-7', 'B-7', 'D-1', 'A-11', 'C-10'].map((seat) => code('hold', seat, 'ann'))),
    ['held', 'taken', 'no_such_seat', 'no_such_seat', 'held'])
  t.same(await Promise.all(['A-1', 'A-2', 'A-3'].map((seat) => code('hold', seat, 'ann'))), ['held', 'held', 'over_limit'])
  t.same([await code('confirm', 'B-7', 'bob'), await code('confirm', 'B-7', 'ann'), await code('release', 'A-1', 'ann')],
    ['not_held', 'sold', 'released'])
  t.equal(await code('hold', 'A-3', 'ann'), 'held')
  const stored = /** @type {import('../../src/systems/index.js').Stored} */ (await system.get('opera'))
  t.match(seats.queries?.hall.shown(stored, NOTHING_KEPT),
    { hall: 'opera', rows: 3, taken: { 'B-7': 'sold', 'A-2': 'held', 'A-3': 'held', 'C-10': 'held' } })
  t.notMatch(JSON.stringify(seats.queries?.hall.shown(stored, NOTHING_KEPT)), /ann/)
  await system.consume('receipts', /** @type {any} */ (seats.consumers).receipts)
  const [name] = await eventually(async () => {
    const names = await readdir(receipts)
    return names.length > 0 && names
  })
  t.match(JSON.parse(await readFile(join(receipts, name), 'utf8')), { hall: 'opera', seat: 'B-7', person: 'ann' })
  t.equal(await code('expire:A-2'), 'expired')
})

t.test('its fold and certain rejections agree with its Lua', async (t) => {
  const seatOf = (/** @type {() => number} */ random) => `A-${1 + Math.floor(3 * random())}`
  const { accepted } = await checkRule(seats.rules.hall, {
    redisUrl,
    keyPrefix,
    runs: 20,
    commands (random) {
      const op = ['create', 'hold', 'hold', 'confirm', 'release', 'expire'][Math.floor(6 * random())]
      if (op === 'create') return [op, 1, 2]
      const seat = seatOf(random)
      return op === 'expire' ? [`expire:${seat}`] : [op, seat, random() < 0.5 ? 'ann' : 'bob']
    }
  })
  t.ok(accepted > 50, `${accepted} accepted`)
})

t.test('the example imports public exports alone', async (t) => {
  const texts = await Promise.all((await readdir(EXAMPLE)).map((name) => readFile(new URL(name, EXAMPLE), 'utf8')))
  for (const text of texts) t.notMatch(text, /\.\.\/\.\.\/src/)
})

t.test('docs/own-systems.md builds it from its own lines', async (t) => {
  const files = await Promise.all(['hall.lua', 'index.js'].map((name) => readFile(new URL(name, EXAMPLE), 'utf8')))
  const blocks = await exampleOf('docs/own-systems.md', 'hall')
  t.equal(blocks.length, 5)
  t.same(blocks.filter((text) => !files.some((file) => file.includes(text))), [])
})

t.test('the same over HTTP: gateway, reader and consumers with --systems, in one hall', async (t) => {
  const module = fileURLToPath(new URL('index.js', EXAMPLE))
  const [processes] = await exampleOf('examples/seats/README.md', 'processes')
  const shown = commandsIn(processes, { './examples/seats/index.js': module })
  const { gateway: flags } = shown
  const options = { redisUrl, keyPrefix: `${keyPrefix}http:`, flags }
  const ofReader = { ...options, flags: [...shown.reader, '--read-from', 'primary'] }
  const [gateway, reader] = await Promise.all([startGateway(t, options), startReader(t, ofReader)])
  await startConsumers(t, { ...options, flags: shown.consumers })
  /** @param {string} method @param {string} path @param {object} body @param {Record<string, string>} [headers] */
  const send = (method, path, body, headers = {}) =>
    gateway.send(method, `/v1/halls/${path}`, JSON.stringify(body), { 'content-type': 'application/json', ...headers })
  const hold = (/** @type {string} */ seat, /** @type {string} */ person, headers = {}) =>
    send('POST', 'opera2/holds', { seat, person }, headers)

  t.match(await reader.get('/v1/halls/opera2'), { status: 404, json: { code: 'HALL_UNKNOWN' } })
  t.match(await hold('B-7', 'ann'), { status: 404, json: { code: 'HALL_UNKNOWN' } })
  t.match(await send('PUT', 'opera2', { rows: 3, perRow: 10 }), { status: 201, json: { code: 'created', seq: 1 } })
  const first = await hold('B-7', 'ann', { 'idempotency-key': 'one' })
  t.match(first, { status: 201, json: { code: 'held', seat: 'B-7', untilMs: /^\d+$/, seq: 2 } })
  const again = await hold('B-7', 'ann', { 'idempotency-key': 'one' })
  t.match([again.status, again.json, again.headers.get('idempotent-replayed')], [201, first.json, 'true'])
  t.match(await hold('B-8', 'ann', { 'idempotency-key': 'one' }), { status: 422, json: { code: 'REQUEST_DIFFERS' } })
  t.match(await hold('B-7', 'bob'), { status: 409, json: { code: 'SEAT_TAKEN', detail: /B-7/, details: { seat: 'B-7' } } })
  t.match(await hold('7-B', 'bob'), { status: 422, json: { code: 'FIELD_INVALID' } })
  t.match(await send('POST', 'opera2/sales', { seat: 'B-7', person: 'ann' }), { status: 201, json: { code: 'sold' } })
  t.match(await reader.get('/v1/halls/opera2?minSeq=3'), { status: 200, json: { taken: { 'B-7': 'sold' }, seq: 3 } })
  await eventually(async () => (await readdir(receipts)).includes('opera2-3.json'))

  const live = '/v1/halls/opera2/live'
  const { events } = await openLive(t, reader.url, live)
  await eventually(() => events.length === 1)
  t.match(events[0], { event: 'snapshot', data: { hall: 'opera2', taken: { 'B-7': 'sold' } } })
  await hold('A-1', 'bob')
  await hold('A-2', 'bob')
  await eventually(() => events.length === 3)
  t.match(events.slice(1), ['A-1', 'A-2'].map((seat, i) => ({ event: 'held', data: { seq: 4 + i, type: 'held', ts: Number, seat } })))
  t.notMatch(JSON.stringify(events), /bob|ann/)
  const resumed = await openLive(t, reader.url, live, { headers: { 'last-event-id': events[1].id } })
  await eventually(() => resumed.events.length > 0)
  t.same(resumed.events, [events[2]])

  const openapi = /** @type {any} */ (await (await fetch(`${gateway.url}/docs/json`)).json())
  t.match(openapi.paths?.['/v1/halls/{id}/holds']?.post, { tags: ['seats'], summary: 'Hold a seat for two minutes' })

  await t.test('the session of its README prints what is shown', async (t) => {
    const [commands, printed] = await exampleOf('examples/seats/README.md', 'seats')
    const { stdout } = await run('bash', ['-c', shellOf(commands, { gateway, reader })])
    t.match(stdout.trim(), patternOf(printed))
  })

  await t.test('doctor and dead letters take the module, too', async (t) => {
    const where = ['--redis-url', redisUrl, '--key-prefix', options.keyPrefix]
    const doctor = await endOfMain(['doctor', ...flags, ...where])
    t.match(doctor, { code: 0, stdout: /system seats +hall 1 +stored: hall 1/ })
    t.match(await endOfMain(['dead-letters', 'list', '--system', flags[1].split(',')[1], ...where]), { code: 0, stdout: '' })
  })

  await t.test('beside all of ours, a token is for @seats alone, and metrics name the system', async (t) => {
    const tokens = join(receipts, 'tokens.ndjson')
    const rows = ['seats', 'sales'].map((name) => ({ token: `token-of-${name}`, scopes: ['read', 'write'], feeds: [`@${name}`] }))
    const scraper = { token: 'token-of-scraper', scopes: ['read'], feeds: ['*'] }
    await writeFile(tokens, [...rows, scraper].map((row) => JSON.stringify(row)).join('\n'))
    const path = flags[1].split(',')[1]
    const { url } = await startGateway(t, { ...options, flags: ['--systems', `all,${path}`, '--tokens', tokens] })
    const statusOf = async (/** @type {string} */ token, /** @type {string} */ hall) => (await fetch(`${url}/v1/halls/${hall}/holds`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ seat: 'B-1', person: 'ann' })
    })).status
    t.same([await statusOf('token-of-seats', 'opera2'), await statusOf('token-of-sales', 'opera2'), await statusOf('none', 'opera2')],
      [201, 403, 401])
    const metrics = await (await fetch(`${url}/metrics`, { headers: { authorization: 'Bearer token-of-scraper' } })).text()
    t.match(metrics, /^freshet_admission_commands_total\{.*system="seats".*\} 1$/m)
  })

  await t.test('a process with older rules says so in /readyz', async (t) => {
    const hall = { ...seats.rules.hall, version: 2 }
    const newer = await openSystem({ ...seats, rules: { hall } }, { redisUrl, keyPrefix: options.keyPrefix })
    t.teardown(() => newer.close())
    const body = JSON.stringify({ seat: 'A-1', person: 'ann' })
    const { status } = await gateway.send('POST', '/v1/halls/opera/holds', body, { 'content-type': 'application/json' })
    t.equal(status, 500)
    // one that is started later knows it before its first command
    for (const { url } of [gateway, await startGateway(t, options)]) {
      const ready = await eventually(async () => {
        const reply = await fetch(`${url}/readyz`)
        return reply.status === 503 && reply.json()
      })
      t.match(ready, { reasons: [/^RULE_DIFFERS: rule hall of seats is stored as version 2, and this process has version 1/] })
    }
  })
})

t.test('modules that cannot be a system are refused, with the reason', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'freshet-modules-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const lua = "'return function () return 1 end'"
  const modules = {
    'throws.js': ['throw new Error("broken")', /throws\.js cannot be loaded \(broken\)/],
    'syntax.js': ['export default {\n  name: "a"\n  rules: {}\n}', /syntax\.js cannot be loaded \(.*syntax\.js, line 3: Unexpected identifier/],
    'none.js': ['export const seats = {}', /none\.js has no default export/],
    'name.js': [`export default { name: 'Seats', rules: { a: { lua: ${lua} } } }`, /name\.js: name: Seats; expected a-z first/],
    'empty.js': ['export default {}', /empty\.js: name: undefined; expected/],
    'taken.js': [`export default { name: 'sales', rules: { a: { lua: ${lua} } } }`, /the name sales of .*taken\.js is taken/],
    'route.js': [`export default { name: 'mine', rules: { a: { lua: ${lua} } },
      commands: { one: { path: '/v1/auctions/:key/bids', summary: 'x', command () {}, replies: {} } } }`,
    /the route POST \/v1\/auctions\/:key\/bids of mine is one of auctions's/],
    'replies.js': [`export default { name: 'mine', rules: { a: { lua: ${lua} } },
      commands: { one: { path: '/v1/a/:id', command () {} } } }`,
    /mine: commands\.one\.replies: undefined; expected an object/],
    'parts.js': [`export default { name: 'mine', rules: { a: { lua: ${lua} } }, unknown: 'NO_A', stream: { path: '/v1/:a/:b' },
      commands: { one: { method: 'GET', path: 'a', access: 'read', body: { n: { type: 'number', min: 1 } },
        replies: { ok: 500, no: 'TYPO' } } },
      queries: { one: { path: '/v1/a' } }, consumers: { Mail: 7 } }`,
    new RegExp(['unknown: \'NO_A\'; expected a code of errors', 'one.path: \'a\'', 'one.method: \'GET\'', 'one.access: \'read\'',
      'one.command: undefined', 'body.n.type: \'number\'; expected string | integer | boolean', 'body.n: \'min\'', 'replies.ok: 500',
      'replies.no: \'TYPO\'', 'queries.one.path: \'/v1/a\'; expected one parameter', 'one.shown: undefined', 'stream.path: \'/v1/:a/:b\'',
      'stream.snapshot', 'stream.event', 'consumers: \'Mail\'', 'consumers.Mail: 7; expected a function'
    ].map((part) => part.replace(/[.|]/g, '\\$&')).join('[^]*'))],
    'error.js': [`export default { name: 'mine', rules: { a: { lua: ${lua} } }, errors: { FEED_UNKNOWN: { status: 404, meaning: 'x' } } }`,
      /errors\.FEED_UNKNOWN: this code is core's/]
  }
  for (const [name, [text, message]] of Object.entries(modules)) {
    await writeFile(join(folder, name), String(text))
    await t.rejects(loadSystems(['all', join(folder, name)]), { code: 'SETTINGS_INVALID', message }, name)
  }
  const throws = join(folder, 'throws.js')
  const message = /throws\.js cannot be loaded \(broken\)/
  for (const start of [startGateway, startReader, startConsumers]) {
    await t.rejects(start(t, { redisUrl, keyPrefix, flags: ['--systems', throws] }), { exitStatus: 2, message })
  }
  const where = ['--redis-url', redisUrl, '--key-prefix', keyPrefix]
  const commands = [['doctor', '--systems', throws, ...where], ['dead-letters', 'list', '--system', throws, ...where], ['demo', throws]]
  for (const args of commands) t.match(await endOfMain(args), { code: 2, stderr: message }, args[0])
  const [one, other] = ['one.js', 'other.js'].map((name) => join(folder, name))
  for (const path of [one, other]) await writeFile(path, `export default { name: 'mine', rules: { a: { lua: ${lua} } } }`)
  const seats = () => import('../../examples/seats/index.js')
  const names = (await loadSystems(['all'], { ...SYSTEMS, seats })).map(({ name }) => name)
  t.same(names, [...SYSTEM_NAMES, 'seats'], 'the folder of a system and a line of the list are all that a fifth system needs')
  await t.rejects(loadSystems([one, other]), { code: 'SETTINGS_INVALID', message: /the name mine of .*other\.js is taken/ })
  await writeFile(join(folder, 'own.js'), `export default { name: 'mine', rules: { a: { lua: ${lua} } },
    queries: { one: { path: '/v1/feeds/:id', shown () {} } } }`)
  await t.rejects(startReader(t, { redisUrl, keyPrefix, flags: ['--systems', join(folder, 'own.js')] }),
    { code: 'SETTINGS_INVALID', message: /a route of a system is one of Freshet's own: .*\/v1\/feeds\/:feed.*choose another path/ })
})
