/**
 * The client of a measurement: what it counts, whatever servers do, and what it looks at.
 */
import { createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { withoutSettings } from '../../lab/run/child.js'
import { limitIn, readResponse } from '../../lab/serving/responses.js'
import { servingInvariants, servingMarks } from '../../lab/serving/figures.js'
import { startProcess } from '../../lab/serving/process.js'
import { startRequests } from '../../lab/serving/request-loop.js'

const CLIENT = fileURLToPath(new URL('../../lab/serving/client-process.js', import.meta.url))
// NODE_OPTIONS is the test runner's
const env = { ...withoutSettings(process.env), NODE_OPTIONS: '' }

const [one, other] = await Promise.all([1, 2].map(async () => {
  const client = startProcess('the client', [CLIENT], env)
  t.teardown(() => client.stop())
  await client.receive('up')
  return client
}))

/** @param {import('../../lab/serving/process.js').Process} client @param {string} url @param {object} order */
function asked (client, url, order) {
  client.send({ event: 'request', urls: [url], right: { items: null, bytes: null }, ...order })
  return client.receive('requested')
}

/**
 * A server of raw bytes.
 * @param {import('tap').Test} t
 * @param {(socket: import('node:net').Socket, n: number) => void} answer the n-th request, from 1
 */
async function startRaw (t, answer) {
  let n = 0
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('data', () => answer(socket, ++n))
  })
  await /** @type {Promise<void>} */ (new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve) }))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}/v1/x`
}

t.test('L4: requests that are refused, lost or never answered are outcomes with numbers of their own', async (t) => {
  const reply = (/** @type {string} */ status, /** @type {string} */ body) =>
    `HTTP/1.1 ${status}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  const order = { connections: 2, everyMs: 0, seconds: 0.5 }
  const waiting = asked(other, await startRaw(t, () => {}), { ...order, everyMs: 700, connections: 3 })
  const refused = await asked(one, await startRaw(t, (socket, n) =>
    setTimeout(() => socket.write(n % 3 === 0 ? reply('503 Busy', '{"code":"OVERLOADED"}') : reply('200 OK', '{}')), 5)), order)
  const cut = await asked(one, await startRaw(t, (socket, n) =>
    setTimeout(() => n % 5 === 0 ? socket.end() : socket.write(reply('200 OK', '{}')), 5)), order)
  const reset = await asked(one, await startRaw(t, (socket, n) =>
    setTimeout(() => n > 100 ? socket.resetAndDestroy() : socket.write(reply('200 OK', '{}')), 10)), { ...order, seconds: 3 })
  const silent = await waiting
  for (const { requests } of [refused, cut, reset, silent]) {
    const { sent, answered, missing, errors, timeouts, byStatus } = requests
    t.equal(sent, answered + missing)
    t.equal(missing, errors + timeouts)
    t.equal(/** @type {number[]} */ (Object.values(byStatus)).reduce((sum, n) => sum + n, 0), answered)
  }
  t.ok(refused.requests.byStatus[503] > 0 && refused.requests.byStatus[200] > 0, JSON.stringify(refused.requests))
  t.ok(refused.answers.wrong >= refused.requests.byStatus[503])
  t.match(refused.answers.detail, /^status 503: .*OVERLOADED/)
  t.ok(cut.requests.errors > 0 && cut.requests.answered > 0, JSON.stringify(cut.requests))
  t.equal(cut.requests.timeouts, 0)
  t.equal(reset.connectionsLost, 2)
  t.ok(reset.requests.errors <= 2, JSON.stringify(reset.requests))
  // two of three are due in the window, the third is in its warm-up, and none is ever answered
  t.match(silent.requests, { answered: 0, errors: 0, byStatus: {} })
  t.equal(silent.latencyMs, null)
})

t.test('a request that is sent at the end of the window has an outcome, also if the wait for the outcomes begins early', async (t) => {
  const url = await startRaw(t, (socket) => setTimeout(() => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'), 2))
  const startMs = performance.now()
  const loop = startRequests({
    urls: [url],
    connections: 1,
    everyMs: 0,
    fromMs: 0,
    untilMs: 300,
    now: () => performance.now() - startMs,
    inspector: { wants: () => false, inspect () {} }
  })
  await pause(150)
  await loop.settled()
  const { requests: { sent, answered, missing } } = loop.figures()
  t.ok(performance.now() - startMs >= 300)
  t.ok(sent > 1)
  t.same([answered, missing], [sent, 0])
})

t.test('a client that measures freshness skips missed requests; one that measures latency does not', async (t) => {
  const slow = await startRaw(t, (socket) => setTimeout(() => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'), 50))
  const order = { connections: 1, everyMs: 2, seconds: 1.5 }
  const [{ requests: all }, { requests: looks }] = await Promise.all([
    asked(one, slow, { ...order, freshness: null }), asked(other, slow, { ...order, freshness: { ratePerSecond: 1000 } })
  ])
  t.equal(all.planned, 750)
  t.equal(all.sent, 0, 'those of the warm-up are still due')
  t.ok(looks.sent > 1 && looks.sent < 40, `${looks.sent} sent`)
})

t.test('answers are looked at', async (t) => {
  const items = (/** @type {number[]} */ ...times) => JSON.stringify({ items: times.map((ts) => ({ id: 'a', ts, value: '' })) })
  t.equal(readResponse(200, items(3, 2, 2), { items: 3, bytes: null }).fault, null)
  t.equal(readResponse(200, items(3, 2), { items: 3, bytes: null }).fault, '2 items; expected 3')
  t.equal(readResponse(200, items(3, 1, 2), { items: 3, bytes: null }).fault, 'item 3 (2) is newer than the one before it (1)')
  t.equal(readResponse(200, '{}', { items: 3, bytes: null }).fault, 'no items; expected 3')
  t.equal(readResponse(200, '{"items":[', { items: 3, bytes: null }).fault, 'invalid JSON: {"items":[')
  t.equal(readResponse(503, '{"code":"X"}', { items: 3, bytes: null }).fault, 'status 503: {"code":"X"}')
  t.equal(readResponse(200, 'xxxx', { items: 3, bytes: 4 }).fault, null)
  t.equal(readResponse(200, 'xxx', { items: 3, bytes: 4 }).fault, '3 bytes; expected 4')
  t.equal(readResponse(200, '{"count":1}', { items: null, bytes: null }).fault, null)

  t.same(['/v1/feeds/lab/items', '/v1/feeds/lab/items?limit=7&encoding=utf8', '/v1/feeds/lab/items/id-1', '/v1/feeds/lab/count',
    '/v1/feeds/lab/items?id=a&id=b'].map(limitIn), [100, 7, null, null, null])
})

t.test('L7, L15: a starved client is marked, wrong answers and sums that do not add up are INVALID', async (t) => {
  const requests = { planned: null, sent: 10, answered: 9, missing: 1, errors: 1, timeouts: 0, byStatus: { 200: 9 } }
  /** @param {any} changes @returns {any} */
  const figures = (changes) =>
    ({ requests, answers: { looked: 3, wrong: 0, detail: null }, client: { cpuSeconds: 1, loopUse: 0.5, connectionsLost: 0 }, ...changes })
  const failing = (/** @type {any} */ changes) => servingInvariants(figures(changes)).filter(({ ok }) => !ok).map(({ name }) => name)
  t.same(failing({}), [])
  t.same(failing({ requests: { ...requests, sent: 11 } }), ['requests add up'])
  t.same(failing({ requests: { ...requests, byStatus: { 200: 8 } } }), ['requests add up'])
  t.same(failing({ requests: { ...requests, errors: 0 } }), ['requests add up'])
  t.same(failing({ requests: { ...requests, planned: 9 } }), ['requests add up'])
  t.same(failing({ answers: { looked: 3, wrong: 1, detail: 'no JSON' } }), ['responses are correct'])
  t.same(failing({ answers: { looked: 0, wrong: 0, detail: null } }), ['responses are correct'])
  t.same(servingInvariants(undefined), [])
  t.same([0.5, 0.81].map((loopUse) => servingMarks(figures({ client: { loopUse } }))), [[], ['generator-bound']])
  const seldom = (/** @type {number} */ p99) => servingMarks(figures({ freshness: { p99: 10, betweenMs: { p99 } } }))
  t.same([4, 6].map(seldom), [[], ['generator-bound']], 'a client that looks so seldom measures itself')
  t.same(servingMarks(undefined), [])
})
