/** Connections of a reader: kept or closed, pipelined, not read; for cached replies and for others. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { encodeCursor } from '../../src/item/cursor.js'
import { NOW, overSocket } from './fake-queries.js'
import { counted, createViewReader } from './view-reader.js'

const ITEMS = '/v1/feeds/latest/items'

t.test('while the process closes, a request on an open connection is answered, and closes it', async (t) => {
  const { app, put, state } = createViewReader(t)
  put('item', NOW, 'value')
  await overSocket(app, ITEMS)
  /** @type {(value?: any) => void} */
  let resume = () => {}
  state.delay = () => new Promise((resolve) => { resume = resolve })
  const socket = connect(/** @type {any} */ (app.server.address()).port, '127.0.0.1').setEncoding('latin1')
  const send = (path) => socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
  send('/v1/feeds/latest')
  while (!/^freshet_http_requests_in_progress 1$/m.test((await app.inject('/metrics')).body)) await setImmediate()
  const closed = app.close()
  send(ITEMS)
  await setImmediate()
  resume()
  const text = (await socket.toArray()).join('')
  t.equal(text.match(/HTTP\/1\.1 200 OK/g)?.length, 2)
  t.match(text.slice(text.lastIndexOf('HTTP/1.1')), /^connection: close\r\n/im)
  await closed
})

t.test('a connection is kept or closed as the client asks, with the same head as through the router', async (t) => {
  const { app, put } = createViewReader(t)
  put('item', NOW, 'value')
  await overSocket(app, ITEMS)
  const headOf = async (request) => {
    const socket = connect(/** @type {any} */ (app.server.address()).port, '127.0.0.1').setEncoding('latin1')
    socket.write(request)
    const [text] = await once(socket, 'data')
    const [status, ...lines] = text.slice(0, text.indexOf('\r\n\r\n')).split('\r\n')
    t.match(new Date(/** @type {any} */ (lines.find((line) => /^date: /i.test(line))).slice(6)).getTime(), Number)
    // a second one on the same connection, if there is one
    const again = once(socket, 'data').then(() => 'again', () => 'closed')
    socket.write(request)
    const outcome = await Promise.race([again, once(socket, 'close').then(() => 'closed')])
    socket.destroy()
    return {
      status,
      outcome,
      lines: lines.map((line) => line.toLowerCase())
        .filter((line) => /^(connection|keep-alive|content-length|transfer-encoding)/.test(line)).sort()
    }
  }
  const request = (path, version, headers) => `GET ${path} HTTP/${version}\r\nHost: x\r\n${headers}\r\n`
  for (const [version, headers] of [['1.1', ''], ['1.1', 'Connection: keep-alive\r\n'], ['1.1', 'Connection: close\r\n'], ['1.0', ''],
    ['1.0', 'Connection: keep-alive\r\n']]) {
    const front = await headOf(request(ITEMS, version, headers))
    const router = await headOf(request(ITEMS + '?', version, headers))
    t.same(front, router, `${version} ${headers}`)
  }
})

for (const [way, query] of [['from the cache', ''], ['built', '?limit=99&encoding=utf8&since=0']]) {
  t.test(`${way}: a client that sends requests and reads nothing is not read any more, and leaks nothing`, async (t) => {
    const { app, put, registry } = createViewReader(t)
    for (let n = 0; n < 100; n++) put(`item-${n}`, NOW - n, 'x'.repeat(300))
    if (!query) await overSocket(app, ITEMS)
    else await app.listen({ port: 0, host: '127.0.0.1' })
    const socket = connect(/** @type {any} */ (app.server.address()).port, '127.0.0.1')
    socket.pause()
    const ask = (n) =>
      `GET ${ITEMS}${query && `${query}&after=${encodeCursor('latest', { ts: NOW + n, seq: 0, id: Buffer.from('x') })}`} ` +
        'HTTP/1.1\r\nHost: x\r\n\r\n'
    for (let n = 0; n < 20_000; n += 100) socket.write(Array.from({ length: 100 }, (_, i) => ask(n + i)).join(''))
    const inProgress = () => counted(registry, 'freshet_http_requests_in_progress')
    let seen = -1
    while (seen !== await inProgress() || seen <= 0) {
      seen = await inProgress()
      await sleep(300)
    }
    t.ok(seen <= 1000, `${seen} of 20,000 requests are in progress`)
    socket.destroy()
    while (await inProgress() > 0) await sleep(10)
    t.equal((await overSocket(app, ITEMS)).statusCode, 200)
    t.ok(await counted(registry, 'freshet_http_requests_total{route="/v1/feeds/:feed/items",status="200"}') >= seen)
  })
}

t.test('pipelined requests are answered in order', async (t) => {
  const { app, put, state } = createViewReader(t)
  for (let n = 0; n < 10; n++) put(`item-${n}`, NOW - n, `value ${n}`)
  for (let n = 1; n <= 5; n++) await overSocket(app, `${ITEMS}?limit=${n}`)
  state.delay = () => setImmediate()
  const socket = connect(/** @type {any} */ (app.server.address()).port, '127.0.0.1').setEncoding('latin1')
  const paths = [`${ITEMS}?limit=1`, '/v1/feeds/latest', `${ITEMS}?limit=2`, `${ITEMS}?limit=3`, '/v1/feeds/latest', `${ITEMS}?limit=4`,
    `${ITEMS}?limit=5`]
  socket.end(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''))
  const bodies = (await socket.toArray()).join('').split('HTTP/1.1 200 OK').slice(1).map((one) => JSON.parse(one.split('\r\n\r\n')[1]))
  t.same(bodies.map(({ layout, items }) => layout ?? items.length), [1, 'ids', 2, 3, 'ids', 4, 5])
})
