/**
 * The servers of one supervisor: a primary, its replicas, and the guard that knows their process ids.
 *
 * A dead replica is restarted on its port, if `revives`. A dead primary is not: it would restart empty, and its replicas would
 * drop all data to follow it. So when it ends, all servers end.
 *
 * Servers are stopped with SIGKILL: they hold no persistent data, and an orderly shutdown waits for replicas.
 */
import { rm } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { createGuard } from './guard.js'
import { spawnServer, startServer, untilInSync } from './server-process.js'

/** @typedef {import('./server-process.js').Server} Server */

const RESTARTS_A_MINUTE = 4
const MINUTE_MS = 60_000

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
   * @returns {Promise<{ primary: string, replicas: string[] }>} addresses, when all answer and are in sync
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
    return { primary: primary.url, replicas: replicas.map((replica) => replica.url) }
  }

  /** @param {Server} replica @param {() => Server} respawn */
  async function keepUp (replica, respawn) {
    const { url } = replica
    for (let restarts = 1, recent = /** @type {number[]} */ ([]); ; restarts++) {
      const how = await replica.exited
      if (signal.aborted) return
      const waitMs = recent.length < RESTARTS_A_MINUTE ? 0 : Math.max(0, recent[0] + MINUTE_MS - Date.now())
      const when = waitMs ? ` in ${Math.ceil(waitMs / 1000)} s` : ''
      say({ event: 'replica', url, state: 'down', restarts, message: `the replica ${url} ended ${how}; restarting it${when}` })
      await pause(waitMs, null, { signal })
      recent = [...recent, Date.now()].slice(-RESTARTS_A_MINUTE)
      replica = respawn()
      add(replica)
      untilInSync(replica).then(
        () => say({ event: 'replica', url, state: 'in sync', restarts, message: `the replica ${url} is in sync again` }),
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

  return { start, kill, close }
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
