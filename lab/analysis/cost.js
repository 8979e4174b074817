/**
 * Fixed and marginal CPU cost of an arm on the primary: a line fitted through its levels.
 *
 *     CPU microseconds a second = fixed + marginal x items a second
 *
 * The line is fitted to the medians of the levels, which outliers barely move, weighted by 1 / cost^2, because noise is
 * proportional to the cost: without weights, the most expensive level alone would determine the line. The interval comes from
 * resampled rounds within each level (docs/decisions/010). Levels where an arm ran as fast as possible, or did not keep up,
 * are left out.
 *
 * @typedef {import('../run/sample.js').Sample} Sample
 * @typedef {import('./consumption.js').Estimate} Estimate
 * @typedef {{ level: string, samples: Sample[] }} LevelSamples
 *
 * @typedef {object} Cost
 * @property {string} arm
 * @property {string[]} levels on the line
 * @property {Estimate} fixedPercent of a core; `mid` null = fewer than 3 levels; below 0 the levels are not on a line
 * @property {Estimate} marginalMicrosPerItem
 * @property {number | null} offLine largest distance of a level from the line, relative to its cost
 * @property {string} sentence
 */
import { uniformInt } from 'pure-rand/distribution/uniformInt'
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus'
import { median, weightedLinearRegression } from 'simple-statistics'
import { KEPT_UP } from './limits.js'
import { MEASURES } from './measures.js'
import { FEWEST_VALUES, widenedInterval } from './statistics.js'

const FEWEST_LEVELS = 3
const RESAMPLES = 2000
const SEED = 1
/** A larger distance from the line is reported. */
const OFF_LINE = 0.1
/** 1 % of a core */
const MICROS_PER_PERCENT = 10_000
/** @type {Estimate} */
const UNKNOWN = Object.freeze({ mid: null, low: null, high: null })

/**
 * @param {string} arm
 * @param {LevelSamples[]} levels valid samples
 * @returns {Cost}
 */
export function costOf (arm, levels) {
  const groups = levels.filter(({ samples }) => (reachOf(samples) ?? 0) >= KEPT_UP)
    .map(({ level, samples }) => ({ level, points: samples.map(pointOf).filter((point) => point !== null) }))
    .filter(({ points }) => points.length >= FEWEST_VALUES)
  const names = groups.map(({ level }) => level)
  if (groups.length < FEWEST_LEVELS) {
    return {
      arm,
      levels: names,
      fixedPercent: UNKNOWN,
      marginalMicrosPerItem: UNKNOWN,
      offLine: null,
      sentence: `\`${arm}\`: fixed and marginal cost unknown, ${groups.length} of ${levels.length} levels have ${FEWEST_VALUES} samples ` +
        `at the planned rate; a line needs ${FEWEST_LEVELS}`
    }
  }
  const points = groups.map(({ points }) => points)
  const line = lineThrough(points)
  const random = xoroshiro128plus(SEED)
  const lines = Array.from({ length: RESAMPLES }, () =>
    lineThrough(points.map((of) => of.map(() => of[uniformInt(random, 0, of.length - 1)]))))
  const degrees = points.flat().length - 2
  const estimate = (/** @type {'b' | 'm'} */ part, unit = 1) => {
    const { low, high } = widenedInterval(lines.map((one) => one[part]), line[part], degrees)
    return { mid: line[part] / unit, low: low / unit, high: high / unit }
  }
  const [fixed, marginal] = [estimate('b', MICROS_PER_PERCENT), estimate('m')]
  const offLine = Math.max(...points.map(middleOf).map(([x, y]) => Math.abs(line.b + line.m * x - y) / y))
  return {
    arm,
    levels: names,
    fixedPercent: fixed,
    marginalMicrosPerItem: marginal,
    offLine,
    sentence: `\`${arm}\`: ${fixedText(fixed)} and ${digits(marginal.mid)} us per item [${digits(marginal.low)} to ` +
      `${digits(marginal.high)}]` +
      `${offLine > OFF_LINE ? `; its levels are up to ${Math.round(offLine * 100)} % off the line, so this is approximate` : ''}`
  }
}

/**
 * @param {Sample[]} samples of one arm at one level
 * @returns {number | null} median share of the planned items that were acknowledged; null = as fast as possible
 */
export function reachOf (samples) {
  const shares = samples.flatMap(({ items, planned }) => planned === null || planned <= 0 ? [] : items / planned)
  return shares.length ? median(shares) : null
}

/** Items a second and processor microseconds a second. @param {Sample} sample @returns {[number, number] | null} */
function pointOf (sample) {
  const rate = MEASURES.itemsPerSecond.of(sample)
  const each = MEASURES.primaryCpuMicrosPerItem.of(sample)
  return rate === null || each === null || each <= 0 ? null : [rate, each * rate]
}

/** @param {[number, number][]} points of one level @returns {[number, number]} */
const middleOf = (points) => [median(points.map(([x]) => x)), median(points.map(([, y]) => y))]

/** @param {[number, number][][]} levels points of each @returns {{ m: number, b: number }} slope and intercept */
function lineThrough (levels) {
  const middles = levels.map(middleOf)
  return weightedLinearRegression(middles, middles.map(([, y]) => 1 / y ** 2))
}

/** @param {{ mid: number, low: number, high: number }} percent */
function fixedText ({ mid, low, high }) {
  const text = `${digits(mid)} % of a core [${digits(low)} to ${digits(high)}]`
  return low <= 0 && high >= 0 ? `no fixed cost shown (${text})` : text
}

const digits = (/** @type {number} */ value) => Math.abs(value) >= 0.1 ? value.toFixed(2) : value.toFixed(3)
