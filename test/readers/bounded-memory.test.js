/** What clients can make a reader hold: pipelined requests, large replies, clients that are slow or gone. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import t from 'tap'
import { createReader, isProblem, item, NOW, overSocket } from './fake-queries.js'
import { counted } from './view-reader.js'

const KIB = 1024
const ITEMS = '/v1/feeds/latest/items'
const IN_PROGRESS = 'freshet_http_requests_in_progress'

/** A feed of items of one size, and a reader with room for `maxReplyBytes`. */
function readerOf (t, { items, bytes, ...options }) {
  const feed = Array.from({ length: items }, (_, n) => item(`item-${n}`, NOW - n, Buffer.alloc(bytes, 'x')))
  return createReader(t, { latest: feed }, options)
}

/** @param {import('tap').Test} t @param {any} app @returns {Promise<import('node:net').Socket>} */
async function open (t, app) {
  if (!app.server.listening) await app.listen({ port: 0, host: '127.0.0.1' })
  const socket = connect(app.server.address().port, '127.0.0.1')
  socket.on('error', () => {})
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  return socket
}

const get = (path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`
/** The last one of a connection. */
const getLast = (path) => `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`

t.test('of 900 pipelined requests one is in progress, and all are answered in order', async (t) => {
  const { app, state, registry } = readerOf(t, { items: 50, bytes: 10 })
  const limits = Array.from({ length: 900 }, (_, n) => n % 50 + 1)
  let [most, asked] = [0, 0]
  state.delay = async () => { if (++asked % 100 === 0) most = Math.max(most, await counted(registry, IN_PROGRESS)) }
  const socket = await open(t, app)
  socket.write(limits.map((limit, n) => (n < 899 ? get : getLast)(`${ITEMS}?limit=${limit}`)).join(''))
  const text = (await socket.setEncoding('latin1').toArray()).join('')
  const bodies = text.split('HTTP/1.1 200 OK').slice(1).map((one) => JSON.parse(one.split('\r\n\r\n')[1]).items.length)
  t.same(bodies, limits)
  t.equal(most, 1)
})

t.test('a request that waits behind another one has a body, which is read in its turn', async (t) => {
  const { app } = readerOf(t, { items: 1, bytes: 10 })
  const socket = await open(t, app)
  const body = JSON.stringify('x'.repeat(300 * KIB))
  socket.write(get(ITEMS) + get(ITEMS) + `POST ${ITEMS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${body.length}\r\n\r\n${body}` + getLast(ITEMS))
  const statuses = (await socket.setEncoding('latin1').toArray()).join('').match(/(?<=HTTP\/1\.1 )\d+/g)
  t.same(statuses, ['200', '200', '405', '200'])
})

t.test('requests that wait for their turn longer than a request may take to arrive are answered, half a request is not', async (t) => {
  const { app, state } = readerOf(t, { items: 1, bytes: 10 })
  let release = () => {}
  const gate = new Promise((resolve) => { release = () => resolve(undefined) })
  state.delay = () => gate
  const [whole, half] = [await open(t, app), await open(t, app)]
  app.server.headersTimeout = 50
  const late = { count: 0 }
  app.server.on('clientError', () => { late.count++ })
  // more than is read at once, so one is half read
  whole.write(get(ITEMS).repeat(1999) + getLast(ITEMS))
  half.write(get(ITEMS).repeat(2) + get(ITEMS).slice(0, 20))
  while (late.count < 2) await sleep(10)
  release()
  const [answers, refused] = await Promise.all([whole, half].map(async (socket) => (await socket.setEncoding('latin1').toArray()).join('')))
  t.equal(answers.match(/HTTP\/1\.1 200/g)?.length, 2000)
  t.same(refused.match(/(?<=HTTP\/1\.1 )\d+/g), ['200', '200', '408'])
})

t.test('too many waiting requests close their connections, which are counted; others are served', async (t) => {
  const { app, state, registry } = readerOf(t, { items: 1, bytes: 10 })
  /** @type {import('node:net').Socket[]} */
  const served = []
  app.server.on('connection', (socket) => served.push(socket))
  let release = () => {}
  const gate = new Promise((resolve) => { release = () => resolve(undefined) })
  state.delay = () => gate
  const sockets = []
  for (let n = 0; n < 12; n++) {
    const socket = await open(t, app)
    sockets.push(socket.resume())
    socket.write(get(ITEMS).repeat(1000))
  }
  while (await counted(registry, 'freshet_http_pipelining_closed_total') === 0) await sleep(10)
  // a connection that is not read is known to be gone when it times out
  for (const socket of served) socket.setTimeout(500)
  while (!sockets.some(({ destroyed }) => destroyed)) await sleep(10)
  t.equal((await overSocket(app, '/livez')).statusCode, 200)
  t.ok(await counted(registry, 'freshet_http_pipelining_closed_total') < 4)
  for (const socket of sockets) socket.destroy()
  while (await counted(registry, IN_PROGRESS) > 0) await sleep(10)
  release()
  const again = await open(t, app)
  again.write(get(ITEMS).repeat(1999) + getLast(ITEMS))
  const text = (await again.setEncoding('latin1').toArray()).join('')
  t.equal(text.match(/HTTP\/1\.1 200/g)?.length, 2000, 'the places of closed connections are free again')
})

t.test('large replies wait for room, and are refused after a second; small ones are sent', async (t) => {
  const { app, state, registry } = readerOf(t, { items: 100, bytes: 10 * KIB, maxReplyBytes: 4 * KIB * KIB })
  t.equal((await app.inject(`${ITEMS}?limit=1`)).statusCode, 200, 'the size of items is known')
  const held = () => counted(registry, 'freshet_http_reply_bytes')
  const waiting = []
  state.delay = () => new Promise((resolve) => waiting.push(resolve))
  const first = app.inject(`${ITEMS}?limit=100`)
  while (waiting.length < 1) await setImmediate()
  t.ok(await held() > KIB * KIB)
  const refused = await app.inject(`${ITEMS}?limit=99`)
  isProblem(t, refused, 503, 'OVERLOADED')
  t.match(refused.headers['retry-after'], /^[123]$/)
  t.equal(state.asked.length, 1, 'it was not built')
  const second = app.inject(`${ITEMS}?limit=98`)
  state.delay = async () => {}
  t.equal((await app.inject(`${ITEMS}?limit=1`)).statusCode, 200)
  waiting[0]()
  t.same([(await first).statusCode, (await second).statusCode], [200, 200], 'a waiting reply is built when there is room')
  t.equal(await held(), 0)
})

t.test('unread replies count until they are sent; the same body counts once', async (t) => {
  const { app, registry } = readerOf(t, { items: 30, bytes: 256 * KIB, maxReplyBytes: 16 * KIB * KIB })
  const held = () => counted(registry, 'freshet_http_reply_bytes')
  const sockets = []
  // about 10 MB each, more than the system buffers
  for (let n = 0; n < 2; n++) {
    const socket = await open(t, app)
    sockets.push(socket.pause())
    socket.write(get(`${ITEMS}?limit=30&since=${n}`))
    if (n === 0) while (await held() === 0 || (await counted(registry, 'freshet_replies_built_total')) === 0) await sleep(10)
  }
  t.ok(await held() > 8 * KIB * KIB)
  isProblem(t, await overSocket(app, `${ITEMS}?limit=29`), 503, 'OVERLOADED')
  t.equal((await overSocket(app, '/v1/feeds/latest/count')).statusCode, 200)
  for (const socket of sockets) socket.destroy()
  while (await held() > 0) await sleep(10)
  t.equal((await overSocket(app, `${ITEMS}?limit=29`)).statusCode, 200)
})

t.test('a client that reads too slowly is cut off when others lack room, not before', async (t) => {
  const { app, registry } = readerOf(t, { items: 30, bytes: 256 * KIB, maxReplyBytes: 16 * KIB * KIB })
  const slow = await open(t, app)
  slow.pause().write(get(`${ITEMS}?limit=30`))
  const cut = () => counted(registry, 'freshet_http_slow_responses_cut_total')
  while (await counted(registry, 'freshet_replies_built_total') === 0) await sleep(10)
  await sleep(5500)
  t.equal(await cut(), 0)
  let other = await overSocket(app, `${ITEMS}?limit=29`)
  while (other.statusCode === 503) other = await overSocket(app, `${ITEMS}?limit=29`)
  t.equal(other.statusCode, 200)
  t.equal(await cut(), 1)
})

t.test('a client that reads steadily, longer than that, gets all of a large reply, also while others lack room', async (t) => {
  const { app, registry } = readerOf(t, { items: 40, bytes: 256 * KIB, maxReplyBytes: 16 * KIB * KIB })
  const steady = await open(t, app)
  steady.pause().write(getLast(`${ITEMS}?limit=40`))
  while (await counted(registry, 'freshet_http_reply_bytes') === 0) await sleep(10)
  let [bytes, refused] = [0, 0]
  const reading = (async () => {
    while (!steady.readableEnded) {
      // up to 128 KiB, ten times a second
      bytes += (steady.read(Math.min(steady.readableLength, 128 * KIB) || 1) ?? '').length
      await sleep(100)
    }
  })()
  while (await counted(registry, 'freshet_http_reply_bytes') > 0) {
    refused += Number((await overSocket(app, `${ITEMS}?limit=39`)).statusCode === 503)
    await sleep(100)
  }
  await reading
  t.ok(bytes > 10 * KIB * KIB, `${bytes} bytes`)
  t.ok(refused > 0)
  t.equal(await counted(registry, 'freshet_http_slow_responses_cut_total'), 0)
})

t.test('streams hold what they use, not what a page would', async (t) => {
  const { app, registry } = readerOf(t, { items: 30, bytes: 256 * KIB })
  const held = () => counted(registry, 'freshet_http_reply_bytes')
  for (let n = 0; n < 8; n++) {
    const socket = await open(t, app)
    socket.pause().write(`GET ${ITEMS}?limit=100000&since=${n} HTTP/1.1\r\nHost: x\r\nAccept: application/x-ndjson\r\n\r\n`)
    await once(socket, 'readable')
  }
  t.ok(await held() > 0 && await held() < 48 * KIB * KIB, `${await held()} bytes`)
  t.equal((await overSocket(app, `${ITEMS}?limit=10`)).statusCode, 200)
})

t.test('a large limit takes little room where a feed has few items', async (t) => {
  const { app, state, registry } = createReader(t, { empty: [], few: [item('a', NOW, 'x')] })
  for (const feed of ['empty', 'few']) {
    const path = `/v1/feeds/${feed}/items?limit=10000`
    state.delay = async () => {}
    await app.inject(path)
    let most = 0
    state.delay = async () => { most = Math.max(most, await counted(registry, 'freshet_http_reply_bytes')) }
    await app.inject(`${path}&since=1`)
    t.ok(most < 8 * KIB * KIB, `${feed}: ${most} bytes`)
  }
})

t.test('when its clients are gone, a reply is not built to its end', async (t) => {
  const { app, state, registry } = readerOf(t, { items: 10_000, bytes: 1000 })
  const gates = []
  state.delay = () => new Promise((resolve) => gates.push(resolve))
  const sockets = [await open(t, app), await open(t, app)]
  for (const socket of sockets) socket.write(get(`${ITEMS}?limit=10000`))
  while (gates.length < 1 || await counted(registry, IN_PROGRESS) < 2) await setImmediate()
  const next = async () => {
    const { length } = gates
    gates[length - 1]()
    while (gates.length === length) await setImmediate()
  }
  await next()
  sockets[0].destroy()
  while (await counted(registry, IN_PROGRESS) > 1) await setImmediate()
  await next()
  t.equal(state.asked.length, 2, 'the other client still waits')
  sockets[1].destroy()
  while (await counted(registry, IN_PROGRESS) > 0) await setImmediate()
  gates.at(-1)?.()
  while (await counted(registry, 'freshet_http_reply_bytes') > 0) await setImmediate()
  t.equal(state.asked.length, 3)
})

t.test('a thousand ids of large items are read in groups, and come as pages', async (t) => {
  const { app } = readerOf(t, { items: 24, bytes: 1000 * KIB })
  const ids = Array.from({ length: 24 }, (_, n) => `id=item-${n}`).reverse().join('&')
  const seen = []
  for (let after = ''; after !== null;) {
    const { statusCode, body } = await app.inject(`${ITEMS}?limit=1000&${ids}${after && `&after=${after}`}`)
    t.equal(statusCode, 200)
    t.ok(body.length < 20 * KIB * KIB)
    const page = JSON.parse(body)
    seen.push(...page.items.map(({ id }) => id))
    after = page.next
  }
  t.same(seen, Array.from({ length: 24 }, (_, n) => `item-${n}`), 'newest first')
})

t.test('compression counts as well', async (t) => {
  const { app, registry } = readerOf(t, { items: 100, bytes: 10 * KIB })
  const { rawPayload, headers } = await app.inject({ url: `${ITEMS}?limit=100`, headers: { 'accept-encoding': 'gzip' } })
  t.equal(headers['content-encoding'], 'gzip')
  t.equal(JSON.parse((await promisify(gunzip)(rawPayload)).toString()).items.length, 100)
  t.equal(await counted(registry, 'freshet_http_reply_bytes'), 0)
})
