/**
 * The servers of one supervisor: a primary and its replicas, or a cluster, and the guard that knows their process ids.
 *
 * A dead replica is restarted on its port, if `revives`. A dead primary is not: it would restart empty, and its replicas would
 * drop all data to follow it. So when it ends, all servers end. In a cluster, and with Sentinels, a replica takes over; then the node is
 * restarted, and follows it.
 *
 * Servers are stopped with SIGKILL: they hold no persistent data, and an orderly shutdown waits for replicas.
 */
import { rm } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { openConnection, SLOTS } from '../store/index.js'
import { createGuard, freePort, spawnServer, startServer, untilInSync } from './server-process.js'

/** Sentinels of the embedded servers: how they are configured, and which primary they name. */

const SENTINELS = 3
const NAME = 'freshet'
const READY_WITHIN_MS = 30_000
const SYNC_LOOK_MS = 50

/** Lines of their configuration. @param {{ port: number }} primary */
const sentinelConfig = ({ port }) => `bind 127.0.0.1
protected-mode yes
sentinel monitor ${NAME} 127.0.0.1 ${port} 2
sentinel down-after-milliseconds ${NAME} 1000
sentinel failover-timeout ${NAME} 10000
sentinel parallel-syncs ${NAME} 2
`

/** @param {{ port: number }[]} sentinels @returns {string} a value of --redis-url */
export const sentinelsUrl = (sentinels) => `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${NAME}`

/**
 * @param {Parameters<typeof startServer>[0]} plan @param {Server} primary @param {number} replicas how many it has
 * @returns {Promise<Server[]>} when each knows the replicas and the others @throws {FreshetError} SERVERS_FAILED
 */
export async function startSentinels (plan, primary, replicas) {
  const watch = { ...plan, sentinelConfig: sentinelConfig(primary) }
  const sentinels = await Promise.all(Array.from({ length: SENTINELS }, () => startServer(watch)))
  const pattern = new RegExp(`status=ok,address=[^,]+,slaves=${replicas},sentinels=${SENTINELS}`)
  for (const endMs = performance.now() + READY_WITHIN_MS; performance.now() < endMs; await pause(SYNC_LOOK_MS)) {
    const infos = await Promise.all(sentinels.map((sentinel) => ask(sentinel, 'INFO', 'sentinel').then(String, () => '')))
    if (infos.every((info) => pattern.test(info))) return sentinels
  }
  throw new FreshetError('SERVERS_FAILED',
    `the Sentinels did not find all replicas within ${READY_WITHIN_MS / 1000} s; run the command again`)
}

/** @param {{ url: string }[]} sentinels @returns {Promise<number>} the port of the primary, as one of them names it */
const primaryPort = (sentinels) => Promise.any(sentinels.map(async (sentinel) =>
  Number((await ask(sentinel, 'SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME))[1])))

/** @param {{ url: string }} sentinel @param {string} command @param {...string} args */
async function ask ({ url }, command, ...args) {
  const connection = await openConnection(url, { name: 'freshet-supervisor', deadlineMs: 1000 })
  return connection.send(command, ...args).finally(() => connection.close())
}

/**
 * Makes a cluster of running servers, by plain commands: the pinned engine has no command-line client. The slots are split evenly, and
 * each primary gets the same number of replicas.
 */

const DEADLINE_MS = 30_000
const POLL_MS = 20

/** of each node: failovers begin after the first, and one shard that is away does not stop the others */
export const clusterArgs = (/** @type {number} */ busPort) => ['--cluster-enabled', 'yes', '--cluster-port', String(busPort),
  '--cluster-node-timeout', '2000', '--cluster-require-full-coverage', 'no', '--cluster-allow-replica-migration', 'no',
  '--cluster-announce-ip', '127.0.0.1']

/** @typedef {{ url: string, port: number, busPort: number }} Node */

/**
 * @param {Node[]} nodes primaries first; replica i follows primary i modulo their number
 * @param {number} primaries
 * @param {{ isUneven?: boolean }} [options] `isUneven`: the first has all slots but one for each of the others
 * @throws {FreshetError} SERVERS_FAILED after half a minute
 */
export async function formCluster (nodes, primaries, { isUneven = false } = {}) {
  const connections = await Promise.all(nodes.map(({ url }) =>
    openConnection(url, { name: 'freshet-supervisor', deadlineMs: DEADLINE_MS })))
  try {
    const bound = (/** @type {number} */ i) =>
      isUneven ? Math.max(0, SLOTS - (primaries - i)) * Math.sign(i) : Math.round(i * SLOTS / primaries)
    await Promise.all(connections.map((connection, i) => connection.send('CLUSTER', 'SET-CONFIG-EPOCH', i + 1)))
    await Promise.all(connections.slice(0, primaries).map((connection, i) =>
      connection.send('CLUSTER', 'ADDSLOTSRANGE', bound(i), bound(i + 1) - 1)))
    for (const { port, busPort } of nodes.slice(1)) await connections[0].send('CLUSTER', 'MEET', '127.0.0.1', port, busPort)
    const tables = connections.map((connection) => async () => String(await connection.send('CLUSTER', 'NODES')))
    await Promise.all(tables.map((table) => until(async () => {
      const lines = (await table()).trim().split('\n')
      return lines.length === nodes.length && !lines.some((line) => /handshake|noaddr/.test(line))
    }, 'know each other')))
    const ids = await Promise.all(connections.slice(0, primaries).map(async (connection) =>
      String(await connection.send('CLUSTER', 'MYID'))))
    await Promise.all(connections.slice(primaries).map((connection, i) =>
      until(async () => String(await connection.send('CLUSTER', 'REPLICATE', ids[i % primaries])) === 'OK', 'follow their primaries')))
    await Promise.all(connections.map((connection, i) => until(async () => {
      const [info, replication, slots] = await connection.sendAll([['CLUSTER', 'INFO'], ['INFO', 'replication'], ['CLUSTER', 'SLOTS']])
      const isWhole = slots.length === primaries && slots.every((/** @type {any[]} */ row) => row.length - 2 === nodes.length / primaries)
      return /cluster_state:ok/.test(info) && isWhole && (i < primaries || /master_link_status:up/.test(replication))
    }, 'form a cluster')))
  } finally {
    for (const connection of connections) connection.close()
  }
}

/** @param {() => Promise<boolean>} check may fail for a while @param {string} what */
async function until (check, what) {
  /** @type {Error | undefined} */
  let failure
  for (const endMs = performance.now() + DEADLINE_MS; performance.now() < endMs; await pause(POLL_MS)) {
    try {
      if (await check()) return
    } catch (error) {
      failure = error
    }
  }
  const why = failure ? `: ${failure.message}` : ''
  throw new FreshetError('SERVERS_FAILED', `the servers did not ${what} within ${DEADLINE_MS / 1000} s${why}; run the command again`)
}

/** Starts servers again that ended, each on its port. */

/** before a restart, by how many there were within a minute: its port may be that of a client for a moment */
const WAITS_MS = [0, 250, 1000, 4000]
const MINUTE_MS = 60_000
const TAKEN_OVER_WITHIN_MS = 15_000
const LOOK_MS = 100

/**
 * @param {{ signal: AbortSignal, say: (event: import('./supervisor-process.js').SupervisorEvent) => void,
 *   add: (server: Server) => void }} parts after `signal` no server is started; `add` is called with each that is
 */
export function createKeeper ({ signal, say, add }) {
  /**
   * @param {Server} replica @param {() => Server} respawn
   * @param {() => Promise<unknown>} [mayRespawn] of a node of a cluster, which may be a primary
   */
  return async function keepUp (replica, respawn, mayRespawn) {
    const { url } = replica
    const what = mayRespawn ? 'node' : 'replica'
    for (let restarts = 1, recent = /** @type {number[]} */ ([]); ; restarts++) {
      const how = await replica.exited
      if (signal.aborted) return
      recent = recent.filter((atMs) => atMs > Date.now() - MINUTE_MS)
      const waitMs = WAITS_MS[recent.length] ?? recent[0] + MINUTE_MS - Date.now()
      const when = waitMs ? ` in ${Math.ceil(waitMs / 1000)} s` : ''
      say({ event: 'replica', url, state: 'down', restarts, message: `the ${what} ${url} ended ${how}; restarting it${when}` })
      await Promise.all([pause(waitMs, null, { signal }), mayRespawn?.()])
      recent = [...recent, Date.now()].slice(-WAITS_MS.length)
      replica = respawn()
      add(replica)
      untilInSync(replica).then(
        () => say({ event: 'replica', url, state: 'in sync', restarts, message: `the ${what} ${url} is in sync again` }),
        (error) => { if (!signal.aborted) say({ event: 'report', message: error.message }) })
    }
  }
}

/**
 * Resolves when a node that ended is no primary any more: restarted as one it would be empty, and its replicas would drop all data.
 * @param {Server} node @param {() => Promise<number[]>} primaries their ports @returns {Promise<number>} one of them
 * @throws {FreshetError} SERVERS_FAILED
 */
async function untilTakenOver (node, primaries) {
  for (const endMs = performance.now() + TAKEN_OVER_WITHIN_MS; performance.now() < endMs; await pause(LOOK_MS)) {
    const owners = await primaries().catch(() => [node.port])
    if (!owners.includes(node.port)) return owners[0]
  }
  throw new FreshetError('SERVERS_FAILED', `the primary ${node.url} of the embedded servers ended, and no replica took over within ` +
    `${TAKEN_OVER_WITHIN_MS / 1000} s, so its items are lost; run the command again to start with empty servers`)
}

/** @typedef {import('./server-process.js').Server} Server */

/** of a cluster, and as many replicas */
const PRIMARIES = 3

/**
 * @param {{ folder: string, signal: AbortSignal, say: (event: import('./supervisor-process.js').SupervisorEvent) => void,
 *   fail: (error: Error & { how?: string }) => void, revives?: boolean }} options `folder` holds a folder for each server; after
 *   `signal` no server stays running; `fail` is called when the servers cannot go on, with `how` naming the server that ended;
 *   `revives`: a dead replica is restarted, otherwise its end is a failure too
 */
export function createFleet ({ folder, signal, say, fail, revives = true }) {
  /** @type {Set<Server>} */
  const running = new Set()
  const guard = createGuard()
  const keepUp = createKeeper({ signal, say, add })
  const tellGuard = () => guard.watch([...running].map((server) => server.pid).filter((pid) => pid > 0))

  /** @param {Server} server */
  function add (server) {
    running.add(server)
    tellGuard()
    server.exited.then(() => {
      running.delete(server)
      tellGuard()
    })
    if (signal.aborted) server.kill()
  }

  /**
   * @param {string} program @param {number} count of replicas @param {{ hasSentinels?: boolean }} [options] three that watch them
   * @returns {Promise<{ primaries: [string], replicas: string[], sentinel?: string }>} addresses, when all answer and are in sync;
   *   `sentinel`: a value of --redis-url
   * @throws {FreshetError} SERVERS_FAILED
   */
  async function start (program, count, { hasSentinels = false } = {}) {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    const plan = { program, folder, onSpawn: add }
    const primary = await startServer(plan)
    if (!hasSentinels) primary.exited.then((how) => fail(primaryDied(primary, how)))
    const replicas = await Promise.all(Array.from({ length: count }, () => startServer({ ...plan, replicaOf: primary })))
    await Promise.all(replicas.map(untilInSync))
    const urls = { primaries: /** @type {[string]} */ ([primary.url]), replicas: replicas.map(({ url }) => url) }
    if (hasSentinels) return { ...urls, sentinel: await watchBySentinels(plan, primary, replicas) }
    for (const replica of replicas) {
      if (revives) keepUp(replica, () => spawnServer({ ...plan, replicaOf: primary, port: replica.port })).catch(fail)
      else replica.exited.then((how) => fail(replicaDied(replica, how)))
    }
    return urls
  }

  /** @param {Parameters<typeof startServer>[0]} plan @param {Server} primary @param {Server[]} replicas @returns {Promise<string>} */
  async function watchBySentinels (plan, primary, replicas) {
    const sentinels = await startSentinels(plan, primary, replicas.length)
    for (const node of [primary, ...replicas]) {
      let replicaOf = { port: primary.port }
      keepUp(node, () => spawnServer({ ...plan, replicaOf, port: node.port }), async () => {
        replicaOf = { port: await untilTakenOver(node, async () => [await primaryPort(sentinels)]) }
      }).catch(fail)
    }
    return sentinelsUrl(sentinels)
  }

  /**
   * @param {string} program @param {{ isUneven?: boolean }} [options] as formCluster
   * @returns {Promise<{ primaries: string[], replicas: string[] }>} addresses, once the cluster serves all slots
   * @throws {FreshetError} SERVERS_FAILED
   */
  async function startCluster (program, options) {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    const nodes = await Promise.all(Array.from({ length: 2 * PRIMARIES }, async () => {
      const busPort = await freePort()
      const plan = { program, folder, args: clusterArgs(busPort) }
      return { plan, busPort, ...await startServer({ ...plan, onSpawn: add }) }
    }))
    await formCluster(nodes, PRIMARIES, options)
    const urls = nodes.map(({ url }) => url)
    for (const node of nodes) {
      const others = urls.filter((url) => url !== node.url)
      const isTakenOver = () => untilTakenOver(node, () => Promise.any(others.map(primaryPorts)))
      keepUp(node, () => spawnServer({ ...node.plan, port: node.port }), isTakenOver).catch(fail)
    }
    return { primaries: urls.slice(0, PRIMARIES), replicas: urls.slice(PRIMARIES) }
  }

  const kill = () => Promise.all([...running].map((server) => server.kill()))

  /** Stops all servers. To be called after `start` has settled. */
  async function close () {
    await kill()
    guard.release()
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }

  return { start, startCluster, kill, close }
}

/** Ports of the primaries that have slots, as a node sees it. @param {string} url @returns {Promise<number[]>} */
async function primaryPorts (url) {
  const connection = await openConnection(url, { name: 'freshet-supervisor', deadlineMs: 1000 })
  return connection.send('CLUSTER', 'SLOTS').then((rows) => rows.map((/** @type {any[]} */ [, , [, port]]) => port))
    .finally(() => connection.close())
}

/** @param {Server} primary @param {string} how */
const primaryDied = (primary, how) => new FreshetError('SERVERS_FAILED',
  `the primary of the embedded servers (${primary.url}) ended ${how}, and its items are lost, so the replicas were stopped too; ` +
  'run the command again to start with empty servers',
  { how: `the primary ${primary.url} ended ${how}` })

/** @param {Server} replica @param {string} how */
function replicaDied (replica, how) {
  const ended = `the replica ${replica.url} ended ${how}`
  return new FreshetError('SERVERS_FAILED', `${ended}; run the command again`, { how: ended })
}
