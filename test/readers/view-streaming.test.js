/** Streams of whole feeds from a view: complete and in order while the feed changes, at the pace of the client. */
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { memoryInUse } from '../memory.js'
import { encodeCursor } from '../../src/item/cursor.js'
import { NOW, overSocket } from './fake-queries.js'
import { counted, createViewReader } from './view-reader.js'
import { nightly, wholeTest } from '../scope.js'

const NDJSON = { accept: 'application/x-ndjson' }
const ALL = '/v1/feeds/latest/items?limit=1000000&encoding=utf8'
const CUT = 'freshet_http_aborted_responses_total{route="/v1/feeds/:feed/items"}'
const IN_PROGRESS = 'freshet_http_requests_in_progress'

/** Opens an answer without reading it. */
async function open (app, path) {
  if (!app.server.listening) await app.listen({ port: 0, host: '127.0.0.1' })
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port: app.server.address().port, path, headers: NDJSON, agent: false }, resolve).on('error', reject).end()
  })
}

async function until (condition) {
  while (!await condition()) await sleep(10)
}

wholeTest('a large feed is complete and in order while it changes', async (t) => {
  const total = nightly(300_000, 60_000)
  const { app, put, view } = createViewReader(t)
  for (let n = 0; n < total; n++) put(`item-${n}`, NOW - (n >> 2), `value ${n}`, { seq: 3 - (n & 3) })
  let updates = 0
  // some of what was not given yet becomes newer than all of it, and new ids come
  view.beforeVisit = () => {
    for (let i = 0; i < 20; i++) put(`item-${(++updates * 7919) % total}`, NOW + updates, `newer ${updates}`)
    put(`other-${updates}`, NOW + updates, 'new')
  }
  const response = await open(app, ALL)
  t.match(response.headers, { trailer: 'freshet-next', 'freshet-as-of': String(NOW) })
  const text = Buffer.concat(await response.toArray()).toString()
  const items = text.trimEnd().split('\n').map((line) => JSON.parse(line))
  const seen = new Set(items.map(({ id }) => id))
  t.equal(seen.size, items.length, 'nothing twice')
  t.notOk(items.some(({ ts }, i) => i > 0 && ts > items[i - 1].ts), 'newest first')
  const changed = new Set(Array.from({ length: updates }, (_, n) => `item-${((n + 1) * 7919) % total}`))
  let missing = 0
  for (let n = 0; n < total; n++) if (!seen.has(`item-${n}`) && !changed.has(`item-${n}`)) missing++
  t.equal(missing, 0, 'every version that was live and newest from the first page to the last')
  t.equal(items.filter(({ id, value }) => id.startsWith('item-') && value !== `value ${id.slice(5)}` && !changed.has(id)).length, 0)
  t.ok(view.visits > total / 1500, `${view.visits} pieces`)
  t.same(response.trailers, { 'freshet-next': '' })
})

t.test('a limit ends the stream, with the cursor of the rest in its trailer', async (t) => {
  const { app, put } = createViewReader(t)
  for (let n = 0; n < 25_000; n++) put(`item-${n}`, NOW - n, 'value')
  const first = await overSocket(app, '/v1/feeds/latest/items?limit=15000', { headers: NDJSON })
  t.equal(first.body.split('\n').length, 15_001)
  t.equal(first.trailers['freshet-next'], encodeCursor('latest', { ts: NOW - 14_999, seq: 0, id: Buffer.from('item-14999') }))
  const rest = await overSocket(app, `${ALL}&after=${first.trailers['freshet-next']}`, { headers: NDJSON })
  t.equal(rest.body.split('\n').length, 10_001)
  t.equal(JSON.parse(rest.body.slice(0, rest.body.indexOf('\n'))).id, 'item-15000')
})

t.test('a client that does not read costs little memory, and gets everything when it reads', async (t) => {
  const total = 30_000
  const { app, put, view } = createViewReader(t)
  const value = 'v'.repeat(2000)
  for (let n = 0; n < total; n++) put(`item-${n}`, NOW - n, value)
  const response = await open(app, ALL)
  let seen = -1
  while (seen !== view.visits) {
    seen = view.visits
    await sleep(200)
  }
  t.ok(seen < 300, `${seen} of about 950 chunks were made for a client that takes nothing`)
  const before = memoryInUse()
  let bytes = 0
  let lines = 0
  for await (const chunk of response) {
    bytes += chunk.length
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++
    if (lines % 50 === 0) await sleep(1)
  }
  t.equal(lines, total)
  t.ok(bytes > 60e6, `${bytes} bytes`)
  const more = memoryInUse() - before
  t.ok(more < 40e6, `${Math.round(more / 1e6)} MB more`)
})

t.test('a client that disconnects midway ends reading, and is counted', async (t) => {
  const { app, put, view, registry } = createViewReader(t)
  for (let n = 0; n < 20_000; n++) put(`item-${n}`, NOW - n, 'v'.repeat(1250))
  const response = await open(app, ALL)
  await until(() => view.visits > 3)
  response.destroy()
  await until(async () => await counted(registry, CUT) === 1)
  t.equal(await counted(registry, IN_PROGRESS), 0)
  const made = view.visits
  await sleep(100)
  t.ok(view.visits <= made + 1, 'the piece under way is still made')
})

t.test('HEAD builds one chunk only', async (t) => {
  const { app, put, view } = createViewReader(t)
  for (let n = 0; n < 12_000; n++) put(`item-${n}`, NOW - n, 'value')
  const response = await overSocket(app, ALL, { method: 'HEAD', headers: NDJSON })
  t.equal(response.statusCode, 200)
  t.equal(response.body, '')
  t.equal(view.visits, 1)
})

t.test('if the view is lost midway, the rest comes from a server, after the same place', async (t) => {
  const { app, put, view, state } = createViewReader(t)
  const { feeds } = state
  for (let n = 0; n < 12_000; n++) {
    put(`item-${n}`, NOW - n, `value ${n}`)
    feeds.latest.push({ id: Buffer.from(`item-${n}`), ts: NOW - n, seq: 0, value: Buffer.from(`value ${n}`) })
  }
  view.beforeVisit = () => { if (view.visits === 3) view.isReady = false }
  const { body, trailers } = await overSocket(app, ALL, { headers: NDJSON })
  t.same(body.trimEnd().split('\n').map((line) => JSON.parse(line).id), Array.from({ length: 12_000 }, (_, n) => `item-${n}`))
  t.ok(state.asked.length > 5, `${state.asked.length} pages of a server`)
  t.same(trailers, { 'freshet-next': '' })
})

t.test('large values come in chunks, not in one string', async (t) => {
  const { app, put, view } = createViewReader(t)
  const value = 'x'.repeat(1024 * 1024)
  for (let n = 0; n < 40; n++) put(`big-${n}`, NOW - n, value)
  const page = await app.inject('/v1/feeds/latest/items')
  t.ok(page.rawPayload.length < 18 * 1024 * 1024, `${page.rawPayload.length} bytes`)
  t.ok(view.visits < 20, `${view.visits} items were taken for a page of 16 MiB`)
  const rest = await app.inject(`/v1/feeds/latest/items?after=${page.json().next}`)
  t.equal(rest.json().items[0].id, `big-${page.json().items.length}`)
  const lines = await overSocket(app, ALL, { headers: NDJSON })
  t.equal(lines.body.split('\n').length, 41)
})
