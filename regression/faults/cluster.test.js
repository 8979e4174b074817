/**
 * What a cluster does under feeds: nothing acknowledged is lost, nothing is stored or delivered twice, and the versions of an id stay in
 * order. Cases that may share a cluster do. Pauses are printed, not judged: a busy machine has longer ones.
 */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { openReader } from '../../src/index.js'
import { failOver, healed, moveSlots, ownsSlots, replacePrimary, slotsOf, startCluster, startNode } from '../../test/cluster.js'
import { EVERY_MS, startRun, WHOLE } from '../../test/cluster-run.js'
import { startProxy } from '../../test/proxy.js'
import { connectFor, engineName, eventually, freePort, silentLog } from '../../test/servers.js'
import { isNight, nightly, scopedEngines } from '../../test/scope.js'

t.setTimeout(nightly(7_200_000, 900_000))
const FROZEN_MS = nightly(10_000, 5000)
/** By day, the full rate ends this long after the fault. */
const FULL_RATE_MS = 500
const LAYOUTS = ['segments', 'ids', 'stream']
/** whose nodes get other addresses; the first node, which the seed stands for, is in the first one */
const SHARDS = nightly([0, 1, 2], [0])
/** of the first primary, which has 5,461: as many as were moved in the published experiment */
const MANY_SLOTS = Array.from({ length: 4096 }, (_, slot) => slot)

/** @typedef {import('../../test/cluster.js').Cluster & { seed: import('../../test/proxy.js').Proxy }} Cluster */
/** @typedef {Awaited<ReturnType<typeof startRun>>} Run */
/**
 * @typedef {{ act: (t: import('tap').Test, cluster: Cluster, run: Run) => Promise<unknown>, ack?: string, everyMs?: number,
 *   layout?: string, rounds?: number }} Case
 */

/** Of the partitions and the definition of its feed. @param {import('tap').Test} t @param {Cluster} cluster @param {Run} run */
const slotsOfRun = (t, cluster, { feed: { name } }) => slotsOf(t, cluster, `fr:{${name}[:}]*`)

/** @type {(signal: NodeJS.Signals) => Case['act']} */
const replacing = (signal) => async (t, cluster, run) => {
  const replaced = replacePrimary(t, cluster, { shard: 1, signal })
  await Promise.race([replaced, pause(FULL_RATE_MS)])
  if (!isNight) run.pace(EVERY_MS)
  t.comment(`the servers took ${await replaced} ms to replace the primary`)
}

/** @type {Record<string, Case>} */
const FAILOVERS = {
  'a primary is killed, and comes back as a replica': { act: replacing('SIGKILL') },
  'a primary gets SIGTERM at full rate': { act: replacing('SIGTERM'), everyMs: 0 },
  'a planned failover, there and back': {
    async act (t, cluster) {
      await failOver(t, cluster, 0)
      await failOver(t, await healed(cluster), 0)
    }
  },
  'a primary is frozen for seconds': {
    async act (t, { primaries, replicas }) {
      const admin = await connectFor(t, replicas[1].url)
      primaries[1].freeze()
      await Promise.all([pause(FROZEN_MS), eventually(() => ownsSlots(admin, replicas[1]))])
      primaries[1].thaw()
    }
  },
  'a replica is killed': {
    async act (t, { replicas }) {
      await replicas[1].kill()
      await pause(1000)
      await replicas[1].restart()
    }
  },
  'nodes get other addresses, one after another, as pods do': {
    async act (t, cluster, run) {
      const { seed, nodes } = cluster
      for (const shard of [...SHARDS, ...SHARDS]) {
        const { replicas: { [shard]: node } } = await healed(cluster)
        await node.restart({ port: await freePort() })
        if (node === nodes[0]) seed.switchTo(node.port)
        await failOver(t, await healed(cluster), shard)
      }
      // a map of its own, which has the address of the seed only
      const reader = await eventually(() => openReader({ redisUrl: `${seed.url},${seed.url}`, log: silentLog }))
      t.teardown(() => reader.close())
      await eventually(async () => (await reader.feed(run.feed.name).latest(1)).items.length === 1)
    }
  }
}

/** @param {{ isAtomic: boolean }} way @returns {Case['act']} */
const moving = ({ isAtomic }) => async (t, cluster, run) => {
  const slots = await slotsOfRun(t, cluster, run)
  for (const [n, slot] of slots.entries()) await moveSlots(t, cluster, { slots: [slot], to: (n + 1) % 3, isAtomic })
}

/** Batches of `ids` that wait for one acknowledgement only are compared under WATCH. @type {typeof moving} */
const movingWatched = (way) => async (t, cluster, run) => {
  await moving(way)(t, cluster, run)
  t.ok(/** @type {any} */ (run.feed.account).watched > 0)
}

/** @type {Record<string, Case>} */
const CLASSIC = {
  'slots move key by key': { act: moving({ isAtomic: false }) },
  'slots move key by key under WATCH': { ack: 'primary', layout: 'ids', act: movingWatched({ isAtomic: false }) },
  'a shard is added, gets slots, and is removed': {
    ack: 'primary', // it has no replica
    async act (t, cluster, run) {
      const node = await startNode(t, cluster)
      const primaries = [...cluster.primaries, node]
      const slots = (await slotsOfRun(t, cluster, run)).slice(0, 3)
      await moveSlots(t, { primaries }, { slots, to: 3, isAtomic: false })
      await run.goOn(500)
      await moveSlots(t, { primaries }, { slots, to: 0, isAtomic: false })
      const id = await (await connectFor(t, node.url)).send('CLUSTER', 'MYID')
      for (const { url } of cluster.nodes) await (await connectFor(t, url)).send('CLUSTER', 'FORGET', id)
      await node.kill()
    }
  }
}
/** Valkey 9.1.2 ends itself where slots moved in both ways, hence a cluster of its own. @type {Record<string, Case>} */
const ATOMIC = {
  'slots move atomically': { act: moving({ isAtomic: true }) },
  'slots move atomically under WATCH': { ack: 'primary', layout: 'ids', act: movingWatched({ isAtomic: true }) },
  ...(isNight && {
    '4,096 slots move by one command, and back': {
      rounds: 1,
      async act (t, cluster) {
        for (const to of [1, 0]) await moveSlots(t, cluster, { slots: MANY_SLOTS, to, isAtomic: true, isTogether: true })
      }
    }
  })
}

let turn = 0

/** @param {import('tap').Test} t @param {import('../../test/servers.js').Engine} engine @param {Record<string, Case>} cases */
async function onOneCluster (t, engine, cases) {
  const started = await startCluster(t, { engine })
  const seed = await startProxy(t, started.nodes[0].port)
  for (const [title, { act, layout: only, rounds = nightly(10, 1), ...options }] of Object.entries(cases)) {
    for (let n = 0; n < rounds; n++) {
      const layout = only ?? LAYOUTS[turn++ % LAYOUTS.length]
      await t.test(`${title}, ${layout}`, async (t) => {
        const cluster = { ...await healed(started), seed }
        for (const { url } of cluster.primaries) await (await connectFor(t, url)).send('FLUSHALL')
        const run = await startRun(t, { redisUrl: seed.url, layout, ...options })
        await run.goOn(500)
        const sinceMs = performance.now()
        await act(t, cluster, run)
        await run.goOn(500)
        t.comment(`longest pause of delivery ${run.longestPauseMs(sinceMs)} ms, ${run.acknowledged.size} acknowledged`)
        t.same(await run.end(), WHOLE)
      })
    }
  }
}

const engines = await scopedEngines()
for (const engine of nightly(engines, engines.slice(0, 1))) {
  t.test(engineName(engine), async (t) => {
    await t.test('failovers, and slots that move', (t) => onOneCluster(t, engine, { ...FAILOVERS, ...CLASSIC }))
    if (engine.name === 'valkey') await t.test('slots that move atomically', (t) => onOneCluster(t, engine, ATOMIC))
  })
}
