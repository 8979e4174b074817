/**
 * The servers of one supervisor: a primary and its replicas, or a cluster, and the guard that knows their process ids.
 *
 * A dead replica is restarted on its port, if `revives`. A dead primary is not: it would restart empty, and its replicas would
 * drop all data to follow it. So when it ends, all servers end. In a cluster a replica takes over; then the node is restarted, and
 * follows it.
 *
 * Servers are stopped with SIGKILL: they hold no persistent data, and an orderly shutdown waits for replicas.
 */
import { rm } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { openConnection } from '../store/index.js'
import { clusterArgs, formCluster } from './form-cluster.js'
import { freePort } from './free-port.js'
import { createGuard } from './guard.js'
import { spawnServer, startServer, untilInSync } from './server-process.js'

/** @typedef {import('./server-process.js').Server} Server */

const RESTARTS_A_MINUTE = 4
const MINUTE_MS = 60_000
/** of a cluster, and as many replicas */
const PRIMARIES = 3
const TAKEN_OVER_WITHIN_MS = 15_000
const LOOK_MS = 100

/**
 * @param {{ folder: string, signal: AbortSignal, say: (event: import('./door.js').SupervisorEvent) => void,
 *   fail: (error: Error & { how?: string }) => void, revives?: boolean }} options `folder` holds a folder for each server; after
 *   `signal` no server stays running; `fail` is called when the servers cannot go on, with `how` naming the server that ended;
 *   `revives`: a dead replica is restarted, otherwise its end is a failure too
 */
export function createFleet ({ folder, signal, say, fail, revives = true }) {
  /** @type {Set<Server>} */
  const running = new Set()
  const guard = createGuard()
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
   * @param {string} program
   * @param {number} count of replicas
   * @returns {Promise<{ primaries: [string], replicas: string[] }>} addresses, when all answer and are in sync
   * @throws {FreshetError} SERVERS_FAILED
   */
  async function start (program, count) {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    const primary = await startServer({ program, folder, onSpawn: add })
    primary.exited.then((how) => fail(primaryDied(primary, how)))
    const plan = { program, folder, replicaOf: primary }
    const replicas = await Promise.all(Array.from({ length: count }, () => startServer({ ...plan, onSpawn: add })))
    await Promise.all(replicas.map(untilInSync))
    for (const replica of replicas) {
      if (revives) keepUp(replica, () => spawnServer({ ...plan, port: replica.port })).catch(fail)
      else replica.exited.then((how) => fail(replicaDied(replica, how)))
    }
    return { primaries: [primary.url], replicas: replicas.map((replica) => replica.url) }
  }

  /**
   * @param {string} program
   * @returns {Promise<{ primaries: string[], replicas: string[] }>} addresses, once the cluster serves all slots
   * @throws {FreshetError} SERVERS_FAILED
   */
  async function startCluster (program) {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    const nodes = await Promise.all(Array.from({ length: 2 * PRIMARIES }, async () => {
      const busPort = await freePort()
      const plan = { program, folder, args: clusterArgs(busPort) }
      return { plan, busPort, ...await startServer({ ...plan, onSpawn: add }) }
    }))
    await formCluster(nodes, PRIMARIES)
    const urls = nodes.map(({ url }) => url)
    for (const node of nodes) {
      const others = urls.filter((url) => url !== node.url)
      keepUp(node, () => spawnServer({ ...node.plan, port: node.port }), () => untilTakenOver(node, others)).catch(fail)
    }
    return { primaries: urls.slice(0, PRIMARIES), replicas: urls.slice(PRIMARIES) }
  }

  /**
   * @param {Server} replica @param {() => Server} respawn
   * @param {() => Promise<void>} [mayRespawn] of a node of a cluster, which may be a primary
   */
  async function keepUp (replica, respawn, mayRespawn) {
    const { url } = replica
    const what = mayRespawn ? 'node' : 'replica'
    for (let restarts = 1, recent = /** @type {number[]} */ ([]); ; restarts++) {
      const how = await replica.exited
      if (signal.aborted) return
      const waitMs = recent.length < RESTARTS_A_MINUTE ? 0 : Math.max(0, recent[0] + MINUTE_MS - Date.now())
      const when = waitMs ? ` in ${Math.ceil(waitMs / 1000)} s` : ''
      say({ event: 'replica', url, state: 'down', restarts, message: `the ${what} ${url} ended ${how}; restarting it${when}` })
      await Promise.all([pause(waitMs, null, { signal }), mayRespawn?.()])
      recent = [...recent, Date.now()].slice(-RESTARTS_A_MINUTE)
      replica = respawn()
      add(replica)
      untilInSync(replica).then(
        () => say({ event: 'replica', url, state: 'in sync', restarts, message: `the ${what} ${url} is in sync again` }),
        (error) => { if (!signal.aborted) say({ event: 'report', message: error.message }) })
    }
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

/**
 * Resolves when a node that ended has no slots any more: restarted with slots, it would be an empty primary, and its replicas would
 * drop all data.
 * @param {Server} node @param {string[]} others @throws {FreshetError} SERVERS_FAILED
 */
async function untilTakenOver (node, others) {
  for (const endMs = performance.now() + TAKEN_OVER_WITHIN_MS; performance.now() < endMs; await pause(LOOK_MS)) {
    const owners = await Promise.any(others.map(primaryPorts)).catch(() => [node.port])
    if (!owners.includes(node.port)) return
  }
  throw new FreshetError('SERVERS_FAILED', `the primary ${node.url} of the embedded cluster ended, and no replica took over within ` +
    `${TAKEN_OVER_WITHIN_MS / 1000} s, so its items are lost; run the command again to start with empty servers`)
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
  const message = `the replica ${replica.url} ended ${how}`
  return new FreshetError('SERVERS_FAILED', message, { how: message })
}
