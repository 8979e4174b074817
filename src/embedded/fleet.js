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
import { FreshetError } from '../errors.js'
import { openConnection } from '../store/index.js'
import { clusterArgs, formCluster } from './form-cluster.js'
import { freePort } from './free-port.js'
import { createGuard } from './guard.js'
import { createKeeper, untilTakenOver } from './keeper.js'
import { primaryPort, sentinelsUrl, startSentinels } from './sentinels.js'
import { spawnServer, startServer, untilInSync } from './server-process.js'

/** @typedef {import('./server-process.js').Server} Server */

/** of a cluster, and as many replicas */
const PRIMARIES = 3

/**
 * @param {{ folder: string, signal: AbortSignal, say: (event: import('./control-socket.js').SupervisorEvent) => void,
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
  const message = `the replica ${replica.url} ended ${how}`
  return new FreshetError('SERVERS_FAILED', message, { how: message })
}
