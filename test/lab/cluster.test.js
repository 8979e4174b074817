/** Clusters of the lab: what a plan may ask for, copies of their content, and figures of a feed that is disturbed. */
import t from 'tap'
import { disturbedOf, longestPause } from '../../lab/cluster/figures.js'
import { CLUSTER_MEASURES } from '../../lab/cluster/measures.js'
import { needsShapes } from '../../lab/plan/plan-changes.js'
import { copiesOf, queryCopy } from '../../lab/servers/copies.js'
import { openOwnServers } from '../../lab/servers/own.js'
import { openConnection } from '../../src/store/connection.js'
import { makeCheckout } from '../embedded/checkout.js'
import { scopedEngines } from '../scope.js'

t.test('the longest pause begins and ends with the time that is looked at', async (t) => {
  t.equal(longestPause([5, 20, 30, 90], 10, 100), 60)
  t.equal(longestPause([], 10, 100), 90)
  t.equal(longestPause([20, 30], 10, 100), 70)
})

t.test('throughput is that of the disturbance, pauses are those since it began', async (t) => {
  const chunks = [{ atMs: 50, ms: 1, items: 10 }, { atMs: 200, ms: 1, items: 10 }, { atMs: 900, ms: 1, items: 10 }]
  t.same(disturbedOf({ chunks, deliveredMs: [60, 300, 250, 950] }, { fromMs: 100, untilMs: 600, endMs: 1000, written: 90 }),
    { writerPauseMs: 700, deliveryPauseMs: 650, itemsPerSecond: 20, writesPerSecond: 200, movingMs: 500 })
})

t.test('the CPU time of several primaries is added, and their replicas are in that of all servers', async (t) => {
  const nodes = [['primary', 0.2], ['replica', 0.1], ['primary', 0.3], ['replica', 0.1]].map(([role, cpuSeconds]) => ({ role, cpuSeconds }))
  const sample = /** @type {any} */ ({ nodes, items: 1e6 })
  t.equal(CLUSTER_MEASURES.primariesCpuMicrosPerItem.of(sample), 0.5)
  t.equal(CLUSTER_MEASURES.serversCpuMicrosPerItem.of(sample)?.toFixed(6), '0.700000')
})

t.test('a plan that names servers needs its own', async (t) => {
  const level = { settings: {}, without: [] }
  const arms = { a: { load: 'writer', settings: {} } }
  t.notOk(needsShapes(/** @type {any} */ ({ arms, levels: { one: level } })))
  t.ok(needsShapes(/** @type {any} */ ({ arms, levels: { one: { ...level, servers: 'cluster' } } })))
})

t.test('an uneven cluster: each copy answers for all slots, and the first primary has the keys', async (t) => {
  const [{ program }] = await scopedEngines()
  const servers = await openOwnServers({ program, shape: 'cluster-one', folder: await makeCheckout(t, 'lab') })
  t.teardown(() => servers.close())
  await servers.assertEmpty()
  const copies = copiesOf(servers)
  t.same(copies.map((urls) => urls.length), [3, 3])
  const primary = await openConnection(servers.primaryUrl, { name: 'test', deadlineMs: 60_000 })
  t.teardown(() => primary.close())
  for (const tag of ['a', 'b', 'c']) await primary.send('SET', `{${tag}}:key`, tag)
  await primary.send('WAIT', 1, 60_000)
  for (const urls of copies) {
    const found = await queryCopy(urls, async (copy) => [await copy.send('GET', '{b}:key'), await copy.send('MGET', '{c}:key', '{c}:none')],
      { deadlineMs: 60_000 })
    t.same([String(found[0]), String(found[1][0]), found[1][1]], ['b', 'c', null])
  }
})
