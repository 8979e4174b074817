/** Clusters for tests: formed by the code of the embedded servers, on free ports, gone with their test. */
import { setTimeout as pause } from 'node:timers/promises'
import { moveSlots as moveSlotsOf } from '../lab/cluster/slots.js'
import { clusterArgs, formCluster } from '../src/embedded/fleet.js'
import { openConnection } from '../src/store/connection.js'
import { slotOf } from '../src/store/slots.js'
import { startProxy } from './proxy.js'
import { connectFor, eventually, freePort, startServer } from './servers.js'

/** @typedef {Awaited<ReturnType<typeof startCluster>>} Cluster */
/** @typedef {Awaited<ReturnType<typeof start>>} Node */

const LOOK_MS = 10_000
/** it asks all nodes over new connections */
const LOOK_EVERY_MS = 200

/**
 * @param {import('tap').Test} t
 * @param {{ engine: import('./servers.js').Engine, primaries?: number, replicas?: number, args?: string[], behind?: number }} options
 *   `replicas`: of each; `behind`: the index of a node that is announced at the port of a proxy
 */
export async function startCluster (t, { engine, primaries = 3, replicas = 1, args = [], behind }) {
  const nodes = await Promise.all(Array.from({ length: primaries * (1 + replicas) }, (_, i) =>
    start(t, { engine, args, isBehind: i === behind })))
  await formCluster(nodes, primaries)
  return {
    engine,
    nodes,
    primaries: nodes.slice(0, primaries),
    /** Replica i follows primary i modulo their number. */
    replicas: nodes.slice(primaries),
    /** Any node is enough. */
    url: nodes[0].url
  }
}

/** @param {import('tap').Test} t @param {{ engine: import('./servers.js').Engine, args?: string[], isBehind?: boolean }} options */
async function start (t, { engine, args = [], isBehind = false }) {
  const busPort = await freePort()
  const proxy = isBehind ? await startProxy(t, busPort) : null
  const announced = proxy ? ['--cluster-announce-port', String(proxy.port)] : []
  const server = await startServer(t, { engine, args: [...clusterArgs(busPort), ...announced, ...args] })
  proxy?.switchTo(server.port)
  return Object.assign(server, { busPort, proxy })
}

/**
 * Resolves when the cluster is whole: each primary has a replica that is in sync, and all nodes agree.
 * @param {Cluster} cluster @returns {Promise<Cluster>} its roles as they are now: replica i follows primary i
 */
export const healed = (cluster) => eventually(async () => {
  const { nodes } = cluster
  const seen = await Promise.all(nodes.map(look))
  const [{ slots }] = seen
  if (!seen.every((one) => one.isUp && JSON.stringify(one.slots) === JSON.stringify(slots))) return false
  const portOf = (/** @type {Node} */ { proxy, port }) => proxy?.port ?? port
  const ports = [...new Set(slots.map(({ owner }) => owner))]
  const primaries = ports.flatMap((port) => nodes.find((node) => portOf(node) === port) ?? [])
  const replicas = ports.flatMap((port) => nodes.find((_, i) => seen[i].follows === port) ?? [])
  return replicas.length === primaries.length && replicas.length === cluster.primaries.length && { ...cluster, primaries, replicas }
}, { everyMs: LOOK_EVERY_MS })

/** What a node knows. @param {Node} node */
async function look ({ url }) {
  const connection = await openConnection(url, { name: 'test', deadlineMs: LOOK_MS })
  try {
    const [[role, , port, state], info, slots] = await connection.sendAll([['ROLE'], ['CLUSTER', 'INFO'], ['CLUSTER', 'SLOTS']])
    return {
      isUp: /cluster_state:ok/.test(info),
      /** The port of its primary, while it is in sync; of a primary undefined. */
      follows: String(role) === 'slave' && String(state) === 'connected' ? Number(port) : undefined,
      slots: /** @type {any[]} */ (slots).map(([first, last, [, owner]]) => ({ first, last, owner })).sort((a, b) => a.first - b.first)
    }
  } finally {
    connection.close()
  }
}

/** Whether a node is a primary with slots, as another one sees it. @param {any} admin @param {Node} node */
export const ownsSlots = async (admin, { port }) =>
  (await admin.send('CLUSTER', 'SLOTS')).some((/** @type {any[]} */ [, , [, owner]]) => owner === port)

/** Slots of all keys that match a pattern. @param {import('tap').Test} t @param {Cluster} cluster @param {string} pattern */
export async function slotsOf (t, { primaries }, pattern) {
  const keys = await Promise.all(primaries.map(async ({ url }) => (await connectFor(t, url)).send('KEYS', pattern)))
  return [...new Set(keys.flat().map(slotOf))].sort((a, b) => a - b)
}

/**
 * Ends a primary, and starts it again when its replica has taken over.
 * @param {import('tap').Test} t @param {Cluster} cluster @param {{ shard: number, signal?: NodeJS.Signals }} how
 * @returns {Promise<number>} ms until a node that lives said so
 */
export async function replacePrimary (t, { primaries, replicas }, { shard, signal = 'SIGKILL' }) {
  const admin = await connectFor(t, replicas[shard].url)
  const sinceMs = performance.now()
  primaries[shard].process.kill(signal)
  await eventually(() => ownsSlots(admin, replicas[shard]))
  const tookMs = performance.now() - sinceMs
  await primaries[shard].restart()
  return Math.round(tookMs)
}

/** A planned failover. @param {import('tap').Test} t @param {Cluster} cluster @param {number} shard */
export async function failOver (t, { primaries, replicas }, shard) {
  const nodes = [replicas[shard], primaries[(shard + 1) % primaries.length]]
  const [admin, other] = await Promise.all(nodes.map(({ url }) => connectFor(t, url)))
  await eventually(async () => {
    await admin.send('CLUSTER', 'FAILOVER').catch(() => {})
    await pause(500)
    return ownsSlots(other, replicas[shard])
  })
}

/** A node without slots that joins. @param {import('tap').Test} t @param {Cluster} cluster */
export async function startNode (t, { engine, primaries }) {
  const node = await start(t, { engine })
  const [admin, own] = await Promise.all([connectFor(t, primaries[0].url), connectFor(t, node.url)])
  await admin.send('CLUSTER', 'MEET', '127.0.0.1', node.port, node.busPort)
  const id = String(await own.send('CLUSTER', 'MYID'))
  await eventually(async () => String(await own.send('CLUSTER', 'NODES')).split('master').length > primaries.length + 1 &&
    /cluster_state:ok/.test(await own.send('CLUSTER', 'INFO')))
  // others hear of it from each other
  for (const { url } of primaries) {
    const other = await connectFor(t, url)
    await eventually(async () => String(await other.send('CLUSTER', 'NODES')).includes(id))
  }
  return node
}

/**
 * Moves slots to another primary: atomically, which takes Valkey 9, or key by key.
 * @param {import('tap').Test} t @param {Pick<Cluster, 'primaries'>} cluster
 * @param {{ slots: number[], to: number, isAtomic: boolean, isTogether?: boolean }} move `to`: index of a primary
 */
export async function moveSlots (t, { primaries }, move) {
  const admins = await Promise.all(primaries.map(async ({ url, port }) => ({ admin: await connectFor(t, url), port })))
  await moveSlotsOf(admins, { ...move, mostFailures: Infinity })
}
