/**
 * Keeps a connection to a server open: when one ends, the link opens the next (back-off.js), until closed. A session is of use
 * when it answered a request after it was prepared, or stayed open for a second.
 *
 * The place of a link may move: the primary of a slot, in a cluster. Then its session ends, and the next one opens at once.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { LONGEST_WAIT_MS, runSessions } from './back-off.js'
import { openConnection } from './connection.js'

const FIRST_WAIT_MS = 50

/** @typedef {{ map: import('./slot-map.js').SlotMap, url: () => string }} Place `url` may throw, when nothing is there now */
/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {import('./connection.js').Refusal} Refusal */
/** @typedef {ReturnType<typeof createLink>} Link */

/**
 * @param {string | Place} place
 * @param {{ name: string, deadlineMs: number, prepare?: (connection: Connection) => Promise<unknown>,
 *   onOpen?: (connection: Connection) => void, onClosed?: (reason: string) => void,
 *   onError?: (error: Error & { code?: string }) => void, onForbidden?: (refusal: Refusal) => void }} options
 *   `prepare` makes a session usable (checks the role, probes); when it rejects, the session ends. `onError` gets the
 *   reason of a failed attempt, once for each code in a row; `onForbidden` a request that the user may not make
 */
export function createLink (place, {
  name, deadlineMs, prepare = async () => {}, onOpen = () => {}, onClosed = () => {}, onError = () => {}, onForbidden
}) {
  const { map, url: urlOf } = typeof place === 'string' ? { map: undefined, url: () => place } : place
  const stop = new AbortController()
  /** of the attempt or session, or of the wait for the next one */
  let moving = new AbortController()
  let url = typeof place === 'string' ? place : place.map.seeds[0]
  let isWaiting = false
  /** @type {Connection | null} */
  let current = null
  /** @type {Error & { code?: string } | null} */
  let lastError = null
  let sessions = 0

  /** @type {{ resolve: (connection: Connection) => void, reject: (error: Error) => void }} */
  let first
  const opened = /** @type {Promise<Connection>} */ (new Promise((resolve, reject) => { first = { resolve, reject } }))
  opened.catch(() => {})

  /** Closing the link does not wait for a silent server. */
  async function open () {
    const { signal } = moving
    url = urlOf()
    const connection = await openConnection(url, { name, deadlineMs, onForbidden, map, signal })
    const giveUp = () => connection.close()
    signal.addEventListener('abort', giveUp, { once: true })
    try {
      await prepare(connection)
      if (map && map.seeds.length > 1 && !map.isCluster) {
        throw new FreshetError('SERVER_REFUSED', `the server at ${connection.address} is not a node of a cluster; several addresses are ` +
          'those of one cluster, so give one address')
      }
    } catch (error) {
      // the first node of a cluster
      if (error.code === 'CLUSTER_UNSUPPORTED') await map?.learn(connection)
      connection.close('not usable')
      throw error
    } finally {
      signal.removeEventListener('abort', giveUp)
    }
    return connection
  }

  function move () {
    let next
    try {
      next = urlOf()
    } catch {
      return
    }
    if (next !== url || isWaiting) moving.abort()
    if (next !== url) current?.close('its slot has moved to another node')
  }
  const unwatch = map?.watch(move)
  stop.signal.addEventListener('abort', () => moving.abort(), { once: true })

  /** @returns {Promise<import('./back-off.js').SessionOutcome>} */
  async function session () {
    if (!stop.signal.aborted) moving = new AbortController()
    try {
      return await live(await open())
    } catch (error) {
      if (stop.signal.aborted) return 'unused'
      if (map?.isCluster && (moving.signal.aborted || error.code === 'CLUSTER_UNSUPPORTED')) return 'used'
      map?.failed(url)
      failed(error)
      return error.retryable ? 'unused' : 'refused'
    }
  }

  /** @param {Connection} connection @returns {ReturnType<typeof session>} */
  async function live (connection) {
    if (stop.signal.aborted) {
      connection.close()
      return 'unused'
    }
    lastError = null
    current = connection
    sessions++
    const openedAt = performance.now()
    const before = connection.answered
    first.resolve(connection)
    onOpen(connection)
    const reason = await connection.closed
    current = null
    if (map?.isCluster && !moving.signal.aborted) map.failed(url)
    if (connection.refused) lastError = new FreshetError('SERVER_REFUSED', reason, { publicWhy: connection.publicWhy })
    if (!stop.signal.aborted) onClosed(reason)
    if (connection.refused) return 'refused'
    return connection.answered > before || performance.now() - openedAt > LONGEST_WAIT_MS ? 'used' : 'unused'
  }

  /** @param {Error & { code?: string }} error why there is no connection */
  function failed (error) {
    if (error.code !== lastError?.code) onError(error)
    lastError = error
    first.reject(error)
  }

  /** @param {number} ms */
  async function wait (ms) {
    isWaiting = true
    await sleep(ms, undefined, { signal: moving.signal }).catch(() => {})
    isWaiting = false
  }
  const kept = runSessions(session, { firstWaitMs: FIRST_WAIT_MS, signal: stop.signal, wait })

  return {
    /** Of the last attempt. */
    get url () { return url },
    /** Resolves with the first connection, rejects with the first failure; the link keeps trying. */
    opened,
    /** @returns {Connection | null} */
    get connection () { return current },
    /** Why there is no connection, if known. */
    get lastError () { return lastError },
    get sessions () { return sessions },
    async close () {
      stop.abort()
      unwatch?.()
      current?.close()
      await kept
      first.reject(new FreshetError('SERVER_LOST', `the link to ${new URL(url).host} was closed before it opened`))
    }
  }
}
