/**
 * Medians of a few rounds and their intervals.
 *
 * Rounds are few (usually 5), noise has long tails, and machines drift: so medians instead of means, and resampling instead of
 * a formula that assumes a distribution. Arms are not paired by round, because paired bootstraps of few rounds show false
 * differences. A plain percentile interval is too narrow for few values; it is widened by the ratio of Student's t to the normal
 * distribution, with Welch's degrees of freedom for two samples of unequal variance. The alternatives, and how often each calls
 * equal arms different: docs/decisions/010.
 *
 *     values of arm a -> medians of resamples \
 *                                              log ratios -> 2.5 % and 97.5 % -> widened about the ratio of medians
 *     values of arm b -> medians of resamples /
 *
 * Everything is seeded: the same values give the same interval.
 *
 * @typedef {{ low: number | null, high: number | null }} Interval 95 %; null = too few values
 * @typedef {import('pure-rand/types/RandomGenerator').RandomGenerator} RandomGenerator
 */
import { uniformInt } from 'pure-rand/distribution/uniformInt'
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus'
import { median, quantile, variance } from 'simple-statistics'

/** Fewer values have no interval. */
export const FEWEST_VALUES = 3
const RESAMPLES = 2000
const SEED = 1
const TAIL = 0.025
/** 97.5 % of a normal distribution */
const NORMAL = 1.96
/** The same of Student's t by degrees of freedom, from 1: scipy 1.17.1, stats.t.ppf(0.975, df) */
const STUDENT = [12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.306, 2.2622, 2.2281, 2.201, 2.1788, 2.1604, 2.1448, 2.1314,
  2.1199, 2.1098, 2.1009, 2.093, 2.086, 2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423]
/** @type {Interval} */
const UNKNOWN = Object.freeze({ low: null, high: null })

/**
 * The median of one arm.
 * @param {readonly number[]} values such as growth, which may be below 0
 * @param {{ seed?: number }} [options]
 * @returns {{ median: number | null } & Interval} no interval below FEWEST_VALUES; not below 0 unless a value is
 */
export function medianWithInterval (values, { seed = SEED } = {}) {
  if (values.length === 0) return { median: null, ...UNKNOWN }
  const middle = median([...values])
  if (values.length < FEWEST_VALUES) return { median: middle, ...UNKNOWN }
  const medians = resampledMedians(values, xoroshiro128plus(seed))
  const { low, high } = widenedInterval(medians, middle, values.length - 1)
  return { median: middle, low: values.some((value) => value < 0) ? low : Math.max(0, low), high }
}

/**
 * The median of one arm, divided by that of another.
 * @param {readonly number[]} values none below 0
 * @param {readonly number[]} against none below 0
 * @param {{ seed?: number }} [options]
 * @returns {{ ratio: number | null } & Interval} no ratio to a median of 0; no interval when either has fewer than
 *   FEWEST_VALUES values, or a value of 0
 */
export function ratioOfMedians (values, against, options = {}) {
  const isKnown = values.length > 0 && against.length > 0 && median([...against]) !== 0
  return isKnown && median([...values]) === 0 ? { ratio: 0, ...UNKNOWN } : ratioOfRatios([values], [against], options)
}

/**
 * A ratio of medians, divided by another: how much it changes.
 * @param {readonly (readonly number[])[]} above values of the medians above the line, none below 0
 * @param {readonly (readonly number[])[]} below of those below it
 * @param {{ seed?: number }} [options]
 * @returns {{ ratio: number | null } & Interval} as ratioOfMedians
 */
export function ratioOfRatios (above, below, { seed = SEED } = {}) {
  const all = [...above, ...below]
  if (all.some((values) => values.length === 0 || median([...values]) === 0)) return { ratio: null, ...UNKNOWN }
  const product = (/** @type {readonly (readonly number[])[]} */ of) => of.reduce((times, values) => times * median([...values]), 1)
  const ratio = product(above) / product(below)
  if (all.some((values) => values.length < FEWEST_VALUES || !values.every((value) => value > 0))) return { ratio, ...UNKNOWN }
  const random = xoroshiro128plus(seed)
  const logs = all.map((values) => resampledMedians(values, random).map(Math.log))
  const parts = logs.map((of, i) => ({ variance: variance(of), degrees: all[i].length - 1 }))
  const together = logs[0].map((_, at) => logs.reduce((sum, of, i) => sum + (i < above.length ? of[at] : -of[at]), 0))
  const { low, high } = widenedInterval(together, Math.log(ratio), welchDegrees(parts))
  return { ratio, low: Math.exp(low), high: Math.exp(high) }
}

/**
 * The median of one arm, less that of another.
 * @param {readonly number[]} values
 * @param {readonly number[]} against
 * @param {{ seed?: number }} [options]
 * @returns {{ difference: number | null } & Interval} null: one of them has no values; no interval below FEWEST_VALUES
 */
export function differenceOfMedians (values, against, { seed = SEED } = {}) {
  if (values.length === 0 || against.length === 0) return { difference: null, ...UNKNOWN }
  const difference = median([...values]) - median([...against])
  if (Math.min(values.length, against.length) < FEWEST_VALUES) return { difference, ...UNKNOWN }
  const random = xoroshiro128plus(seed)
  const [medians, mediansAgainst] = [resampledMedians(values, random), resampledMedians(against, random)]
  const degrees = welchDegrees([{ variance: variance(medians), degrees: values.length - 1 },
    { variance: variance(mediansAgainst), degrees: against.length - 1 }])
  return { difference, ...widenedInterval(medians.map((one, i) => one - mediansAgainst[i]), difference, degrees) }
}

/**
 * The verdict of a ratio's interval.
 * @param {Interval} interval
 * @returns {'less' | 'more' | 'none' | 'unknown'} none: no measurable difference
 */
export function verdictOf ({ low, high }) {
  if (low === null || high === null) return 'unknown'
  return high < 1 ? 'less' : low > 1 ? 'more' : 'none'
}

/**
 * @param {readonly number[]} values in any order
 * @param {RandomGenerator} random
 * @param {number} [resamples]
 * @returns {number[]} medians of as many values, drawn with replacement
 */
export function resampledMedians (values, random, resamples = RESAMPLES) {
  const sorted = values.toSorted((a, b) => a - b)
  const drawn = new Array(sorted.length)
  return Array.from({ length: resamples }, () => {
    for (let i = 0; i < drawn.length; i++) drawn[i] = sorted[uniformInt(random, 0, sorted.length - 1)]
    return median(drawn)
  })
}

/**
 * The percentile interval, widened about the estimate for few values.
 * @param {number[]} estimates of resamples
 * @param {number} estimate of the values themselves
 * @param {number} degrees of freedom
 */
export function widenedInterval (estimates, estimate, degrees) {
  const [low, high] = quantile(estimates, [TAIL, 1 - TAIL])
  const factor = student(degrees) / NORMAL
  return { low: estimate + factor * (low - estimate), high: estimate + factor * (high - estimate) }
}

/**
 * Degrees of freedom of a sum or difference of estimates (Welch 1947, Satterthwaite 1946).
 * @param {{ variance: number, degrees: number }[]} parts
 */
function welchDegrees (parts) {
  const total = parts.reduce((sum, { variance }) => sum + variance, 0)
  return total === 0
    ? parts.reduce((sum, { degrees }) => sum + degrees, 0)
    : total ** 2 / parts.reduce((sum, { variance, degrees }) => sum + variance ** 2 / degrees, 0)
}

/** Between rows of the table linear in 1 / degrees, beyond it as its last row. @param {number} degrees at least 1 */
function student (degrees) {
  const row = Math.min(Math.floor(degrees), STUDENT.length)
  const next = Math.min(row + 1, STUDENT.length)
  const share = next === row ? 0 : (1 / row - 1 / degrees) / (1 / row - 1 / next)
  return STUDENT[row - 1] + share * (STUDENT[next - 1] - STUDENT[row - 1])
}
