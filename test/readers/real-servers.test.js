/** The reader over real servers: one primary, two replicas, items from a writer. */
import { Registry } from 'prom-client'
import t from 'tap'
import { createReaderApp } from '../../readers/app.js'
import { createServers } from '../../src/store/servers.js'
import { spreadTag } from '../../src/store/slots.js'
import { createQueries } from '../../src/view/queries.js'
import { connectFor, eventually, inSync, openWriterFor, silentLog, startDeployment, startServer } from '../servers.js'
import { sharedDeployment } from '../shared.js'
import { openViews } from '../view/viewing.js'
import { isProblem, overSocket } from './fake-queries.js'
import { scopedEngines } from '../scope.js'

const ITEMS = 3000
const [engine] = await scopedEngines()

/**
 * A reader from the replicas, with items written and visible on each replica.
 * @param {import('tap').Test} t
 * @param {{ primary: { url: string }, replicas: { url: string }[], keyPrefix?: string }} servers @param {number} [deadlineMs]
 */
async function openReader (t, { primary, replicas, keyPrefix = 'fr:' }, deadlineMs = 3000) {
  const writer = await openWriterFor(t, { redisUrl: primary.url, keyPrefix, partitions: 3 })
  const firstTs = Date.now() - ITEMS
  for (let n = 0; n < ITEMS; n++) writer.pipeline.append(Buffer.from(`item/${n}`), firstTs + n, Buffer.from(`{"n":${n}}`))
  await writer.pipeline.flush()
  const deployment = createServers({
    redisUrl: primary.url, replicaUrls: null, readFrom: 'replica', name: 'test-reader', deadlineMs, log: silentLog
  })
  t.teardown(() => deployment.close())
  await deployment.ready
  const app =
    createReaderApp({ queries: createQueries({ deployment, keyPrefix, now: Date.now }), registry: new Registry(), maxStaleMs: 60_000 })
  t.teardown(() => app.close())
  for (const replica of replicas) {
    const connection = await connectFor(t, replica.url)
    await eventually(async () => {
      const counts = await Promise.all([0, 1, 2].map((partition) =>
        connection.send('ZCARD', `${keyPrefix}{${spreadTag('latest', partition, 3)}}:ids`)))
      return counts.reduce((sum, count) => sum + Number(count), 0) === ITEMS
    })
  }
  return { app, firstTs }
}

t.test('every route responds, and pages by cursor return every item once', async (t) => {
  const { app, firstTs } = await openReader(t, await sharedDeployment(t), 60_000)
  /** Asks until it is answered afresh: on a busy machine a replica may lag for a moment. @param {string} path @param {object} [options] */
  const ask = (path, options) => eventually(async () => {
    const response = await overSocket(app, path, options)
    return response.statusCode !== 503 && response.headers['freshet-stale'] === undefined && response
  })
  t.match((await ask('/v1/feeds')).json(), { feeds: [{ feed: 'latest', layout: 'ids', partitions: 3 }] })
  const page = await ask('/v1/feeds/latest/items?limit=5&encoding=json')
  t.same(page.json().items,
    [1, 2, 3, 4, 5].map((back) => ({ id: `item/${ITEMS - back}`, ts: firstTs + ITEMS - back, value: { n: ITEMS - back } })))
  t.match(page.headers['freshet-lag-ms'], /^\d+$/)
  t.same((await ask(`/v1/feeds/latest/items/${encodeURIComponent('item/7')}?encoding=utf8`)).json(),
    { id: 'item/7', ts: firstTs + 7, value: '{"n":7}' })
  t.match((await ask('/v1/feeds/latest/count')).json(), { count: ITEMS, exact: true })
  const chosen = (await ask('/v1/feeds/latest/items?id=item%2F1&id=item%2F2000&id=none')).json()
  t.same(chosen.items.map(({ id }) => id), ['item/2000', 'item/1'])
  const lines = await ask('/v1/feeds/latest/items?limit=1000000', { headers: { accept: 'application/x-ndjson' } })
  t.same(lines.body.trimEnd().split('\n').map((line) => JSON.parse(line).id),
    Array.from({ length: ITEMS }, (_, n) => `item/${ITEMS - 1 - n}`))
  isProblem(t, await ask('/v1/feeds/nowhere/items'), 404, 'FEED_UNKNOWN')
  isProblem(t, await ask('/v1/feeds/latest/items/none'), 404, 'ITEM_UNKNOWN')
  t.equal((await ask('/readyz')).json().ready, true)

  const seen = []
  let next = ''
  do {
    const page = (await ask(`/v1/feeds/latest/items?limit=700${next && `&after=${next}`}`)).json()
    seen.push(...page.items.map(({ id }) => id))
    next = page.next
  } while (next)
  t.equal(seen.length, ITEMS)
  t.equal(new Set(seen).size, ITEMS)
})

t.test('without replicas the last reply is served stale, other requests are 503, and the reader recovers', async (t) => {
  const servers = await startDeployment(t, { engine })
  const { app } = await openReader(t, servers)
  const before = await app.inject('/v1/feeds/latest/items')
  await Promise.all(servers.replicas.map((replica) => replica.kill()))
  const stale = await eventually(async () => {
    const response = await app.inject('/v1/feeds/latest/items')
    return response.headers['freshet-stale'] === 'true' && response
  })
  t.equal(stale.statusCode, 200)
  t.equal(stale.json().items.length, before.json().items.length)
  isProblem(t, await app.inject('/v1/feeds/latest/items?limit=3'), 503, 'REPLICAS_GONE')
  isProblem(t, await app.inject('/readyz'), 503, 'NOT_READY')
  t.equal((await app.inject('/livez')).statusCode, 200)
  await Promise.all(servers.replicas.map(async (replica) => {
    await replica.restart()
    await inSync(replica)
  }))
  await eventually(async () => (await app.inject('/v1/feeds/latest/items?limit=3')).statusCode === 200)
  t.equal((await app.inject('/readyz')).statusCode, 200)
})

t.test('frozen replicas are left instead of waited for', async (t) => {
  const servers = await startDeployment(t, { engine })
  const { app } = await openReader(t, servers)
  await app.inject('/v1/feeds/latest/items')
  t.teardown(() => { for (const replica of servers.replicas) replica.thaw() })
  for (const replica of servers.replicas) replica.freeze()
  const responses = await Promise.all(Array.from({ length: 20 }, () => app.inject('/v1/feeds/latest/items')))
  for (const response of responses) t.match(response, { statusCode: 200, headers: { 'freshet-stale': 'true' } })
})

t.test('with a view, replies are the same, and changes are seen', async (t) => {
  const primary = await startServer(t, { engine })
  const writer = await openWriterFor(t, { redisUrl: primary.url, layout: 'segments', partitions: 3 })
  const firstTs = Date.now() - ITEMS
  for (let n = 0; n < ITEMS; n++) writer.pipeline.append(Buffer.from(`item/${n}`), firstTs + n, Buffer.from(`{"n":${n}}`))
  await writer.pipeline.flush()
  const { views, isComplete } = await openViews(t, { primary })
  const app = createReaderApp({ queries: views, registry: new Registry(), maxStaleMs: 60_000 })
  t.teardown(() => app.close())
  await isComplete('latest')
  const path = '/v1/feeds/latest/items?limit=5&encoding=json'
  const page = await overSocket(app, path)
  t.same(page.json().items,
    [1, 2, 3, 4, 5].map((back) => ({ id: `item/${ITEMS - back}`, ts: firstTs + ITEMS - back, value: { n: ITEMS - back } })))
  t.equal((await overSocket(app, path, { headers: { 'if-none-match': page.headers.etag } })).statusCode, 304)
  t.match((await overSocket(app, '/v1/feeds/latest/count')).json(), { count: ITEMS, exact: true })
  t.same((await overSocket(app, '/v1/feeds/latest/items/item%2F7?encoding=utf8')).json(),
    { id: 'item/7', ts: firstTs + 7, value: '{"n":7}' })
  const lines = await overSocket(app, '/v1/feeds/latest/items?limit=1000000', { headers: { accept: 'application/x-ndjson' } })
  t.same(lines.body.trimEnd().split('\n').map((line) => JSON.parse(line).id),
    Array.from({ length: ITEMS }, (_, n) => `item/${ITEMS - 1 - n}`))
  writer.pipeline.append(Buffer.from('item/7'), Date.now(), Buffer.from('{"n":"new"}'))
  await writer.pipeline.flush()
  const changed = await eventually(async () => {
    const response = await overSocket(app, path, { headers: { 'if-none-match': page.headers.etag } })
    return response.statusCode === 200 && response
  })
  t.match(changed.json().items[0], { id: 'item/7', value: { n: 'new' } })
})
