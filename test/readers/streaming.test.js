import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { memoryInUse } from '../memory.js'
import { FreshetError } from '../../src/errors.js'
import { decodeCursor } from '../../src/item/cursor.js'
import { createReader, isProblem, NOW, overSocket } from './fake-queries.js'
import { wholeTest } from '../scope.js'

const NDJSON = { accept: 'application/x-ndjson' }
const CUT = 'freshet_http_aborted_responses_total{route="/v1/feeds/:feed/items"} 1'
const VALUE = Buffer.alloc(2048, 'v')
/** Where the number of items matters, not their bytes. */
const SMALL = Buffer.from('v')

/** A feed of `total` items that exist only while they are asked for. */
const endless = (total, onPage = () => {}, value = VALUE) => (limit, after) => {
  onPage()
  const from = after === null ? 0 : NOW - after.ts + 1
  const items = Array.from({ length: Math.min(limit, total - from) },
    (_, i) => ({ id: Buffer.from(`item-${from + i}`), ts: NOW - from - i, seq: 0, value }))
  return { items, next: from + items.length < total ? items.at(-1) : null }
}

/** Opens an answer without reading it. */
async function open (app, path) {
  if (!app.server.listening) await app.listen({ port: 0, host: '127.0.0.1' })
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port: app.server.address().port, path, headers: NDJSON, agent: false }, (response) =>
      resolve({ sent, response }))
    sent.on('error', reject).end()
  })
}

async function until (condition) {
  while (!await condition()) await sleep(10)
}

wholeTest('50,000 items stream line by line, with flat memory', async (t) => {
  const total = 50_000
  const { app } = createReader(t, { latest: endless(total) })
  const { response } = await open(app, '/v1/feeds/latest/items?limit=1000000')
  t.match(response.headers, { 'transfer-encoding': 'chunked', trailer: 'freshet-next', 'freshet-as-of': String(NOW) })
  t.equal(response.headers['freshet-next'], undefined)
  let lines = 0
  let bytes = 0
  const inUse = []
  for await (const chunk of response) {
    bytes += chunk.length
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++
    if (lines > 10_000 * (inUse.length + 1)) inUse.push(memoryInUse())
  }
  t.equal(lines, total)
  t.ok(bytes > 130e6, `${bytes} bytes`)
  const more = inUse[inUse.length - 1] - inUse[0]
  t.ok(more < 40e6, `${Math.round(more / 1e6)} MB more after ${Math.round(bytes / 1e6 * (inUse.length - 1) / 5)} MB more of answer, both ` +
    'ends in this process')
  t.same(response.trailers, { 'freshet-next': '' }, 'the feed ended')
})

t.test('a stream that stops at its limit has the cursor of the rest in its trailer', async (t) => {
  const { app } = createReader(t, { latest: endless(30_000, undefined, SMALL) })
  const response = await overSocket(app, '/v1/feeds/latest/items?limit=20000', { headers: NDJSON })
  t.equal(response.body.split('\n').length, 20_001)
  t.equal(decodeCursor('latest', response.trailers['freshet-next']).ts, NOW - 19_999)
})

t.test('up to 10,000 items the cursor is a header', async (t) => {
  const { app } = createReader(t, { latest: endless(30_000, undefined, SMALL) })
  const response = await overSocket(app, '/v1/feeds/latest/items?limit=5000', { headers: NDJSON })
  t.equal(response.body.split('\n').length, 5001)
  t.equal(decodeCursor('latest', response.headers['freshet-next']).ts, NOW - 4999)
  t.equal(response.headers.trailer, undefined)
})

t.test('up to 10,000 items of more than 16 MiB are streamed too', async (t) => {
  const { app } = createReader(t, { latest: endless(30_000) })
  const response = await overSocket(app, '/v1/feeds/latest/items?limit=10000', { headers: NDJSON })
  t.equal(response.body.split('\n').length, 10_001)
  t.equal(decodeCursor('latest', response.trailers['freshet-next']).ts, NOW - 9999)
})

t.test('a small feed with a large limit is not streamed', async (t) => {
  const { app } = createReader(t, { latest: endless(5) })
  const response = await overSocket(app, '/v1/feeds/latest/items?limit=1000000', { headers: NDJSON })
  t.equal(response.body.split('\n').length, 6)
  t.equal(response.headers['content-length'], String(response.body.length))
})

t.test('HEAD opens no stream', async (t) => {
  let pages = 0
  const { app } = createReader(t, { latest: endless(1_000_000, () => { pages++ }) })
  const response = await overSocket(app, '/v1/feeds/latest/items?limit=1000000', { method: 'HEAD', headers: NDJSON })
  t.equal(response.statusCode, 200)
  t.equal(response.body, '')
  t.equal(pages, 1)
})

t.test('a client that does not read stops reading from the servers', async (t) => {
  let pages = 0
  const { app } = createReader(t, { latest: endless(1_000_000, () => { pages++ }) })
  const { response } = await open(app, '/v1/feeds/latest/items?limit=1000000')
  let seen = -1
  while (seen !== pages) {
    seen = pages
    await sleep(300)
  }
  t.ok(pages < 50, `${pages} of 1,000 pages were read for a client that takes nothing`)
  response.destroy()
})

t.test('a client that disconnects ends reading from the servers, and is counted', async (t) => {
  let pages = 0
  const { app, registry } = createReader(t, { latest: endless(1_000_000, () => { pages++ }) })
  const { response } = await open(app, '/v1/feeds/latest/items?limit=1000000')
  await until(() => pages > 1)
  response.destroy()
  while (!(await registry.metrics()).includes(CUT)) await sleep(10)
  t.match(await registry.metrics(), 'freshet_http_requests_in_progress 0')
  const after = pages
  await sleep(100)
  t.equal(pages, after)
})

t.test('a stream that breaks off ends with the problem as its last line, and without the end of the body', async (t) => {
  let pages = 0
  const feed = endless(1_000_000, () => { if (++pages > 3) throw new FreshetError('VIEW_BEHIND', 'not yet') })
  const { app, registry } = createReader(t, { latest: feed })
  const { response } = await open(app, '/v1/feeds/latest/items?limit=1000000')
  let text = ''
  await t.rejects((async () => { for await (const chunk of response) text += chunk })(), { code: 'ECONNRESET' })
  t.match(JSON.parse(String(text.trimEnd().split('\n').at(-1))), { code: 'VIEW_BEHIND', status: 503, retryable: true })
  t.same(response.trailers, {})
  await until(async () => (await registry.metrics()).includes(CUT))
})

t.test('what may need a view is built before its first byte, so that it is whole or an error', async (t) => {
  let pages = 0
  let most = Infinity
  const feed = (total) => endless(total, () => { if (++pages > most) throw new FreshetError('VIEW_BEHIND', 'not yet') })
  const { app } = createReader(t, { few: feed(5000), latest: feed(1_000_000) }, {}, { mayBreakOff: async () => true })
  const path = (name) => `/v1/feeds/${name}/items?limit=100000`
  const whole = await overSocket(app, path('few'), { headers: NDJSON })
  t.equal(whole.body.split('\n').length, 5001)
  t.equal(whole.headers['freshet-next'], undefined)
  isProblem(t, await overSocket(app, path('latest'), { headers: NDJSON }), 503, 'VIEW_BEHIND')
  most = pages + 3
  isProblem(t, await overSocket(app, path('few'), { headers: NDJSON }), 503, 'VIEW_BEHIND')
})

t.test('servers that fail midway abort the response, so that it is not taken for complete', async (t) => {
  let failing = false
  const feed = endless(1_000_000, () => { if (failing) throw new FreshetError('SERVER_LOST', 'gone') })
  const { app } = createReader(t, { latest: feed })
  const { response } = await open(app, '/v1/feeds/latest/items?limit=1000000')
  failing = true
  await t.rejects(response.toArray(), { code: 'ECONNRESET' })
})

t.test('a stalled client is disconnected', async (t) => {
  const { app, registry } = createReader(t, { latest: endless(1_000_000) })
  await app.ready()
  t.equal(app.server.timeout, 30_000)
  app.server.setTimeout(200)
  const { response } = await open(app, '/v1/feeds/latest/items?limit=1000000')
  while (!(await registry.metrics()).includes(CUT)) await sleep(10)
  await t.rejects(response.toArray(), { code: 'ECONNRESET' })
})
