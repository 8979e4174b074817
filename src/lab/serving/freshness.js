/**
 * How long an item takes from when it should have been appended until an answer holds it or a newer one. The items of the
 * synthetic source carry the millisecond in which they were due, so each answer tells up to which time everything is
 * visible:
 *
 *     due      ... 100  101  102  103  104 ...              a millisecond counts once, whatever number of items it has
 *     answers        |         newest 103: heard at 109     100, 101, 102 are seen, 9, 8 and 7 ms after they began
 *
 * Of the newest millisecond itself an answer may hold a part only, so it waits for the next answer. A millisecond is counted
 * from its beginning, and seen when the end of an answer has come: so what is told is never shorter than it was, and longer
 * by at most 1 ms, another for the clock of the writer, and the time between two answers, which is told beside it.
 *
 * That an item carries the time at which it was due is checked: with a steady pace the time follows from its number.
 */
import { build } from 'hdr-histogram-js'
import { percentilesOf } from './asking.js'

const MICROS = 1000
const MAX_MICROS = 3600 * 1000 * MICROS
/** times are whole milliseconds, and reckoned in doubles */
const ROUNDING_MS = 0.01
/** clocks of two processes of one machine differ by less */
const CLOCKS_MS = 1
/** What is due at the end of the window must have been seen before it is over. */
export const SEEN_WITHIN_MS = 500

/**
 * @typedef {object} Freshness ms
 * @property {number} p50
 * @property {number} p95
 * @property {number} p99
 * @property {number} max
 * @property {number} due milliseconds of the window in which items were due
 * @property {number} seen of them
 * @property {number} wentBack answers that held less than the one before
 * @property {{ p50: number, p95: number, p99: number, max: number }} betweenMs two answers
 */

/** @param {{ fromMs: number, untilMs: number, ratePerSecond: number }} window milliseconds since 1970; the rate of each writer */
export function createFreshness ({ fromMs, untilMs, ratePerSecond }) {
  const first = Math.ceil(fromMs)
  const end = Math.max(first, Math.floor(untilMs))
  const times = histogram()
  const between = histogram()
  let next = first
  let newest = 0
  let wentBack = 0
  let lastMs = NaN
  /** of each writer: between these lies when it began, by the times and numbers of its items @type {Map<number, { least: number, most: number }>} */
  const began = new Map()

  /** @param {{ ts: number, writer: number, number: number }} item */
  function faultOfTime ({ ts, writer, number }) {
    const atMs = ts - number * 1000 / ratePerSecond
    const { least, most } = began.get(writer) ?? { least: atMs, most: atMs }
    began.set(writer, { least: Math.min(least, atMs), most: Math.max(most, atMs) })
    return Math.max(most, atMs) - Math.min(least, atMs) < 1 + ROUNDING_MS ? null : `number ${number} has time ${ts}; by the numbers and times before it should have another`
  }

  return {
    /**
     * @param {{ ts: number, writer: number, number: number }} item the newest of an answer
     * @param {number} heardMs its end, ms since 1970
     * @returns {string | null} what is wrong with it
     */
    heard (item, heardMs) {
      const { ts } = item
      if (lastMs >= fromMs) between.recordValue(micros(heardMs - lastMs))
      lastMs = heardMs
      if (!(ts <= heardMs + CLOCKS_MS)) return `an item of ${ts} in an answer that came at ${heardMs.toFixed(1)}: it is not due yet`
      const fault = faultOfTime(item)
      if (fault !== null) return fault
      if (ts < newest) wentBack++
      newest = Math.max(newest, ts)
      for (; next < end && next < ts; next++) times.recordValue(micros(heardMs - next))
      return null
    },

    /** @returns {Freshness | null} null: nothing was seen */
    figures: () => next === first || between.totalCount === 0
      ? null
      : { ...percentilesOf(times), due: end - first, seen: next - first, wentBack, betweenMs: percentilesOf(between) }
  }
}

const histogram = () => build({ lowestDiscernibleValue: 1, highestTrackableValue: MAX_MICROS, numberOfSignificantValueDigits: 3 })

/** @param {number} ms */
const micros = (ms) => Math.min(MAX_MICROS, Math.max(0, Math.round(ms * MICROS)))
