/** How a gateway starts and stops: under load, with waiting requests, without servers. */
import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { askAt, runGateway } from '../commands.js'
import { eventually, freePort, startServer } from '../servers.js'
import { startGateway, startReader } from '../services.js'
import { sharedDeployment } from '../shared.js'
import { GENEROUS_MS, holdsItemsOf, itemsOf, timed } from './requests.js'
import { openWire, postOf } from './wire.js'
import { scopedEngines, wholeTest } from '../scope.js'

const [engine] = await scopedEngines()

/** @param {import('../services.js').Service} service */
const stopped = (service) => timed(async () => ({ code: await service.stop() }))

t.test('after a stop under load everything acknowledged is stored', async (t) => {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const [{ command, post }, reader] = await Promise.all([
    runGateway(t, { redisUrl: primary.url, flags: ['--key-prefix', keyPrefix] }), startReader(t, { redisUrl: primary.url, keyPrefix })])
  const taken = /** @type {string[]} */ ([])
  const other = /** @type {Record<string, number>} */ ({})
  const stopped = new AbortController()
  const clients = Array.from({ length: 20 }, async (_, client) => {
    for (let n = 0; !stopped.signal.aborted; n++) {
      const items = itemsOf(`${client}-${n}`, 10)
      const answer = await post('/v1/feeds/load/items', items).catch(() => ({ status: 0, json: null }))
      if (answer.status === 200) taken.push(...items.map(({ id }) => id))
      else other[`${answer.status} ${answer.json?.code}`] = (other[`${answer.status} ${answer.json?.code}`] ?? 0) + 1
      if (answer.status === 0) return
    }
  })
  await eventually(() => taken.length > 2000)
  const { code, stderr, ms } = await timed(() => command.stop())
  stopped.abort()
  await Promise.all(clients)
  t.equal(code, 0)
  t.ok(ms < GENEROUS_MS, `stopped after ${ms} ms`)
  t.notMatch(stderr, /"level":[56]0/)
  t.same(Object.keys(other).filter((answer) => !['0 undefined', '503 NOT_READY'].includes(answer)), [],
    'late requests got 503 NOT_READY or no answer')
  await eventually(async () => (await reader.ask('/v1/feeds/load/count')).json.count >= taken.length)
  const stored = new Set((await reader.allItems('load')).map(({ id }) => id))
  t.same(taken.filter((id) => !stored.has(id)), [])
})

wholeTest('a request that waits during the stop is answered, and unacknowledged items are reported', async (t) => {
  const primary = await startServer(t, { engine })
  const gateway = await startGateway(t, { redisUrl: primary.url, flags: ['--drain-ms', '500', '--ack-within-ms', '60000'] })
  const { service, post } = gateway
  await post('/v1/feeds/one/items', itemsOf('before', 1))
  primary.freeze()
  const waiting = post('/v1/feeds/one/items', itemsOf('during', 5))
  await holdsItemsOf(gateway, 'one')
  const { code, ms } = await stopped(service)
  t.match((await waiting).json, { code: 'ACK_UNKNOWN', detail: /the feed was closed/ })
  t.equal(code, 1)
  t.match(service.log, /"failed":5/)
  t.ok(ms < GENEROUS_MS, `stopped after ${ms} ms`)
})

t.test('an open batch is flushed at once during the stop', async (t) => {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const gateway = await startGateway(t,
    { redisUrl: primary.url, keyPrefix, flags: ['--batch-ms', '60000', '--ack-within-ms', '60000'] })
  const { service, post } = gateway
  // this one goes at once
  await post('/v1/feeds/one/items', itemsOf('before', 1))
  const waiting = post('/v1/feeds/one/items', itemsOf('a', 5))
  await holdsItemsOf(gateway, 'one')
  const { code, ms } = await stopped(service)
  t.match(await waiting, { status: 200, json: { accepted: 5 } })
  t.equal(code, 0)
  t.ok(ms < GENEROUS_MS, `stopped after ${ms} ms`)
})

wholeTest('items of a body that arrives during the stop are flushed at once', async (t) => {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const gateway = await startGateway(t,
    { redisUrl: primary.url, keyPrefix, flags: ['--batch-ms', '60000', '--ack-within-ms', '60000'] })
  // this one goes at once
  await gateway.post('/v1/feeds/one/items', itemsOf('before', 1))
  const body = JSON.stringify(itemsOf('a', 5))
  const wire = await openWire(t, gateway.url)
  wire.write(postOf('/v1/feeds/one/items', body).slice(0, -10))
  await eventually(async () => /^freshet_http_requests_in_progress 1$/m.test((await gateway.send('GET', '/metrics')).body))
  const stopping = stopped(gateway.service)
  wire.write(body.slice(-10))
  t.match(await wire.answer(), { status: 200, json: { accepted: 5 } })
  const { code, ms } = await stopping
  t.equal(code, 0)
  t.ok(ms < GENEROUS_MS, `stopped after ${ms} ms`)
})

t.test('clients that disconnect, stall or are idle do not delay the stop', async (t) => {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const gateway = await startGateway(t, { redisUrl: primary.url, keyPrefix, flags: ['--drain-ms', '700'] })
  const reader = await startReader(t, { redisUrl: primary.url, keyPrefix, flags: ['--read-from', 'primary'] })
  const { port } = new URL(gateway.url)
  const body = JSON.stringify(itemsOf('left', 3))
  const head = (/** @type {number} */ bytes) =>
    `POST /v1/feeds/one/items HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`
  const open = async (/** @type {string} */ text) => {
    const socket = connect(Number(port), '127.0.0.1')
    t.teardown(() => socket.destroy())
    socket.on('error', () => {})
    await once(socket, 'connect')
    socket.write(text)
    return socket
  }
  const left = await open(head(body.length) + body)
  left.destroySoon()
  await eventually(async () => (await reader.ask('/v1/feeds/one/count')).json.count === 3)

  const stalled = await open(head(1000) + '[')
  const kept = await open(head(2) + '[]')
  const [answer] = await once(kept, 'data')
  t.match(String(answer), /^HTTP\/1\.1 200 /)
  const { code, ms } = await stopped(gateway.service)
  t.equal(code, 0)
  t.ok(ms < GENEROUS_MS, `stopped after ${ms} ms`)
  await Promise.all([stalled, kept].map((socket) => socket.closed || once(socket, 'close')))
})

wholeTest('a gateway waits for unreachable servers, but not for servers that refuse it', async (t) => {
  const port = await freePort()
  const { url, post, service } = await startGateway(t, { redisUrl: `redis://127.0.0.1:${port}` })
  const { get } = askAt(url)
  t.match((await get('/readyz')).json, { code: 'NOT_READY', reasons: [/^SERVER_UNREACHABLE/] })
  t.match((await post('/v1/feeds/one/items', itemsOf('a', 1))).json, { status: 503, code: 'SERVER_UNREACHABLE', retryable: true })
  t.equal((await get('/metrics')).status, 200)
  await startServer(t, { engine, port })
  await eventually(async () => (await get('/readyz')).status === 200)
  t.match(await post('/v1/feeds/one/items', itemsOf('a', 1)), { status: 200 })
  t.equal(await service.stop(), 0)

  const guarded = await startServer(t, { engine, args: ['--requirepass', 'right'] })
  await t.rejects(startGateway(t, { redisUrl: guarded.url.replace('//', '//:wrong@') }),
    { exitStatus: 1, message: /^the server at .*WRONGPASS/ })
})
