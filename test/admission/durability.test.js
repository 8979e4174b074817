/** When a decision counts as acknowledged. */
import { createHash } from 'node:crypto'
import t from 'tap'
import { createConfirm } from '../../src/admission/index.js'
import { FreshetError } from '../../src/errors.js'
import { scopedEngines } from '../scope.js'
import { connectFor, engineName, eventually, startDeployment, startServer } from '../servers.js'
import { startGateway } from '../services.js'

const body = "redis.call('HSET', KEYS[1], 'n', ARGV[1]) return 1"
const WRITES = /** @type {import('../../src/store/scripts.js').Script} */ ({
  name: 'test', body, sha: createHash('sha1').update(body).digest('hex'), mode: 'writes', headers: {}
})

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

  t.test(`${engineName(engine)}: a decision and its WAIT are one write, without a marker`, async (t) => {
    const { primary, replicas: [replica] } = await startDeployment(t, { engine, replicas: 1 })
    const connection = await connectFor(t, primary.url)
    const key = (/** @type {string} */ part) => `fr:{@auctions:0}:${part}`
    const confirm = createConfirm({
      route: () => ({ connection, replicationId: 'id' }), key, marker: 'marker:1', durability: 'replica', waitMs: 300
    })
    await connection.send('HSET', key('generation'), 'replid', 'id', 'lineage', 'abc')
    await eventually(() => confirm('abc.7'))
    let n = 0
    async function decide () {
      const admitted = await confirm.deciding?.(async ({ connection: own }) => {
        await own.runScript(WRITES, [key('decided')], [++n])
        return { generation: 'abc.7', now: 0, replies: [], waitMs: null }
      })
      if (!admitted) throw new Error('there is no connection')
      return { confirmed: admitted.confirmed ?? Promise.reject(new Error('its confirmation is not awaited')) }
    }
    const calls = async (/** @type {string} */ command) =>
      Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(String(await connection.send('INFO', 'commandstats')))?.[1] ?? 0)
    const counts = async () => ({ markers: await calls('set'), waits: await calls('wait') })
    const first = await counts()
    await (await decide()).confirmed
    t.same(await counts(), { markers: first.markers + 1, waits: first.waits + 2 }, 'a script that the server did not have')
    const all = await Promise.all(Array.from({ length: 10 }, decide))
    await Promise.all(all.map(({ confirmed }) => confirmed))
    t.same(await counts(), { markers: first.markers + 1, waits: first.waits + 3 }, 'ten decisions')
    replica.freeze()
    const { confirmed } = await decide()
    await t.rejects(confirmed, { code: 'NOT_CONFIRMED', retryable: true })
    t.equal(Number(await connection.send('HGET', key('decided'), 'n')), n, 'it is decided all the same')
    replica.thaw()
    await eventually(async () => (await decide()).confirmed)
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
