/** Identical requests share a reply: with a view per revision, without a view while the query is in progress. */
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { FreshetError } from '../../src/errors.js'
import { createReader, isProblem, item, NOW, overSocket, WAYS } from './fake-queries.js'
import { counted, createViewReader } from './view-reader.js'

const ITEMS = '/v1/feeds/latest/items'

for (const { way, get } of WAYS) {
  t.test(`${way}: a reply from a view is built once for any number of requests, until the view changes`, async (t) => {
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

  t.test(`${way}: an unchanged reply is built again after a second, so that its time advances`, async (t) => {
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

t.test('replies are the same through the router and over a socket, and are counted', async (t) => {
  const { app, put, registry } = createViewReader(t)
  for (let n = 0; n < 300; n++) put(`item-${n}`, NOW - n, 'value '.repeat(20))
  const headers = { 'accept-encoding': 'gzip' }
  const requests = 'freshet_http_requests_total{route="/v1/feeds/:feed/items",status="200"}'
  for (const sent of [{}, headers]) {
    const behind = await app.inject({ url: ITEMS, headers: sent })
    const front = await overSocket(app, ITEMS, { headers: sent })
    const own = (/** @type {any} */ { connection, 'keep-alive': _keepAlive, date, ...rest }) => rest
    t.same(own(front.headers), own(behind.headers))
    t.equal(front.body, behind.body)
  }
  t.equal(await counted(registry, requests), 4)
  t.equal(await counted(registry, 'freshet_http_requests_in_progress'), 0)
  t.equal(await counted(registry, 'freshet_replies_built_total'), 1)
  t.equal(await counted(registry, 'freshet_http_request_seconds_count{route="/v1/feeds/:feed/items"}'), 4)
})

t.test('hooks of the app run for cached replies', async (t) => {
  const { app, put } = createViewReader(t)
  put('item', NOW, 'value')
  const ran = []
  app.addHook('onRequest', async () => { ran.push('onRequest') })
  app.addHook('preHandler', async () => { ran.push('preHandler') })
  app.addHook('onSend', async (_request, reply) => { reply.header('x-hook', 'ran') })
  app.addHook('onResponse', async () => { ran.push('onResponse') })
  for (let n = 0; n < 2; n++) {
    const response = await app.inject(ITEMS)
    t.equal(response.headers['x-hook'], 'ran')
    t.same(ran.splice(0), ['onRequest', 'preHandler', 'onResponse'])
  }
})

t.test('other methods, types and URLs go to the router', async (t) => {
  const { app, put, view } = createViewReader(t)
  put('item', NOW, 'value')
  const plain = await overSocket(app, ITEMS)
  const head = await overSocket(app, ITEMS, { method: 'HEAD' })
  t.equal(head.body, '')
  t.match(head.headers, { 'content-length': String(plain.body.length), etag: plain.headers.etag })
  const lines = await overSocket(app, ITEMS, { headers: { accept: 'application/x-ndjson' } })
  t.equal(lines.headers['content-type'], 'application/x-ndjson; charset=utf-8')
  isProblem(t, await overSocket(app, ITEMS, { method: 'POST' }), 405, 'METHOD_NOT_ALLOWED')
  isProblem(t, await overSocket(app, ITEMS + '?limit=0'), 400, 'REQUEST_INVALID')
  t.equal((await overSocket(app, '/v1/feeds/latest/count')).json().count, 1)
  t.equal(view.visits, 2)
})

t.test('the bound on requests in progress holds for cached replies too', async (t) => {
  const { app, put } = createViewReader(t, { maxRequests: 0 })
  put('item', NOW, 'value')
  isProblem(t, await overSocket(app, ITEMS), 503, 'OVERLOADED')
  const { app: other, put: putOther, state } = createViewReader(t, { maxRequests: 1 })
  putOther('item', NOW, 'value')
  t.equal((await overSocket(other, ITEMS)).statusCode, 200)
  /** @type {(value?: any) => void} */
  let resume = () => {}
  state.delay = () => new Promise((resolve) => { resume = resolve })
  const waiting = overSocket(other, '/v1/feeds/latest')
  while (!/^freshet_http_requests_in_progress 1$/m.test((await other.inject('/metrics')).body)) await setImmediate()
  isProblem(t, await overSocket(other, ITEMS), 503, 'OVERLOADED')
  resume()
  t.equal((await waiting).statusCode, 200)
  t.equal((await overSocket(other, ITEMS)).statusCode, 200)
})

t.test('replies above 1 MiB are shared, and not served stale', async (t) => {
  const { app, put, time, registry } = createViewReader(t)
  const made = () => counted(registry, 'freshet_replies_built_total')
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

t.test('an error of a view is reported, and the process continues', async (t) => {
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

t.test('without a view, concurrent identical requests share one query', async (t) => {
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
  t.equal(await counted(registry, 'freshet_replies_built_total'), 2)
  await app.inject(ITEMS)
  t.equal(state.asked.length, 3, 'and nothing is kept on')
})

t.test('a failure is shared by concurrent requests, and the next request queries again', async (t) => {
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

t.test('streams are not shared', async (t) => {
  const { app, put } = createViewReader(t)
  for (let n = 0; n < 12_000; n++) put(`item-${n}`, NOW - n, 'value')
  const headers = { accept: 'application/x-ndjson' }
  const responses = await Promise.all([1, 2, 3].map(() => overSocket(app, ITEMS + '?limit=1000000', { headers })))
  for (const { body, trailers } of responses) {
    t.equal(body.split('\n').length, 12_001)
    t.same(trailers, { 'freshet-next': '' })
  }
})
