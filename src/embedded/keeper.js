/** Starts servers again that ended, each on its port. */
import { setTimeout as pause } from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { untilInSync } from './server-process.js'

/** @typedef {import('./server-process.js').Server} Server */

/** before a restart, by how many there were within a minute: its port may be that of a client for a moment */
const WAITS_MS = [0, 250, 1000, 4000]
const MINUTE_MS = 60_000
const TAKEN_OVER_WITHIN_MS = 15_000
const LOOK_MS = 100

/**
 * @param {{ signal: AbortSignal, say: (event: import('./control-socket.js').SupervisorEvent) => void,
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
export async function untilTakenOver (node, primaries) {
  for (const endMs = performance.now() + TAKEN_OVER_WITHIN_MS; performance.now() < endMs; await pause(LOOK_MS)) {
    const owners = await primaries().catch(() => [node.port])
    if (!owners.includes(node.port)) return owners[0]
  }
  throw new FreshetError('SERVERS_FAILED', `the primary ${node.url} of the embedded servers ended, and no replica took over within ` +
    `${TAKEN_OVER_WITHIN_MS / 1000} s, so its items are lost; run the command again to start with empty servers`)
}
