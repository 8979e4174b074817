/** What does not fit a cluster, or a feed in it: plain errors that say what to do. The others: test/store/cluster.test.js. */
import t from 'tap'
import { openFeed } from '../../src/index.js'
import { clusterArgs } from '../../src/embedded/fleet.js'
import { definitionKey } from '../../src/feeds/keys.js'
import { SLOTS, slotOf } from '../../src/store/slots.js'
import { startCluster } from '../../test/cluster.js'
import { connectFor, engineName, eventually, freePort, silentLog, startServer } from '../../test/servers.js'
import { scopedEngines } from '../../test/scope.js'

t.setTimeout(300_000)
const WAIT = { deadlineMs: 60_000 }

for (const engine of await scopedEngines()) {
  t.test(engineName(engine), async (t) => {
    const { url: redisUrl, primaries } = await startCluster(t, { engine, primaries: 2, replicas: 0 })
    const primaryOf = (/** @type {string} */ key) => primaries[Math.floor(slotOf(key) * primaries.length / SLOTS)]
    const open = async (/** @type {string} */ name, /** @type {any} */ options = {}) => {
      const feed = await openFeed(name, { redisUrl, log: silentLog, deadlineMs: 10_000, ...options })
      t.teardown(() => feed.close({ drainMs: 0 }).catch(() => {}))
      return feed
    }

    await t.test('partitions or layout of a live feed do not change', async (t) => {
      const feed = await open('live', { partitions: 4, layout: 'segments' })
      feed.append({ id: 'a', value: '1' })
      await feed.flush(WAIT)
      await t.rejects(open('live', { partitions: 2 }), {
        code: 'FEED_DEFINITION_DIFFERS',
        message: /stored with partitions 4, not 2; write with partitions 4, or into another feed, or drop it first/
      })
      await t.rejects(open('live', { layout: 'values' }), { code: 'FEED_DEFINITION_DIFFERS', message: /write with layout segments, or into/ })
      feed.append({ id: 'b', value: '2' })
      await feed.flush(WAIT)
      t.equal(String((await feed.get('b'))?.value), '2')
    })

    await t.test('a writer whose feed was created again with other partitions stops, and says why', async (t) => {
      const before = await open('again', { partitions: 4 })
      before.append({ id: 'a', value: '1' })
      await before.flush(WAIT)
      const key = definitionKey('fr:', 'again')
      const admin = await connectFor(t, primaryOf(key).url)
      await admin.send('SET', key, JSON.stringify({ ...JSON.parse(await admin.send('GET', key)), partitions: 2 }))
      const write = async () => {
        before.append({ id: 'b', value: '2' })
        await before.flush(WAIT)
      }
      const failure = await eventually(() => write().then(() => false, (error) => error))
      t.match(failure, { code: 'FEED_DEFINITION_DIFFERS', message: /with partitions 2, not 4/ })
    })

    await t.test('a feed that was created on a server without a cluster and then copied goes on with its one partition', async (t) => {
      const alone = await startServer(t, { engine })
      const before = await open('copied', { redisUrl: alone.url })
      before.append({ id: 'a', value: '1' })
      await before.flush(WAIT)
      await before.close()
      const admin = await connectFor(t, alone.url)
      for (const key of await admin.send('KEYS', '*')) {
        await admin.send('MIGRATE', '127.0.0.1', primaryOf(key).port, '', 0, 10_000, 'COPY', 'REPLACE', 'KEYS', key)
      }
      await t.rejects(open('copied', { partitions: 2 }), { code: 'FEED_DEFINITION_DIFFERS', message: /with partitions 1, not 2/ })
      const feed = await open('copied')
      t.match(feed.definition, { format: 1, partitions: 1 })
      feed.append({ id: 'b', value: '2' })
      await feed.flush(WAIT)
      const { items } = await feed.latest(10)
      t.same(items.map(({ id }) => id), ['b', 'a'])
    })

    await t.test('a node that announces an address where nothing listens', async (t) => {
      const [busPort, closed] = [await freePort(), await freePort()]
      const node = await startServer(t, { engine, args: [...clusterArgs(busPort), '--cluster-announce-port', `${closed}`] })
      const admin = await connectFor(t, node.url)
      await admin.send('CLUSTER', 'ADDSLOTSRANGE', 0, SLOTS - 1)
      await eventually(async () => /cluster_state:ok/.test(await admin.send('CLUSTER', 'INFO')))
      const message = new RegExp(`no server answers at 127.0.0.1:${closed} .* see cluster-announce-ip and -port$`)
      await t.rejects(open('unreachable', { redisUrl: node.url }), { code: 'SERVER_UNREACHABLE', message })
    })
  })
}
