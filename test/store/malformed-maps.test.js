/**
 * Answers about servers that no cluster and no Sentinel gives: the process goes on with what it knew, each is refused with a code, counted
 * and logged, and no server that is not of the cluster gets a write.
 */
import fc from 'fast-check'
import { pino } from 'pino'
import t from 'tap'
import { ERRORS } from '../../src/errors.js'
import { openFeed, openReader } from '../../src/index.js'
import { nodeInfo } from '../../src/store/nodes.js'
import { createPrimaries } from '../../src/store/primaries.js'
import { refusedAnswers } from '../../src/store/refused-answers.js'
import { slotMapOf } from '../../src/store/slot-map.js'
import { holds } from '../properties.js'
import { isWhole, scopedEngines } from '../scope.js'
import { connectFor, engineName, eventually, silentLog, startServer } from '../servers.js'
import { allAt, pretendServer } from './pretending.js'

t.setTimeout(300_000)
const MIB = 1024 * 1024
/** a process that does nothing else grows by a few */
const MAX_MIB = 150
const DEADLINE_MS = 30_000

/** @typedef {import('./pretending.js').Value} Value */

const ID = 'a'.repeat(40)
/** @type {(...nodes: Value[]) => Value} CLUSTER SLOTS with one range */
const slots = (...nodes) => [[0, 16383, ...nodes]]
/** @type {Value[]} */
const NODE = ['127.0.0.1', 6379, ID]

/** @type {Record<string, Value>} */
const MALFORMED = {
  nil: null,
  'an integer': 7,
  text: 'OK',
  'rows that are nil': [null],
  'rows that are integers': [1, 2],
  'rows that are text': ['0-16383'],
  'an empty row': [[]],
  'a row without nodes': [[0, 16383]],
  'nodes that are nil': slots(null),
  'nodes that are text': slots('127.0.0.1:6379'),
  'an empty node': slots([]),
  '20,000 nodes in a row': slots(...Array.from({ length: 20_000 }, (_, n) => /** @type {Value} */ (['127.0.0.1', 1 + n, ID]))),
  '16,384 rows of a node each': Array.from({ length: 16_384 }, (_, n) => [n, n, ['127.0.0.1', 1 + n, `${n}`]]),
  'ranges that overlap': [[0, 9000, NODE], [9000, 16383, NODE]],
  'a negative range': [[-1, 16383, NODE]],
  'a range that ends before it begins': [[10, 9, NODE]],
  'a huge range': [[0, 99_999_999, NODE]],
  'bounds that are text': [['0', '16383', NODE]],
  'a host that is a number': slots([127, 6379, ID]),
  'a host with a port': slots(['127.0.0.1:6379', 6379, ID]),
  'a host with spaces': slots(['a b', 6379, ID]),
  'a host with a path': slots(['a/b', 6379, ID]),
  'a host of 300 bytes': slots(['a'.repeat(300), 6379, ID]),
  'port 0': slots(['127.0.0.1', 0, ID]),
  'a port above 65,535': slots(['127.0.0.1', 65_536, ID]),
  'a negative port': slots(['127.0.0.1', -1, ID]),
  'a port that is nil': slots(['127.0.0.1', null, ID]),
  'a port that is text': slots(['127.0.0.1', 'x', ID]),
  'an id that is a list': slots(['127.0.0.1', 6379, [ID]])
}

/** @returns {Record<string, number>} */
const counts = () => Object.fromEntries(refusedAnswers())

/** A connection to the primaries of a node that is the whole cluster. @param {import('tap').Test} t @param {{ url: string }} node */
async function openFor (t, { url }) {
  /** @type {any[]} */
  const lines = []
  const log = pino({ level: 'warn' }, { write: (line) => { lines.push(JSON.parse(line)) } })
  const primaries = createPrimaries(url, { name: 'test', deadlineMs: DEADLINE_MS, prepare: nodeInfo, log })
  t.teardown(() => primaries.close())
  await primaries.opened
  return { primaries, map: slotMapOf(url), lines }
}

t.test('a process that starts gets an error that names the node and what is wrong', async (t) => {
  const before = process.memoryUsage().rss
  const { map } = counts()
  for (const [title, answer] of Object.entries(MALFORMED)) {
    const node = await pretendServer(t, ([name, word]) => name === 'CLUSTER' && word === 'SLOTS' ? answer : undefined)
    await t.rejects(openFeed('latest', { redisUrl: node.url, log: silentLog, deadlineMs: DEADLINE_MS }), {
      code: 'SERVER_REFUSED', message: new RegExp(`^the server at 127.0.0.1:${node.port} gave no usable answer to CLUSTER SLOTS: `)
    }, title)
    await t.rejects(openReader({ redisUrl: node.url, log: silentLog, deadlineMs: DEADLINE_MS }), { code: 'SERVER_REFUSED' }, title)
  }
  for (const answer of /** @type {Value[]} */ ([null, 7, [], 'cluster_current_epoch:99999999999999999999'])) {
    const node = await pretendServer(t, ([name, word]) => name === 'CLUSTER' && word === 'INFO' ? answer : undefined)
    await t.rejects(openFeed('latest', { redisUrl: node.url, log: silentLog, deadlineMs: DEADLINE_MS }),
      { code: 'SERVER_REFUSED', message: /no usable answer to CLUSTER INFO/ })
  }
  t.ok(counts().map >= map + 2 * Object.keys(MALFORMED).length, 'each is counted')
  t.ok(process.memoryUsage().rss - before < MAX_MIB * MIB, 'and fills no memory')
})

t.test('a process that runs keeps the map that it has, and logs why', async (t) => {
  const node = await pretendServer(t)
  const { primaries, map, lines } = await openFor(t, node)
  // the map is read at most once a second
  const cases = Object.entries(MALFORMED).filter((_, i) => isWhole || i % 10 === 0)
  for (const [title, answer] of cases) {
    node.answers = ([name, word]) => name === 'CLUSTER' && word === 'SLOTS' ? answer : undefined
    const before = counts().map
    await eventually(() => { map.refreshSoon(); return counts().map > before }, { everyMs: 100 })
    t.same(map.primaries, [node.url], title)
  }
  t.equal(String(await primaries.router.send('GET', 'a')), 'OK')
  t.match(lines[0], { about: 'map', code: 'SERVER_REFUSED', reason: /no usable answer to CLUSTER SLOTS: no array/ })
  t.ok(lines.length < cases.length, 'not every one is logged')
})

t.test('a host that is nil, empty or ? is that of the node that was asked', async (t) => {
  for (const host of [null, '', '?']) {
    const node = await pretendServer(t, ([name, word]) => name === 'CLUSTER' && word === 'SLOTS' ? slots([host, node.port, ID]) : undefined)
    const { map } = await openFor(t, node)
    t.same(map.primaries, [node.url])
  }
})

const REDIRECTS = ['MOVED', 'MOVED 5', 'MOVED 5 ', 'MOVED x 127.0.0.1:7000', 'MOVED 99999999 127.0.0.1:7000', 'MOVED 16384 127.0.0.1:7000',
  'MOVED -1 127.0.0.1:7000', 'MOVED 5 127.0.0.1', 'MOVED 5 127.0.0.1:', 'MOVED 5 127.0.0.1:7000:x', 'MOVED 5 127.0.0.1:7000:7001',
  'MOVED 5 127.0.0.1:0', 'MOVED 5 127.0.0.1:70000', 'MOVED 5 127.0.0.1:-1', 'MOVED 5 a/b:7000', `MOVED 5 ${'a'.repeat(300)}:7000`]
const ASKS = ['ASK', 'ASK 5', 'ASK 99999999 127.0.0.1:7000', 'ASK 5 127.0.0.1:7000:x', 'ASK 5 127.0.0.1:0']

t.test('a redirection without a slot or an address is sent again, to where the map leads', async (t) => {
  const node = await pretendServer(t)
  const { primaries, map, lines } = await openFor(t, node)
  for (const text of [...REDIRECTS, ...ASKS]) {
    let left = 2
    node.answers = ([name]) => name === 'GET' && left-- > 0 ? new Error(text) : undefined
    const { redirect } = counts()
    t.equal(String(await eventually(() => primaries.router.send('GET', 'a').catch(() => false))), 'OK', text)
    t.same(map.primaries, [node.url], text)
    if (text.startsWith('MOVED')) t.ok(counts().redirect > redirect, `${text} is counted`)
  }
  t.match(lines.find(({ about }) => about === 'redirect'), { code: 'SERVER_LOST', reason: /answered: MOVED$/ })

  node.answers = ([name]) => name === 'GET' ? new Error('MOVED 5') : undefined
  const asked = node.asked.length
  await t.rejects(primaries.router.send('GET', 'a'), { code: 'SERVER_LOST', retryable: true, message: /answered: MOVED 5$/ })
  t.ok(node.asked.length - asked < 100, 'with a back-off')
})

t.test('redirections to ever more addresses are bounded', async (t) => {
  const node = await pretendServer(t)
  const { map, primaries } = await openFor(t, node)
  node.answers = ([name, word]) => name === 'CLUSTER' && word === 'SLOTS' ? null : undefined
  const { redirect } = counts()
  const [connection] = primaries.connections
  const before = process.memoryUsage().rss
  // to where nothing listens
  for (let slot = 0; slot < 500; slot++) map.moved({ slot, host: '127.0.0.1', port: `${1 + slot}` }, connection)
  t.ok(map.primaries.length <= 101)
  t.ok(counts().redirect > redirect)
  t.ok(process.memoryUsage().rss - before < MAX_MIB * MIB)
})

for (const engine of await scopedEngines()) {
  t.test(`${engineName(engine)}: a server that is not of the cluster gets no write, whoever names it as an owner`, async (t) => {
    const foreign = await startServer(t, { engine })
    const admin = await connectFor(t, foreign.url)
    const untouched = async () => {
      t.equal(await admin.send('DBSIZE'), 0)
      t.notMatch(String(await admin.send('INFO', 'commandstats')), /cmdstat_(set|eval|evalsha|script|multi|z|x|h|get)/)
    }
    const named = await pretendServer(t, ([name, word]) => name === 'CLUSTER' && word === 'SLOTS' ? allAt(foreign.port) : undefined)
    const { owner } = counts()
    await t.rejects(openFeed('latest', { redisUrl: named.url, log: silentLog, deadlineMs: DEADLINE_MS }), { code: 'SERVER_REFUSED' })
    await untouched()

    // the map is right again a second later
    const node = await pretendServer(t)
    const { primaries, map } = await openFor(t, node)
    let redirected = 0
    node.answers = ([name]) => name === 'SET' && redirected++ < 3 ? new Error(`MOVED 15495 127.0.0.1:${foreign.port}`) : undefined
    await t.rejects(primaries.router.send('SET', 'a', '1'), { code: /^SERVER_/ })
    t.equal(String(await eventually(() => primaries.router.send('SET', 'a', '1').catch(() => false), { everyMs: 100 })), 'OK')
    t.same(map.primaries, [node.url])
    await untouched()
    // Redis refuses READONLY outside a cluster, before it is asked what it is
    if (engine.name === 'valkey') t.ok(counts().owner > owner)
  })
}

const junk = fc.oneof(fc.constantFrom(null, '', '?', '127.0.0.1', ':', 'OK', '-', ID, 'a'.repeat(1000), 'role:master', 'cluster_enabled:1',
  'master', 'slave'), fc.integer({ min: -2, max: 70_000 }), fc.constantFrom(2 ** 31, 2 ** 40, -1, 16_383, 16_384))
/** @type {fc.Arbitrary<Value>} */
const anyValue = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 5 }, junk, fc.array(tie('value'), { maxLength: 6 }),
    fc.string({ unit: 'binary-ascii', maxLength: 20 }).map((text) => new Error(text.replace(/[\r\n]/g, ' '))))
})).value
const anyNode = fc.oneof(anyValue, fc.tuple(junk, junk, junk))
const anyRow = fc.oneof(anyValue, fc.tuple(junk, junk, anyNode), fc.tuple(fc.constant(0), fc.constant(16_383), anyNode, anyNode))
const anyRedirect = fc.tuple(fc.constantFrom('MOVED', 'ASK', 'TRYAGAIN', 'CLUSTERDOWN', 'READONLY'), junk, junk, junk)
  .map(([word, slot, host, port]) => new Error(`${word} ${slot} ${host}:${port}`))
/** @type {Record<string, fc.Arbitrary<any>>} */
const REPLIES = {
  'CLUSTER SLOTS': fc.oneof(anyValue, fc.array(anyRow, { maxLength: 4 })),
  'CLUSTER INFO': anyValue,
  INFO: anyValue,
  ROLE: fc.oneof(anyValue, fc.tuple(fc.constantFrom('master', 'slave'), junk, fc.oneof(anyValue, fc.array(anyNode, { maxLength: 4 })))),
  GET: fc.oneof(anyValue, anyRedirect)
}

t.test('random answers: every call settles with a reply or an error with a code', async (t) => {
  const node = await pretendServer(t)
  let n = 0
  const before = process.memoryUsage().rss
  await holds(t, fc.asyncProperty(fc.record(REPLIES, { requiredKeys: [] }), async (replies) => {
    node.answers = ([name, word]) => replies[`${name} ${word}`] ?? replies[name]
    // each has a map of its own
    const redisUrl = `${node.url.replace('//', `//:${n++}@`)}`
    const primaries = createPrimaries(redisUrl, { name: 'test', deadlineMs: DEADLINE_MS, prepare: nodeInfo })
    const errors = [await primaries.opened.then(() => null, (error) => error)]
    errors.push(await primaries.router.send('GET', 'a').then(() => null, (error) => error))
    const reader = await openReader({ redisUrl, log: silentLog, deadlineMs: DEADLINE_MS, views: 'none' }).catch((error) => error)
    errors.push(reader instanceof Error ? reader : null)
    if (!(reader instanceof Error)) {
      errors.push(await reader.feed('a').latest(1).then(() => null, (/** @type {Error} */ error) => error))
      await reader.close()
    }
    await primaries.close()
    return errors.every((error) => error === null || Object.hasOwn(ERRORS, error.code) || assertCode(error))
  }), { runs: 150, timeLimitMs: 60_000 })
  t.ok(process.memoryUsage().rss - before < 2 * MAX_MIB * MIB)
})

t.test('random answers of a Sentinel: every call settles with a reply or an error with a code', async (t) => {
  const server = await pretendServer(t)
  const sentinel = await pretendServer(t)
  const anyFields = fc.array(fc.oneof(junk, fc.constantFrom('ip', 'port', 'flags', 'promoted', server.port)), { maxLength: 8 })
  await holds(t, fc.asyncProperty(fc.record({
    'GET-MASTER-ADDR-BY-NAME': fc.oneof(anyValue, fc.tuple(junk, junk), fc.constant(['127.0.0.1', String(server.port)])),
    REPLICAS: fc.oneof(anyValue, fc.array(anyFields, { maxLength: 3 })),
    MASTERS: anyValue
  }, { requiredKeys: ['GET-MASTER-ADDR-BY-NAME', 'REPLICAS', 'MASTERS'] }), fc.oneof(anyValue, fc.constant(undefined)),
  async (replies, info) => {
    sentinel.answers = ([, word]) => /** @type {any} */ (replies)[word]
    server.answers = ([name]) => name === 'INFO' ? info : undefined
    const redisUrl = `redis+sentinel://127.0.0.1:${sentinel.port}/freshet`
    const primaries = createPrimaries(redisUrl, { name: 'test', deadlineMs: DEADLINE_MS, prepare: nodeInfo })
    const error = await primaries.opened.then(() => null, (error) => error)
    await primaries.close()
    return error === null || Object.hasOwn(ERRORS, error.code) || assertCode(error)
  }), { runs: 300, timeLimitMs: 60_000 })
})

/** @param {Error} error @returns {never} fast-check shows it */
function assertCode (error) {
  throw new Error(`no code: ${error.stack}`)
}
