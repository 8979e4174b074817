/**
 * What a cluster does under feeds, each case on a fresh one: nothing acknowledged is lost, nothing is stored or delivered twice, and the
 * versions of an id stay in order. Pauses are printed, not judged: a busy machine has longer ones.
 */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { moveSlots, startCluster, startNode } from '../../test/cluster.js'
import { startRun, WHOLE } from '../../test/cluster-run.js'
import { connectFor, engineName, eventually } from '../../test/servers.js'
import { nightly, scopedEngines } from '../../test/scope.js'
import { slotOf, spreadTag } from '../../src/store/slots.js'

t.setTimeout(900_000)
const FROZEN_MS = 10_000
const ADDED = 'a shard is added and gets slots'

/** @typedef {import('../../test/cluster.js').Cluster} Cluster */
/** @typedef {Awaited<ReturnType<typeof startRun>>} Run */

/** Whether a node is a primary with slots, as another one sees it. @param {any} admin @param {{ port: number }} node */
const ownsSlots = async (admin, { port }) =>
  (await admin.send('CLUSTER', 'SLOTS')).some((/** @type {any[]} */ [, , [, owner]]) => owner === port)

/** @param {Run} run @returns {number[]} slots of its partitions */
const slotsOf = ({ feed: { name, definition: { partitions } } }) =>
  Array.from({ length: partitions }, (_, p) => slotOf(`{${spreadTag(name, p, partitions)}}`))

/** @type {Record<string, (t: import('tap').Test, cluster: Cluster, run: Run) => Promise<unknown>>} */
const CASES = {
  async 'a primary is killed, and comes back as a replica' (t, { primaries, replicas }) {
    const admin = await connectFor(t, replicas[1].url)
    await primaries[1].kill()
    await eventually(() => ownsSlots(admin, replicas[1]))
    await primaries[1].restart()
  },
  async 'a primary gets SIGTERM' (t, { primaries, replicas }) {
    const admin = await connectFor(t, replicas[1].url)
    primaries[1].process.kill('SIGTERM')
    await eventually(() => ownsSlots(admin, replicas[1]))
    await primaries[1].restart()
  },
  async 'a planned failover, there and back' (t, { primaries, replicas }) {
    for (const [next, before] of [[replicas[0], primaries[0]], [primaries[0], replicas[0]]]) {
      const [admin, other] = await Promise.all([next, primaries[2]].map(({ url }) => connectFor(t, url)))
      await eventually(async () => {
        await admin.send('CLUSTER', 'FAILOVER')
        await pause(500)
        return !await ownsSlots(other, before)
      })
    }
  },
  async 'a primary is frozen for 10 s' (t, { primaries, replicas }) {
    const admin = await connectFor(t, replicas[1].url)
    primaries[1].freeze()
    await Promise.all([pause(FROZEN_MS), eventually(() => ownsSlots(admin, replicas[1]))])
    primaries[1].thaw()
  },
  async 'a replica is killed' (t, { replicas }) {
    await replicas[1].kill()
    await pause(1000)
    await replicas[1].restart()
  },
  'slots move key by key': (t, cluster, run) => moveAll(t, cluster, run, { isAtomic: false }),
  'slots move atomically': (t, cluster, run) => moveAll(t, cluster, run, { isAtomic: true }),
  async [ADDED] (t, cluster, run) {
    const node = await startNode(t, cluster)
    await moveSlots(t, { ...cluster, primaries: [...cluster.primaries, node] }, { slots: slotsOf(run).slice(0, 3), to: 3, isAtomic: false })
  }
}

/** @param {import('tap').Test} t @param {Cluster} cluster @param {Run} run @param {{ isAtomic: boolean }} way */
async function moveAll (t, cluster, run, { isAtomic }) {
  for (const [p, slot] of slotsOf(run).entries()) await moveSlots(t, cluster, { slots: [slot], to: (p + 1) % 3, isAtomic })
}

const engines = await scopedEngines()
for (const engine of nightly(engines, engines.slice(0, 1))) {
  t.test(engineName(engine), async (t) => {
    let turn = 0
    for (const [title, act] of Object.entries(CASES)) {
      if (title === 'slots move atomically' && engine.name === 'redis') continue
      const isMove = title.startsWith('slots')
      for (const layout of isMove ? nightly(['ids', 'segments', 'values'], ['ids']) : [['segments', 'ids', 'stream'][turn++ % 3]]) {
        await t.test(`${title}, ${layout}`, async (t) => {
          const cluster = await startCluster(t, { engine })
          // a shard that is added has no replica
          const run = await startRun(t, { redisUrl: cluster.url, layout, ack: title === ADDED ? 'primary' : 'replica' })
          await run.goOn(500)
          const sinceMs = performance.now()
          await act(t, cluster, run)
          await run.goOn(500)
          t.comment(`longest pause of delivery ${run.longestPauseMs(sinceMs)} ms`)
          t.same(await run.end(), WHOLE)
        })
      }
    }
  })
}
