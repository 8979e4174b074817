/** Feeds of every layout that a gateway adopts, and acknowledgements of replicas. */
import t from 'tap'
import { agree, formatOf } from '../../src/feeds/definitions.js'
import { openReader } from '../../src/index.js'
import { layoutNames, layoutOf } from '../../src/layouts/index.js'
import { connectFor, eventually, startDeployment } from '../../test/servers.js'
import { startGateway } from '../../test/services.js'
import { sharedDeployment } from '../../test/shared.js'
import { isProblem, itemsOf } from '../../test/gateway/requests.js'
import { scopedEngines } from '../../test/scope.js'

t.test('settings for one layout do not keep feeds of another out', async (t) => {
  const { primary: { url: redisUrl }, keyPrefix } = await sharedDeployment(t)
  const connection = await connectFor(t, redisUrl)
  for (const layout of layoutNames()) {
    const { arrivals } = layoutOf(layout)
    const format = formatOf({ layout, partitions: 2 })
    await agree(connection, keyPrefix,
      { feed: layout, layout, partitions: 2, windowMs: 60_000, maxItems: 100, format, ...arrivals && { log: 1 } })
  }
  const { post } = await startGateway(t,
    { redisUrl, keyPrefix, flags: ['--ack-within-ms', '60000', '--layout', 'segments', '--compress', 'brotli', '--late', 'newest'] })
  for (const layout of layoutNames()) {
    t.match(await post(`/v1/feeds/${layout}/items`, itemsOf('a', 100)), { status: 200, json: { accepted: 100 } }, layout)
  }
  const reader = await openReader({ redisUrl, keyPrefix, readFrom: 'primary' })
  t.teardown(() => reader.close())
  for (const layout of layoutNames()) t.equal((await reader.feed(layout).latest(1000)).items.length, 100, layout)

  await connection.send('SET', `${keyPrefix}{later}:feed`,
    JSON.stringify({ feed: 'later', layout: 'tree', partitions: 1, windowMs: 60_000, maxItems: 0, format: 1 }))
  isProblem(t, await post('/v1/feeds/later/items', itemsOf('a', 1)), 500, 'FEED_LAYOUT_UNKNOWN')
})

t.test('ack replica: no answer 200 before a replica has the items', async (t) => {
  const [engine] = await scopedEngines()
  const { primary, replicas: [replica] } = await startDeployment(t, { engine, replicas: 1 })
  const { post } = await startGateway(t, { redisUrl: primary.url, flags: ['--ack', 'replica', '--ack-within-ms', '500'] })
  await eventually(async () => (await post('/v1/feeds/one/items', itemsOf('first', 10))).status === 200)
  replica.freeze()
  t.match((await post('/v1/feeds/one/items', itemsOf('second', 10))).json, { code: 'ACK_UNKNOWN' })
  replica.thaw()
  await eventually(async () => (await post('/v1/feeds/one/items', itemsOf('third', 10))).status === 200)
})
