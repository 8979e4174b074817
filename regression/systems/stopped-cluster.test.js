/** A rule that never ends, in a cluster: a replica takes over while it runs, and the node that ran it becomes a replica. */
import t from 'tap'
import { openSystem } from '../../src/systems/index.js'
import { healed, ownsSlots, startCluster } from '../../test/cluster.js'
import { connectFor, engineName, eventually } from '../../test/servers.js'
import { scopedEngines } from '../../test/scope.js'
import { callAndEnd, CALLER, NEVER } from '../../test/systems/never.js'

t.setTimeout(600_000)
/** Longer than a failover takes. */
const THRESHOLD_MS = 10_000
const SHARDS = 3

for (const engine of await scopedEngines()) {
  t.test(`${engineName(engine)}: the node is stopped by processes that saw it as a primary, while the caller is gone`, async (t) => {
    const started = await startCluster(t, { engine, primaries: SHARDS, args: ['--busy-reply-threshold', String(THRESHOLD_MS)] })
    const cluster = await healed(started)
    for (const { url } of cluster.nodes) await (await connectFor(t, url)).send('ACL', 'SETUSER', ...CALLER)
    const system = await openSystem(NEVER, { redisUrl: cluster.url, keyPrefix: 'fr:', partitions: 1, deadlineMs: 20_000 })
    t.teardown(() => system.close())
    t.match(await system.submit({ rule: 'seat', key: 'a', args: ['count'] }), { code: 'counted', seq: 1 })

    const admins = await Promise.all(cluster.replicas.map(({ url }) => connectFor(t, url)))
    /** The shard whose replica has taken over; -1 = none. */
    const taken = async () => (await Promise.all(admins.map((admin, shard) => ownsSlots(admin, cluster.replicas[shard])))).indexOf(true)
    await callAndEnd(t, { redisUrl: cluster.url, keyPrefix: 'fr:', runs: async () => await taken() >= 0 })
    const shard = await taken()

    const { primaries, replicas } = await healed(cluster)
    t.equal(primaries.find(({ port }) => port === cluster.replicas[shard].port)?.port, cluster.replicas[shard].port)
    t.ok(replicas.some(({ port }) => port === cluster.primaries[shard].port), 'it is a replica')
    t.match(await eventually(() => system.submit({ rule: 'seat', key: 'a', args: ['count'] })), { code: 'counted' })
  })
}
