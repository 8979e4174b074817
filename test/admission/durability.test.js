/** When a decision counts as acknowledged. */
import t from 'tap'
import { createConfirm } from '../../src/admission/index.js'
import { FreshetError } from '../../src/errors.js'
import { scopedEngines } from '../scope.js'
import { connectFor, engineName, eventually, startDeployment, startServer } from '../servers.js'
import { startGateway } from '../services.js'

for (const engine of await scopedEngines()) {
  t.test(`${engineName(engine)}: a round of WAIT confirms what came before it, and is shared`, async (t) => {
    const { primary, replicas: [replica] } = await startDeployment(t, { engine, replicas: 1 })
    const connection = await connectFor(t, primary.url)
    const key = (/** @type {string} */ part) => `fr:{@auctions:0}:${part}`
    const confirm = createConfirm({
      route: () => ({ connection, replicationId: 'id' }), key, marker: 'marker:1', durability: 'replica', waitMs: 300
    })
    // a new replica answers its first WAIT late
    await eventually(() => confirm())
    const before = Number(/cmdstat_wait:calls=(\d+)/.exec(String(await connection.send('INFO', 'commandstats')))?.[1] ?? 0)
    await Promise.all(Array.from({ length: 50 }, () => confirm()))
    const calls = Number(/cmdstat_wait:calls=(\d+)/.exec(String(await connection.send('INFO', 'commandstats')))?.[1]) - before
    t.ok(calls <= 2, `${calls} rounds for 50 decisions`)
    await connection.send('HSET', key('generation'), 'replid', 'id', 'lineage', 'abc')
    await t.resolves(confirm('abc.7'))
    await t.rejects(confirm('abd.7'), { code: 'NOT_CONFIRMED', message: /another one has taken over/ })
    await connection.send('HSET', key('generation'), 'replid', 'of the primary before')
    await t.rejects(confirm('abc.7'), { code: 'NOT_CONFIRMED' }, 'after a failover the primary may never have had the decision')
    let asked = 0
    const reopening = createConfirm({
      route () {
        if (asked++ === 0) throw new FreshetError('SERVER_UNREACHABLE', 'the connection is opening')
        return { connection, replicationId: 'id' }
      },
      key,
      marker: 'marker:2',
      durability: 'replica',
      waitMs: 10_000
    })
    await t.resolves(reopening(), 'it waits for a connection that opens again')
    replica.freeze()
    await t.rejects(confirm(), { code: 'NOT_CONFIRMED', retryable: true })
    replica.thaw()
    await eventually(() => confirm())
  })

  t.test(`${engineName(engine)}: durability 2 is confirmed by two replicas, and not by one`, async (t) => {
    const { primary, replicas } = await startDeployment(t, { engine })
    const connection = await connectFor(t, primary.url)
    const route = () => ({ connection, replicationId: 'id' })
    const of = { route, key: (/** @type {string} */ part) => `fr:{@auctions:0}:${part}`, waitMs: 300 }
    const one = createConfirm({ ...of, marker: 'one', durability: '1' })
    const both = createConfirm({ ...of, marker: 'both', durability: '2' })
    await eventually(() => both())
    replicas[0].freeze()
    await eventually(() => one())
    await t.rejects(both(), { code: 'NOT_CONFIRMED', message: /\(2 replicas\) within 300 ms/ })
    replicas[0].thaw()
    await eventually(() => both())
  })

  t.test(`${engineName(engine)}: --durability aof needs an append-only file`, async (t) => {
    const { url } = await startServer(t, { engine })
    await t.rejects(startGateway(t, { redisUrl: url, flags: ['--durability', 'aof'] }),
      { exitStatus: 2, message: /append-only file.*--durability replica or memory/ })
  })
}
