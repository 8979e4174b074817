import { createLatencies } from './latencies.js'
/**
 * Freshness: how long an item takes from when it was due to be appended until a response holds it or a newer one. Synthetic
 * items carry the millisecond in which they were due, so each response shows up to which time everything is visible:
 *
 *     due        ... 100  101  102  103  104 ...            each millisecond counts once, however many items it has
 *     responses        |         newest 103, received at 109     100, 101, 102 were visible after 9, 8 and 7 ms
 *
 * A response may hold only some items of its newest millisecond, so that one waits for the next response. A millisecond
 * counts from its start until the end of the response. So the result is never too short; it is too long by at most 1 ms, 1 ms
 * for the writer's clock, and the time between two responses, which is reported beside it.
 *
 * The times of the items are checked: at a steady pace, the time follows from the number.
 */

/** times are whole milliseconds, calculated in doubles */
const ROUNDING_MS = 0.01
/** clocks of two processes of one machine differ by less */
const CLOCKS_MS = 1
/** What is due at the end of the window must be visible before it is over. */
export const SEEN_WITHIN_MS = 500

/**
 * @typedef {object} Freshness ms
 * @property {number} p50
 * @property {number} p95
 * @property {number} p99
 * @property {number} max
 * @property {number} due milliseconds of the window in which items were due
 * @property {number} seen of them
 * @property {number} wentBack responses that held less than the one before
 * @property {import('./latencies.js').Percentiles} betweenMs two responses
 */

/** @param {{ fromMs: number, untilMs: number, ratePerSecond: number }} window milliseconds since 1970; the rate of each writer */
export function createFreshness ({ fromMs, untilMs, ratePerSecond }) {
  const first = Math.ceil(fromMs)
  const end = Math.max(first, Math.floor(untilMs))
  const times = createLatencies()
  const between = createLatencies()
  let next = first
  let newest = 0
  let wentBack = 0
  let lastMs = NaN
  /** bounds of each writer's start time, by the times and numbers of its items @type {Map<number, { least: number, most: number }>} */
  const began = new Map()

  /** @param {{ ts: number, writer: number, number: number }} item */
  function faultOfTime ({ ts, writer, number }) {
    const atMs = ts - number * 1000 / ratePerSecond
    const { least, most } = began.get(writer) ?? { least: atMs, most: atMs }
    began.set(writer, { least: Math.min(least, atMs), most: Math.max(most, atMs) })
    return Math.max(most, atMs) - Math.min(least, atMs) < 1 + ROUNDING_MS
      ? null
      : `number ${number} has time ${ts}, which does not fit the numbers and times before it`
  }

  return {
    /**
     * @param {{ ts: number, writer: number, number: number }} item the newest of a response
     * @param {number} receivedMs end of the response, ms since 1970
     * @returns {string | null} what is wrong with it
     */
    observe (item, receivedMs) {
      const { ts } = item
      if (lastMs >= fromMs) between.record(receivedMs - lastMs)
      lastMs = receivedMs
      if (!(ts <= receivedMs + CLOCKS_MS)) return `an item of ${ts} in a response received at ${receivedMs.toFixed(1)}, before it was due`
      const fault = faultOfTime(item)
      if (fault !== null) return fault
      if (ts < newest) wentBack++
      newest = Math.max(newest, ts)
      for (; next < end && next < ts; next++) times.record(receivedMs - next)
      return null
    },

    /** @returns {Freshness | null} null: nothing was seen */
    figures () {
      const [percentiles, betweenMs] = [times.percentiles(), between.percentiles()]
      return percentiles && betweenMs && { ...percentiles, due: end - first, seen: next - first, wentBack, betweenMs }
    }
  }
}
