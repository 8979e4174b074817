/**
 * Changes of a feed as they come, by asking a node again and again. What is promised depends on what a layout keeps: of
 * logs every version, in the order in which they arrived (subscribe-places.js); of the others what is newer by event time
 * (subscribe-times.js).
 *
 * @typedef {{ id: string, ts: number, value: Buffer, deleted: false, position: string }
 *   | { id: string, ts: number, value: null, deleted: true, position: string }} Change
 * @typedef {{ from?: string | null, signal: AbortSignal, pollMs: number, overlapMs: number, now: () => number,
 *   patiently: import('./patiently.js').Patiently }} Following
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { layoutOf } from '../layouts/index.js'
import { createPatience } from './patiently.js'
import { subscribeByPlace } from './subscribe-places.js'
import { subscribeByTime } from './subscribe-times.js'

const POLL_MS = 100
const OVERLAP_MS = 2000
/** in which a deployment that has just found its primary finds replicas, too (store/deployment.js) */
const REPLICAS_WITHIN_MS = 500

/**
 * @param {() => Promise<import('./ask.js').Ask>} asking
 * @param {string} feed
 * @param {{ from?: string | null, signal: AbortSignal, log: import('./patiently.js').Log, pollMs?: number, overlapMs?: number,
 *   now?: () => number }} options `from`: a position; without it, what comes from now on; `log` hears why it waits; `overlapMs`: of
 *   layouts that are no logs. The iteration ends when `signal` is aborted
 * @returns {AsyncGenerator<Change>}
 * @throws {RangeError | import('../errors.js').FreshetError} POSITION_INVALID, POSITION_EXPIRED, FEED_UNKNOWN; REPLICAS_GONE where replicas are
 *   to be asked and the primary has none as it begins; while servers are gone it waits for them
 */
export async function * subscribe (asking, feed, { from, signal, log, pollMs = POLL_MS, overlapMs = OVERLAP_MS, now = Date.now }) {
  checkTime('pollMs', pollMs)
  checkTime('overlapMs', overlapMs)
  const patiently = createPatience({ feed, signal, log })
  const ask = await patiently(asking)
  if (ask === null) return
  await checkAnybody(ask, feed, signal)
  const definition = await patiently(() => ask.definition(feed))
  if (definition === null) return
  const follow = layoutOf(definition.layout).log ? subscribeByPlace : subscribeByTime
  yield * follow(ask, definition, { from, signal, pollMs, overlapMs, now, patiently })
}

/**
 * Where the primary is there and names no replica, nobody would ever answer.
 * @param {import('./ask.js').Ask} ask @param {string} feed @param {AbortSignal} signal
 */
async function checkAnybody (ask, feed, signal) {
  if (!isWithoutReplica(ask)) return
  await sleep(REPLICAS_WITHIN_MS, undefined, { signal }).catch(() => {})
  if (!signal.aborted && isWithoutReplica(ask)) await ask.definition(feed)
}

/** @param {import('./ask.js').Ask} ask @returns {boolean} whether replicas are to answer, and there is none */
function isWithoutReplica (ask) {
  const { ready, nodes } = ask.status()
  return !ready && nodes.some(({ state }) => state === 'up') && nodes.every(({ role }) => role === 'primary')
}

/** @param {string} name @param {number} value */
function checkTime (name, value) {
  if (!(value >= 0 && value < 2 ** 31)) throw new RangeError(`${name} ${value}; expected milliseconds, 0 or more`)
}
