/** Durations in a histogram with microsecond resolution; percentiles are milliseconds. */
import { build } from 'hdr-histogram-js'

const MICROS = 1000
const MAX_MICROS = 3600 * 1000 * MICROS

/** @typedef {{ min?: number, p50: number, p95: number, p99: number, max: number }} Percentiles `min` as it was, also below 0 */

export function createLatencies () {
  const histogram = build({ lowestDiscernibleValue: 1, highestTrackableValue: MAX_MICROS, numberOfSignificantValueDigits: 3 })
  let min = Infinity
  return {
    /** @param {number} ms */
    record (ms) {
      min = Math.min(min, ms)
      histogram.recordValue(Math.min(MAX_MICROS, Math.max(0, Math.round(ms * MICROS))))
    },

    /** @returns {Percentiles | null} null: nothing was recorded */
    percentiles () {
      if (histogram.totalCount === 0) return null
      const max = histogram.maxValue
      const [p50, p95, p99] = [50, 95, 99].map((percent) => Math.min(max, histogram.getValueAtPercentile(percent)) / MICROS)
      return { min, p50, p95, p99, max: max / MICROS }
    }
  }
}
