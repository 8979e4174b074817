/** `ack: 2` in a cluster: each shard has the replicas that confirm its partitions. */
import t from 'tap'
import { openFeed } from '../../src/index.js'
import { startCluster } from '../../test/cluster.js'
import { scopedEngines } from '../../test/scope.js'
import { engineName, eventually } from '../../test/servers.js'
import { startGateway } from '../../test/services.js'

const PATIENT = { deadlineMs: 60_000 }
const ITEMS = 200

t.setTimeout(300_000)
for (const engine of await scopedEngines()) {
  t.test(`${engineName(engine)}: a shard with a replica away acknowledges nothing with ack 2, and others go on`, async (t) => {
    const { url: redisUrl, replicas } = await startCluster(t, { engine, primaries: 3, replicas: 2 })
    const options = { redisUrl, partitions: 6, deadlineMs: 10_000 }
    await t.rejects(openFeed('three', { ...options, ack: 3 }), { code: 'REPLICAS_TOO_FEW', message: /has 2 attached replicas, and --ack 3/ })
    await t.rejects(startGateway(t, { redisUrl, flags: ['--durability', '3'] }), { code: 'REPLICAS_TOO_FEW' })

    const feed = await openFeed('two', { ...options, ack: 2 })
    t.teardown(() => feed.close({ drainMs: 0 }))
    const append = () => { for (let i = 0; i < ITEMS; i++) feed.append({ id: `id-${i}`, value: 'v' }) }
    append()
    await feed.flush(PATIENT)
    replicas[0].freeze()
    append()
    await eventually(() => feed.account.unconfirmed > 0 && feed.account.items > ITEMS)
    t.ok(feed.account.items < 2 * ITEMS, `${feed.account.items} of ${2 * ITEMS}`)
    t.match(feed.status(), { ready: false, reasons: [/fewer than 2 replicas/] })
    replicas[0].thaw()
    await feed.flush(PATIENT)
    t.equal(feed.account.items, 2 * ITEMS)
  })
}
