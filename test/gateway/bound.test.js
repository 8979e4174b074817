/** The bound on what is in flight: what happens to requests above it. */
import t from 'tap'
import { connectFor, eventually, startServer } from '../servers.js'
import { startGateway } from '../services.js'
import { GENEROUS_MS, itemsOf, timed } from './requests.js'
import { scopedEngines, wholeTest } from '../scope.js'

const [engine] = await scopedEngines()

/** @param {string} text of /metrics @param {string} name with labels */
const metric = (text, name) => Number(text.split('\n').find((line) => line.startsWith(name + ' '))?.split(' ')[1])

t.test('at the in-flight bound a request is refused whole, dropped whole, or waits', async (t) => {
  const primary = await startServer(t, { engine })
  const start = (/** @type {string} */ whenFull) =>
    startGateway(t, { redisUrl: primary.url, flags: ['--in-flight-bytes', '60000', '--ack-within-ms', '700', '--when-full', whenFull] })
  const [refuse, drop, block] = await Promise.all(['refuse', 'drop', 'block'].map(start))
  const large = itemsOf('large', 100, 5000)
  for (const [name, { post }] of Object.entries({ refuse, drop, block })) {
    // one that can never fit is taken when nothing is in flight
    await eventually(async () => (await post(`/v1/feeds/${name}/items`, large)).json.accepted === 100)
  }
  const metrics = async ({ send }) => (await send('GET', '/metrics')).body
  const countedBy = async () => [metric(await metrics(refuse), 'freshet_refused_total{feed="refuse",reason="full"}'),
    metric(await metrics(drop), 'freshet_dropped_total{feed="drop"}'),
    metric(await metrics(block), 'freshet_refused_total{feed="block",reason="full"}')]
  const before = await countedBy()
  primary.freeze()
  // fills half the bound, and is never acknowledged
  const fill = ({ post }, name) => post(`/v1/feeds/${name}/items`, itemsOf('fill', 10, 3000))
  for (const answer of await Promise.all([fill(refuse, 'refuse'), fill(drop, 'drop'), fill(block, 'block')])) {
    t.match(answer.json, { code: 'ACK_UNKNOWN' })
  }
  const more = itemsOf('more', 10, 3000)

  const refused = await timed(() => refuse.post('/v1/feeds/refuse/items', more))
  t.match(refused.json, { status: 503, code: 'INGEST_FULL', retryable: true })
  t.match(refused.headers.get('retry-after'), /^[123]$/)
  t.match((await refuse.post('/v1/feeds/refuse/items', itemsOf('small', 2))).json, { code: 'ACK_UNKNOWN' }, 'what fits is taken')
  t.match(await drop.post('/v1/feeds/drop/items', more), { status: 200, json: { accepted: 0, dropped: 10 } })
  const waited = await timed(() => block.post('/v1/feeds/block/items', more))
  t.match(waited.json, { code: 'INGEST_FULL' })
  t.ok(waited.ms >= 500 && waited.ms < GENEROUS_MS, `waited ${waited.ms} ms`)

  t.same((await countedBy()).map((count, i) => count - before[i]), [10, 10, 10])

  primary.thaw()
  for (const [name, { post }] of Object.entries({ refuse, drop, block })) {
    await eventually(async () => (await post(`/v1/feeds/${name}/items`, more)).json.accepted === 10)
  }
  t.equal(metric(await metrics(refuse), 'freshet_inflight_bytes{feed="refuse"}'), 0)
})

wholeTest('a request that waits for room continues when there is room', async (t) => {
  const primary = await startServer(t, { engine })
  const { post } = await startGateway(t, {
    redisUrl: primary.url,
    flags: ['--in-flight-bytes', '60000', '--ack-within-ms', '20000', '--when-full', 'block', '--deadline-ms', '20000']
  })
  await post('/v1/feeds/one/items', itemsOf('first', 1))
  primary.freeze()
  const answers = [0, 1, 2, 3, 4].map((n) => post('/v1/feeds/one/items', itemsOf(`${n}`, 8, 3000)))
  t.match((await Promise.race(answers)).json, { code: 'INGEST_FULL' }, 'the others are inside')
  primary.thaw()
  const done = await Promise.all(answers)
  t.same(done.map(({ json }) => json.accepted ?? json.code).toSorted(), [8, 8, 8, 8, 'INGEST_FULL'],
    'two had room, two waited, and no more than that may wait')
})

wholeTest('feeds share the bound', async (t) => {
  const primary = await startServer(t, { engine })
  const { post } = await startGateway(t, { redisUrl: primary.url, flags: ['--in-flight-bytes', '60000', '--ack-within-ms', '300'] })
  for (const feed of ['a', 'b']) t.equal((await post(`/v1/feeds/${feed}/items`, itemsOf('first', 1))).status, 200)
  primary.freeze()
  t.match((await post('/v1/feeds/a/items', itemsOf('fill', 10, 4000))).json, { code: 'ACK_UNKNOWN' })
  t.match((await post('/v1/feeds/b/items', itemsOf('more', 10, 4000))).json, { code: 'INGEST_FULL' })
})

wholeTest('a server that accepts no writes is reported as the cause, not the bound', async (t) => {
  const server = await startServer(t, { engine })
  const admin = await connectFor(t, server.url)
  const { post, send } = await startGateway(t, { redisUrl: server.url, flags: ['--ack-within-ms', '300'] })
  t.equal((await post('/v1/feeds/one/items', itemsOf('first', 1))).status, 200)
  await admin.send('CONFIG', 'SET', 'maxmemory', '1')
  t.match((await post('/v1/feeds/one/items', itemsOf('held', 1))).json, { code: 'ACK_UNKNOWN' })
  await eventually(async () => /one: SERVER_FULL/.test((await send('GET', '/readyz')).body))
  t.match((await post('/v1/feeds/one/items', itemsOf('more', 10))).json, {
    code: 'INGEST_FULL',
    detail: /^SERVER_FULL: the server accepts no writes: maxmemory is reached.*; nothing was taken: send the same request again$/
  })
  await admin.send('CONFIG', 'SET', 'maxmemory', '0')
  await eventually(async () => (await post('/v1/feeds/one/items', itemsOf('more', 10))).json.accepted === 10)
})
