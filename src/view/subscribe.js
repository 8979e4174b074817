/**
 * Changes of a feed as they come, by asking a node again and again. What is promised depends on what a layout keeps: of
 * logs every version, in the order in which they arrived (subscribe-places.js); of the others what is newer by event time
 * (subscribe-times.js).
 *
 * @typedef {{ id: string, ts: number, value: Buffer, deleted: false, position: string }
 *   | { id: string, ts: number, value: null, deleted: true, position: string }} Change
 * @typedef {{ from?: string | null, signal: AbortSignal, pollMs: number, overlapMs: number, now: () => number }} Following
 */
import { layoutOf } from '../layouts/index.js'
import { patiently } from './patiently.js'
import { subscribeByPlace } from './subscribe-places.js'
import { subscribeByTime } from './subscribe-times.js'

const POLL_MS = 100
const OVERLAP_MS = 2000

/**
 * @param {() => Promise<import('./ask.js').Ask>} asking
 * @param {string} feed
 * @param {{ from?: string | null, signal: AbortSignal, pollMs?: number, overlapMs?: number, now?: () => number }} options
 *   `from`: a position; without it, what comes from now on; `overlapMs`: of layouts that are no logs. The iteration ends when
 *   `signal` is aborted
 * @returns {AsyncGenerator<Change>}
 * @throws {RangeError | import('../errors.js').FreshetError} POSITION_INVALID, POSITION_EXPIRED, FEED_UNKNOWN; while servers are gone
 *   it waits for them
 */
export async function * subscribe (asking, feed, { from, signal, pollMs = POLL_MS, overlapMs = OVERLAP_MS, now = Date.now }) {
  checkTime('pollMs', pollMs)
  checkTime('overlapMs', overlapMs)
  const ask = await patiently(asking, signal)
  if (ask === null) return
  const definition = await patiently(() => ask.definition(feed), signal)
  if (definition === null) return
  const follow = layoutOf(definition.layout).log ? subscribeByPlace : subscribeByTime
  yield * follow(ask, definition, { from, signal, pollMs, overlapMs, now })
}

/** @param {string} name @param {number} value */
function checkTime (name, value) {
  if (!(value >= 0 && value < 2 ** 31)) throw new RangeError(`${name} ${value}; expected milliseconds, 0 or more`)
}
