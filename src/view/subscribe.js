/**
 * Changes of a feed as they come, by polling the log of a node (log-subscription.js).
 *
 * @typedef {{ id: string, ts: number, value: Buffer, deleted: false, position: string }
 *   | { id: string, ts: number, value: null, deleted: true, position: string }} Change
 * @typedef {import('./subscription-retry.js').Log} Log
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { isFollowable, withoutLog } from '../feeds/index.js'
import { subscribeToLog } from './log-subscription.js'
import { createRetry } from './subscription-retry.js'

const POLL_MS = 100
/** a deployment finds replicas within this time after its primary (store/shard.js) */
const REPLICAS_WITHIN_MS = 500

/**
 * @param {() => Promise<import('./queries.js').Queries>} open
 * @param {string} feed
 * @param {{ from?: string | null, signal: AbortSignal, log: Log, pollMs?: number,
 *   wait?: boolean, onWaiting?: () => void, now?: () => number }} options `from`: a position; without it, changes from now on;
 *   `wait`: for a feed that does not exist; `onWaiting`: called when it waits for that. The
 *   iteration ends when `signal` is aborted
 * @returns {AsyncGenerator<Change>}
 * @throws {import('../errors.js').FreshetError} POSITION_INVALID, POSITION_EXPIRED, FEED_DEFINITION_DIFFERS; FEED_UNKNOWN without `wait`;
 *   REPLICAS_GONE if replicas are to answer and the primary has none at the start; while servers are unavailable it waits
 */
export async function * subscribe (open, feed, options) {
  const { from, signal, log, pollMs = POLL_MS, wait = false, onWaiting, now = Date.now } = options
  const retry = createRetry({ feed, signal, log })
  const queries = await retry(open)
  if (queries === null) return
  await checkReplicas(queries, feed, signal)
  let isNew = false
  const definition = await retry(() => queries.definition(feed)).catch((error) => {
    if (!wait || error.code !== 'FEED_UNKNOWN') throw error
    isNew = true
    onWaiting?.()
    return queries.untilFeed(feed, signal)
  })
  if (definition === null) return
  if (!isFollowable(definition)) throw withoutLog(definition, { log: 1 })
  yield * subscribeToLog(queries, definition, { from, isNew, signal, pollMs, now, retry })
}

/**
 * Fails where a reachable primary names no replica to read from, as waiting may never end.
 * @param {import('./queries.js').Queries} queries @param {string} feed @param {AbortSignal} signal
 */
async function checkReplicas (queries, feed, signal) {
  if (!isWithoutReplica(queries)) return
  await sleep(REPLICAS_WITHIN_MS, undefined, { signal }).catch(() => {})
  if (!signal.aborted && isWithoutReplica(queries)) await queries.definition(feed)
}

/** @param {import('./queries.js').Queries} queries @returns {boolean} whether replicas are to answer, and there is none */
function isWithoutReplica (queries) {
  const { ready, nodes } = queries.status()
  return !ready && nodes.some(({ state }) => state === 'up') && nodes.every(({ role }) => role === 'primary')
}
