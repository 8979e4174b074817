/** Every layout, and every ack, behind the gateway. */
import t from 'tap'
import { agree } from '../../src/feeds/definitions.js'
import { openReader } from '../../src/index.js'
import { layoutNames, layoutOf } from '../../src/layouts/index.js'
import { runGateway, runReader } from '../../test/commands.js'
import { connectFor, engineName, eventually, startDeployment, startServer } from '../../test/servers.js'
import { isProblem, itemsOf } from '../../test/gateway/requests.js'
import { scoped, scopedEngines } from '../../test/scope.js'

/** commands of ids differ by engine, segments are written by a script; the contract of all layouts is tested on every engine */
const LAYOUTS_OF_OTHERS = ['ids', 'segments']

for (const [i, engine] of (await scopedEngines()).entries()) {
  for (const layout of scoped(i === 0 ? layoutNames() : LAYOUTS_OF_OTHERS, ['ids'])) {
    t.test(`layout ${layout} on ${engineName(engine)}: the newest of each id, and no deleted ones`, async (t) => {
      const { primary } = await startDeployment(t, { engine, replicas: 1 })
      const [{ post, remove }, reader] = await Promise.all([runGateway(t,
        { redisUrl: primary.url, flags: ['--layout', layout, '--partitions', '2'] }), runReader(t, { redisUrl: primary.url })])
      const idsNow = async () => (await reader.ask('/v1/feeds/one/items')).json.items?.map(({ id }) => id).join()
      const ts = Date.now()
      t.match(await post('/v1/feeds/one/items', [{ id: 'a', ts, value: { n: 1 } }, { id: 'b', ts: ts - 1, value: 1.10 },
        { id: 'c', ts: ts - 2, value: null }]), { json: { accepted: 3 } })
      await eventually(async () => await idsNow() === 'a,b,c')
      t.match(await post('/v1/feeds/one/items', [{ id: 'c', ts: ts + 1, value: 'newer' }]), { json: { accepted: 1 } })
      t.match(await remove(`/v1/feeds/one/items/b?ts=${ts + 2}`), { json: { accepted: 1 } })
      await eventually(async () => await idsNow() === 'c,a')
      t.match((await reader.ask('/v1/feeds/one/items?encoding=json')).json.items,
        [{ id: 'c', ts: ts + 1, value: 'newer' }, { id: 'a', ts, value: { n: 1 } }])
      t.match((await reader.ask('/v1/feeds/one')).json, { layout, partitions: 2 })

      t.match(await post('/v1/feeds/many/items', itemsOf('many', 1000)), { json: { accepted: 1000 } })
      await eventually(async () => (await reader.allItems('many')).length === 1000)
    })
  }

  t.test(`settings for one layout do not keep feeds of another out, on ${engineName(engine)}`, async (t) => {
    const server = await startServer(t, { engine })
    const connection = await connectFor(t, server.url)
    for (const layout of layoutNames()) {
      await agree(connection, 'fr:',
        { feed: layout, layout, partitions: 2, windowMs: 60_000, maxItems: 100, format: layoutOf(layout).format })
    }
    const { post } = await runGateway(t,
      { redisUrl: server.url, flags: ['--layout', 'segments', '--compress', 'brotli', '--late', 'newest'] })
    for (const layout of layoutNames()) {
      t.match(await post(`/v1/feeds/${layout}/items`, itemsOf('a', 100)), { status: 200, json: { accepted: 100 } }, layout)
    }
    const reader = await openReader({ redisUrl: server.url, readFrom: 'primary' })
    t.teardown(() => reader.close())
    for (const layout of layoutNames()) t.equal((await reader.feed(layout).latest(1000)).items.length, 100, layout)

    await connection.send('SET', 'fr:{later}:feed',
      JSON.stringify({ feed: 'later', layout: 'tree', partitions: 1, windowMs: 60_000, maxItems: 0, format: 1 }))
    isProblem(t, await post('/v1/feeds/later/items', itemsOf('a', 1)), 500, 'FEED_LAYOUT_UNKNOWN')
  })

  t.test(`ack replica on ${engineName(engine)}: no answer 200 before a replica has the items`, async (t) => {
    const { primary, replicas: [replica] } = await startDeployment(t, { engine, replicas: 1 })
    const { post } = await runGateway(t, { redisUrl: primary.url, flags: ['--ack', 'replica', '--ack-within-ms', '500'] })
    t.match(await post('/v1/feeds/one/items', itemsOf('first', 10)), { status: 200 })
    replica.freeze()
    t.match((await post('/v1/feeds/one/items', itemsOf('second', 10))).json, { code: 'ACK_UNKNOWN' })
    replica.thaw()
    await eventually(async () => (await post('/v1/feeds/one/items', itemsOf('third', 10))).status === 200)
  })
}
