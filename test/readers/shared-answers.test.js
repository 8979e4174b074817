/** An answer is made once for all who ask: from a view once a revision, without a view once for those who ask at the same time. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { FreshetError } from '../../src/errors.js'
import { encodeCursor } from '../../src/item/cursor.js'
import { createReader, isProblem, item, NOW, overSocket } from './fake-ask.js'
import { counted, createViewReader } from './view-reader.js'

const ITEMS = '/v1/feeds/latest/items'

/** Both ways in: the router, and what is in front of it. */
const WAYS = [
  { way: 'through the router', get: (app, path, headers = {}) => app.inject({ url: path, headers }) },
  { way: 'over a socket', get: (app, path, headers = {}) => overSocket(app, path, { headers }) }
]

for (const { way, get } of WAYS) {
  t.test(`${way}: a view's answer is made once, however many ask, until the view changes`, async (t) => {
    const { app, put, view, time } = createViewReader(t)
    for (let n = 0; n < 300; n++) put(`item-${n}`, NOW - n, `value ${n}`)
    const first = await get(app, ITEMS)
    t.equal(first.json().items.length, 100)
    const more = await Promise.all(Array.from({ length: 50 }, () => get(app, ITEMS)))
    time.elapsed += 900
    more.push(await get(app, ITEMS))
    for (const response of more) t.equal(response.body, first.body)
    t.equal(view.visits, 1)
    put('item-new', NOW, 'new', { seq: 1 })
    time.elapsed += 5
    t.equal((await get(app, ITEMS)).json().items[0].id, 'item-new')
    t.equal(view.visits, 2)
    t.equal((await get(app, ITEMS + '?limit=5')).json().items.length, 5)
    t.equal(view.visits, 3, 'another question is another answer')
  })

  t.test(`${way}: what does not change is made anew after a second, so that its time goes on`, async (t) => {
    const { app, put, view, time } = createViewReader(t)
    put('item', NOW, 'value')
    const first = await get(app, ITEMS)
    time.now += 999
    time.elapsed += 999
    t.equal((await get(app, ITEMS)).body, first.body)
    time.now++
    time.elapsed++
    const second = await get(app, ITEMS)
    t.match(second.headers, { 'freshet-as-of': String(NOW + 1000), age: '0' })
    t.equal(second.json().asOf, NOW + 1000)
    t.equal(second.headers.etag, first.headers.etag)
    t.equal(view.visits, 2)
  })
}

t.test('in front of the router and behind it the same goes out, and is counted', async (t) => {
  const { app, put, registry } = createViewReader(t)
  for (let n = 0; n < 300; n++) put(`item-${n}`, NOW - n, 'value '.repeat(20))
  const headers = { 'accept-encoding': 'gzip' }
  const requests = 'freshet_http_requests_total{route="/v1/feeds/:feed/items",status="200"}'
  for (const sent of [{}, headers]) {
    const behind = await app.inject({ url: ITEMS, headers: sent })
    const front = await overSocket(app, ITEMS, { headers: sent })
    const own = ({ connection, 'keep-alive': _keepAlive, date, ...rest }) => rest
    t.same(own(front.headers), own(behind.headers))
    t.equal(front.body, behind.body)
  }
  t.equal(await counted(registry, requests), 4)
  t.equal(await counted(registry, 'freshet_http_requests_in_progress'), 0)
  t.equal(await counted(registry, 'freshet_made_answers_total'), 1)
  t.equal(await counted(registry, 'freshet_http_request_seconds_count{route="/v1/feeds/:feed/items"}'), 4)
})

t.test('what is not plain goes to the router: other methods, other types, other questions', async (t) => {
  const { app, put, view } = createViewReader(t)
  put('item', NOW, 'value')
  const plain = await overSocket(app, ITEMS)
  const head = await overSocket(app, ITEMS, { method: 'HEAD' })
  t.equal(head.body, '')
  t.match(head.headers, { 'content-length': String(plain.body.length), etag: plain.headers.etag })
  const lines = await overSocket(app, ITEMS, { headers: { accept: 'application/x-ndjson' } })
  t.equal(lines.headers['content-type'], 'application/x-ndjson; charset=utf-8')
  isProblem(t, await overSocket(app, ITEMS, { method: 'POST' }), 404, 'NOT_FOUND')
  isProblem(t, await overSocket(app, ITEMS + '?limit=0'), 400, 'REQUEST_INVALID')
  t.equal((await overSocket(app, '/v1/feeds/latest/count')).json().count, 1)
  t.equal(view.visits, 2)
})

t.test('the bound on requests in progress holds in front of the router too', async (t) => {
  const { app, put } = createViewReader(t, { maxRequests: 0 })
  put('item', NOW, 'value')
  isProblem(t, await overSocket(app, ITEMS), 503, 'OVERLOADED')
  const { app: other, put: putOther, state } = createViewReader(t, { maxRequests: 1 })
  putOther('item', NOW, 'value')
  t.equal((await overSocket(other, ITEMS)).statusCode, 200)
  let resume = () => {}
  state.delay = () => new Promise((resolve) => { resume = resolve })
  const waiting = overSocket(other, '/v1/feeds/latest')
  while (!/^freshet_http_requests_in_progress 1$/m.test((await other.inject('/metrics')).body)) await setImmediate()
  isProblem(t, await overSocket(other, ITEMS), 503, 'OVERLOADED')
  resume()
  t.equal((await waiting).statusCode, 200)
  t.equal((await overSocket(other, ITEMS)).statusCode, 200)
})

t.test('answers above 1 MiB are shared too, and are not last answers', async (t) => {
  const { app, put, time, registry } = createViewReader(t)
  const made = () => counted(registry, 'freshet_made_answers_total')
  for (let n = 0; n < 30; n++) put(`item-${n}`, NOW - n, Buffer.alloc(50_000, 'x'))
  const first = await app.inject(ITEMS)
  t.ok(first.rawPayload.length > 1024 * 1024)
  t.equal((await app.inject(ITEMS)).body, first.body)
  t.equal(await made(), 1)
  time.now += 2000
  time.elapsed += 2000
  await app.inject(ITEMS)
  t.equal(await made(), 2)
})

t.test('a view that fails is told by the router, and the process goes on', async (t) => {
  const { app, put, view, time } = createViewReader(t)
  put('item', NOW, 'value')
  await overSocket(app, ITEMS)
  put('item', NOW + 1, 'value')
  time.elapsed += 60
  view.beforeVisit = () => { throw new TypeError('a bug') }
  isProblem(t, await overSocket(app, ITEMS), 500, 'INTERNAL')
  view.beforeVisit = () => {}
  t.equal((await overSocket(app, ITEMS)).statusCode, 200)
})

t.test('without a view one fetch is under way for a question, and who asks meanwhile shares it', async (t) => {
  const { app, state, registry } = createReader(t, { latest: [item('a', NOW, 'value'), item('b', NOW - 1, 'value')] })
  const waiting = []
  state.delay = () => new Promise((resolve) => waiting.push(resolve))
  const asked = Array.from({ length: 20 }, () => app.inject(ITEMS))
  asked.push(app.inject(ITEMS + '?limit=1'))
  while (waiting.length < 2) await setImmediate()
  for (let n = 0; n < 10; n++) await setImmediate()
  t.equal(waiting.length, 2, 'one for each question')
  state.delay = async () => {}
  for (const resume of waiting) resume()
  const responses = await Promise.all(asked)
  t.equal(state.asked.length, 2)
  t.same(responses.map((response) => response.json().items.length), [...new Array(20).fill(2), 1])
  t.equal(await counted(registry, 'freshet_made_answers_total'), 2)
  await app.inject(ITEMS)
  t.equal(state.asked.length, 3, 'and nothing is kept on')
})

t.test('a failure is told to all who asked meanwhile, and the next one asks again', async (t) => {
  const { app, state } = createReader(t, { latest: [item('a', NOW, 'value')] })
  const waiting = []
  state.delay = () => new Promise((_resolve, reject) => waiting.push(reject))
  const asked = [1, 2, 3].map(() => app.inject(ITEMS))
  while (waiting.length < 1) await setImmediate()
  for (let n = 0; n < 10; n++) await setImmediate()
  waiting[0](new FreshetError('SERVER_LOST', 'gone'))
  for (const response of await Promise.all(asked)) isProblem(t, response, 503, 'SERVER_LOST')
  t.equal(waiting.length, 1)
  state.delay = async () => {}
  t.equal((await app.inject(ITEMS)).statusCode, 200)
})

t.test('streams are nobody else\'s', async (t) => {
  const { app, put } = createViewReader(t)
  for (let n = 0; n < 12_000; n++) put(`item-${n}`, NOW - n, 'value')
  const headers = { accept: 'application/x-ndjson' }
  const responses = await Promise.all([1, 2, 3].map(() => overSocket(app, ITEMS + '?limit=1000000', { headers })))
  for (const { body, trailers } of responses) {
    t.equal(body.split('\n').length, 12_001)
    t.same(trailers, { 'freshet-next': '' })
  }
})

t.test('while the process closes, what comes on a connection in use is answered, and closes it', async (t) => {
  const { app, put, state } = createViewReader(t)
  put('item', NOW, 'value')
  await overSocket(app, ITEMS)
  let resume = () => {}
  state.delay = () => new Promise((resolve) => { resume = resolve })
  const socket = connect(app.server.address().port, '127.0.0.1').setEncoding('latin1')
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

t.test('a connection is kept or closed as the client says, by the same head as through the router', async (t) => {
  const { app, put } = createViewReader(t)
  put('item', NOW, 'value')
  await overSocket(app, ITEMS)
  const headOf = async (request) => {
    const socket = connect(app.server.address().port, '127.0.0.1').setEncoding('latin1')
    socket.write(request)
    const [text] = await once(socket, 'data')
    const [status, ...lines] = text.slice(0, text.indexOf('\r\n\r\n')).split('\r\n')
    t.match(new Date(/** @type {any} */ (lines.find((line) => /^date: /i.test(line))).slice(6)).getTime(), Number)
    // a second one on the same connection, if there is one
    const again = once(socket, 'data').then(() => 'again', () => 'closed')
    socket.write(request)
    const outcome = await Promise.race([again, once(socket, 'close').then(() => 'closed')])
    socket.destroy()
    return { status, outcome, lines: lines.map((line) => line.toLowerCase()).filter((line) => /^(connection|keep-alive|content-length|transfer-encoding)/.test(line)).sort() }
  }
  const request = (path, version, headers) => `GET ${path} HTTP/${version}\r\nHost: x\r\n${headers}\r\n`
  for (const [version, headers] of [['1.1', ''], ['1.1', 'Connection: keep-alive\r\n'], ['1.1', 'Connection: close\r\n'], ['1.0', ''], ['1.0', 'Connection: keep-alive\r\n']]) {
    const front = await headOf(request(ITEMS, version, headers))
    const router = await headOf(request(ITEMS + '?', version, headers))
    t.same(front, router, `${version} ${headers}`)
  }
})

for (const [way, query] of [['in front of the router', ''], ['through the router', '?limit=99&encoding=utf8&since=0']]) {
  t.test(`${way}: a client that asks and asks and takes nothing is not read any more, and leaves nothing behind`, async (t) => {
    const { app, put, registry } = createViewReader(t)
    for (let n = 0; n < 100; n++) put(`item-${n}`, NOW - n, 'x'.repeat(300))
    if (!query) await overSocket(app, ITEMS)
    else await app.listen({ port: 0, host: '127.0.0.1' })
    const socket = connect(app.server.address().port, '127.0.0.1')
    socket.pause()
    const ask = (n) => `GET ${ITEMS}${query && `${query}&after=${encodeCursor('latest', { ts: NOW + n, seq: 0, id: Buffer.from('x') })}`} HTTP/1.1\r\nHost: x\r\n\r\n`
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

t.test('requests that come in one piece are answered in their order', async (t) => {
  const { app, put, state } = createViewReader(t)
  for (let n = 0; n < 10; n++) put(`item-${n}`, NOW - n, `value ${n}`)
  for (let n = 1; n <= 5; n++) await overSocket(app, `${ITEMS}?limit=${n}`)
  state.delay = () => setImmediate()
  const socket = connect(app.server.address().port, '127.0.0.1').setEncoding('latin1')
  const paths = [`${ITEMS}?limit=1`, '/v1/feeds/latest', `${ITEMS}?limit=2`, `${ITEMS}?limit=3`, '/v1/feeds/latest', `${ITEMS}?limit=4`, `${ITEMS}?limit=5`]
  socket.end(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''))
  const bodies = (await socket.toArray()).join('').split('HTTP/1.1 200 OK').slice(1).map((one) => JSON.parse(one.split('\r\n\r\n')[1]))
  t.same(bodies.map(({ layout, items }) => layout ?? items.length), [1, 'ids', 2, 3, 'ids', 4, 5])
})
