/**
 * Keeps a connection to a server open: when one ends, the link opens the next, after a wait, until closed. A session is of use
 * when it answered a request after it was prepared, or stayed open for a second.
 *
 * The target of a link is one address, or the primary of a key, which moves in a cluster. When it moves, the attempt, session or wait ends,
 * and the next session opens at once.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { openConnection } from './connection.js'

/** One session after the other, with waits in between. */

/** The longest wait, unless the server refused. */
const LONGEST_WAIT_MS = 1000
/** after SERVER_REFUSED and SERVER_UNTRUSTED */
const REFUSED_WAIT_MS = 1000

/** @typedef {'used' | 'unused' | 'refused'} SessionOutcome whether a session was of use, or the server refused it */

/**
 * Runs sessions until `signal`. The wait between them doubles up to a second, with jitter, so that many processes do not
 * reconnect at the same instant. It starts over after a session that was of use. After a refusal it is a second or more.
 * @param {() => Promise<SessionOutcome>} session
 * @param {{ firstWaitMs: number, signal: AbortSignal, wait?: (ms: number) => Promise<unknown> }} options `wait` may end sooner
 */
export async function runSessions (session, { firstWaitMs, signal, wait = (ms) => sleep(ms, undefined, { signal }).catch(() => {}) }) {
  let waitMs = firstWaitMs
  while (!signal.aborted) {
    const outcome = await session()
    if (outcome === 'used') waitMs = firstWaitMs
    const jitteredMs = outcome === 'refused' ? REFUSED_WAIT_MS * (1 + Math.random() / 4) : waitMs * (0.5 + Math.random() / 2)
    await wait(jitteredMs)
    waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)
  }
}

const FIRST_WAIT_MS = 50
const MOVED = 'its slot has moved to another node'
const REPLACED = 'the Sentinels name another primary'

/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {import('./connection.js').Refusal} Refusal */
/** @typedef {ReturnType<typeof createLink>} Link */
/**
 * @typedef {{ map: import('./slot-map.js').SlotMap, url: () => string, isNode?: boolean }} Target `url` may throw, when nothing is there
 *   now; `isNode`: a replica, which is connected to also while the primary is not found
 */

/**
 * @param {string | Target} target
 * @param {{ name: string, deadlineMs: number, prepare?: (connection: Connection) => Promise<unknown>,
 *   onOpen?: (connection: Connection) => void, onClosed?: (reason: string) => void,
 *   onError?: (error: Error & { code?: string }) => void, onForbidden?: (refusal: Refusal) => void }} options
 *   `prepare` makes a session usable (checks the role, probes); when it rejects, the session ends. `onError` gets the
 *   reason of a failed attempt, once for each code in a row; `onForbidden` a request that the user may not make
 */
export function createLink (target, {
  name, deadlineMs, prepare = async () => {}, onOpen = () => {}, onClosed = () => {}, onError = () => {}, onForbidden
}) {
  const stop = new AbortController()
  const moves = createMoves(target, () => current?.close(map?.isCluster ? MOVED : REPLACED))
  const { map, isNode } = moves
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
    const { signal } = moves
    const connection = await openConnection(moves.look(), { name, deadlineMs, onForbidden, map, signal })
    const giveUp = () => connection.close()
    signal.addEventListener('abort', giveUp, { once: true })
    try {
      await prepare(connection)
      map?.expectCluster(connection)
    } catch (error) {
      // the first node of a cluster knows where the slots are
      const learnt = error.code === 'CLUSTER_UNSUPPORTED' ? map?.learn(connection) : undefined
      const failure = await learnt?.catch((reason) => reason)
      connection.close('not usable')
      throw failure ?? error
    } finally {
      signal.removeEventListener('abort', giveUp)
    }
    return connection
  }

  /** @returns {Promise<SessionOutcome>} */
  async function session () {
    try {
      if (!isNode) await located(map, stop.signal)
      moves.begin()
      return await live(await open())
    } catch (error) {
      if (stop.signal.aborted) return 'unused'
      if (map?.isCluster && (moves.signal.aborted || error.code === 'CLUSTER_UNSUPPORTED')) return 'used'
      map?.failed(moves.url)
      failed(error)
      return error.retryable ? 'unused' : 'refused'
    }
  }

  /** @param {Connection} connection @returns {ReturnType<typeof session>} */
  async function live (connection) {
    if (stop.signal.aborted) return connection.close() ?? 'unused'
    lastError = null
    current = connection
    sessions++
    const [openedAt, before] = [performance.now(), connection.answered]
    first.resolve(connection)
    onOpen(connection)
    const reason = await connection.closed
    current = null
    if (!moves.signal.aborted) map?.failed(moves.url)
    if (connection.refused) lastError = new FreshetError('SERVER_REFUSED', reason, { publicWhy: connection.publicWhy })
    if (!stop.signal.aborted) onClosed(reason)
    if (connection.refused) return 'refused'
    return connection.answered > before || performance.now() - openedAt > LONGEST_WAIT_MS ? 'used' : 'unused'
  }

  /** @param {Error & { code?: string }} error why there is no connection */
  function failed (error) {
    if (error.code !== lastError?.code) onError(error)
    lastError = error
    // another address may lead to a node
    if (error.code !== 'SERVER_UNREACHABLE' || !map?.hasUntried) first.reject(error)
  }

  const kept = runSessions(session, { firstWaitMs: FIRST_WAIT_MS, signal: stop.signal, wait: moves.wait })

  return {
    /** Of the last attempt. */
    get url () { return moves.url },
    /** Resolves with the first connection, rejects with the first failure; the link keeps trying. */
    opened,
    /** @returns {Connection | null} */
    get connection () { return current },
    /** Why there is no connection, if known. */
    get lastError () { return lastError },
    get sessions () { return sessions },
    async close () {
      stop.abort()
      moves.end()
      current?.close()
      await kept
      first.reject(new FreshetError('SERVER_LOST', `the link to ${new URL(moves.url).host} was closed before it opened`))
    }
  }
}

/**
 * Resolves when the primary is found.
 * @param {Target['map'] | undefined} map @param {AbortSignal} signal gives up @throws {FreshetError} as the map
 */
async function located (map, signal) {
  const over = new AbortController()
  const aborted = new Promise((resolve, reject) => signal.addEventListener('abort', reject, { once: true, signal: over.signal }))
  await Promise.race([map?.locate(), aborted]).finally(() => over.abort())
}

/** @param {string | Target} target @param {() => void} onMoved */
function createMoves (target, onMoved) {
  const { map, url: urlOf, isNode = false } = typeof target === 'string' ? { map: undefined, url: () => target } : target
  let url = typeof target === 'string' ? target : target.map.seeds[0]
  /** of the attempt or session, or of the wait for the next one */
  let moving = new AbortController()
  let isWaiting = false
  let isOver = false

  const unwatch = map?.watch(() => {
    let next = url
    // no primary has the slot now: the last one may get it back
    try { next = urlOf() } catch {}
    if (next !== url || isWaiting) moving.abort()
    if (next !== url) onMoved()
  })

  return {
    map,
    isNode,
    /** Of the last attempt. */
    get url () { return url },
    /** Aborted when the target moves, or after `end`. @returns {AbortSignal} */
    get signal () { return moving.signal },
    /** Looks where the target is now. @returns {string} */
    look () {
      url = urlOf()
      return url
    },
    /** A new attempt begins. */
    begin () { if (!isOver) moving = new AbortController() },
    /** @param {number} ms at most */
    async wait (ms) {
      isWaiting = true
      await sleep(ms, undefined, { signal: moving.signal }).catch(() => {})
      isWaiting = false
    },
    end () {
      isOver = true
      unwatch?.()
      moving.abort()
    }
  }
}
