/**
 * One arm against another, as a ratio with its interval, and as a sentence:
 *
 *     `values` costs 0.58 x `ids` [0.55-0.61]
 *     `values` against `ids`: no measurable difference [0.97-1.04]
 *
 * An interval that excludes 1 is a difference. The A/A pair, the same arm measured twice, shows how large a difference this
 * machine produces without any cause: a difference that is not larger is noise, and gets no direction. The intervals of the
 * arms already contain what chance adds to the ratio of the pair, so the ratios are compared; if the pair itself differs, the
 * cause is drift or order, and the farther end of its interval counts. This is the one rule of noise, for verdicts, charts and
 * statements alike.
 *
 * Where a window shows no difference, a count of instructions may (counting/): a ratio farther from 1 than counts of one load differ is a
 * difference, and the count decides. "No measurable difference" is left where neither shows one.
 *
 * A time at which somebody gave up is no measurement of how long it takes: values that are cut off there give no ratio.
 *
 * "The same" is a claim too: its interval must lie within 10 %. "No measurable difference" alone does not prove it, because a wide
 * interval never shows a difference.
 *
 * @typedef {import('./statistics.js').Interval} Interval
 * @typedef {import('../plan/index.js').Direction} Direction
 * @typedef {{ ratio: number | null } & Interval} RatioWithInterval
 * @typedef {'less' | 'more' | 'none' | 'unknown'} Verdict none: no measurable difference
 *
 * @typedef {object} Pair
 * @property {string} level
 * @property {string} arm
 * @property {string} against
 * @property {string} measure its name
 * @property {number[]} values of `arm`, from valid samples
 * @property {number[]} valuesAgainst
 * @property {RatioWithInterval | null} noise of the A/A pair of the level; null = not measured
 * @property {string} baseline arm of the A/A pair
 * @property {Direction | null} expected
 * @property {{ value?: number, direction?: Direction, label: string } | null} published a ratio, or a direction alone
 * @property {string | null} [cut] why the values are no ratio: they are time-outs
 * @property {{ ratio: number, limit: number } | null} [counted] ratio of instructions, and how close to 1 it is none; null = not counted
 *
 * @typedef {object} Outcome
 * @property {Verdict} verdict
 * @property {number | null} counted ratio of instructions
 * @property {boolean} isByCount the verdict is that of the count
 * @property {boolean | null} withinNoise not larger than the difference of the A/A pair; null = no difference, or no pair
 * @property {boolean | null} sameDirection as published; null = nothing published, or undecided here
 * @property {boolean | null} isSizeInside whether the interval contains the published ratio; null = none published, or no interval
 * @property {boolean | null} asExpected null = nothing expected, or undecided
 * @property {string} sentence
 *
 * @typedef {Pick<Pair, 'level' | 'arm' | 'against' | 'measure' | 'expected' | 'published'> & RatioWithInterval & Outcome} Comparison
 */
import { median } from 'simple-statistics'
import { MEASURES } from './measures.js'
import { FEWEST_VALUES, ratioOfMedians, verdictOf } from './statistics.js'

/** Published ratios this close to 1 count as no difference. */
const PUBLISHED_SAME = 0.02
/** Ratios in this range count as the same. */
export const SAME = Object.freeze({ low: 0.9, high: 1.1 })
const MOST_DECIMALS = 6
/** @type {RatioWithInterval} */
const NO_RATIO = Object.freeze({ ratio: null, low: null, high: null })

/** @param {Pair} pair @returns {Comparison} */
export function compare (pair) {
  const { level, arm, against, measure, values, valuesAgainst, expected, published, cut = null } = pair
  const ratio = cut === null ? ratioOfMedians(values, valuesAgainst) : NO_RATIO
  return { level, arm, against, measure, ...judge(pair, ratio), published, expected }
}

/**
 * What a ratio says, by the one rule.
 * @param {Omit<Pair, 'level'>} pair
 * @param {RatioWithInterval} ratio
 * @returns {RatioWithInterval & Outcome}
 */
export function judge (pair, ratio) {
  const { noise, expected, published, counted = null } = pair
  const inWindow = verdictOf(ratio)
  const floor = noise && noiseFloor(noise)
  const isWithin = isDifference(inWindow) && floor !== null ? distance(ratio.ratio) <= floor : null
  const byCount = verdictOfCount(counted)
  const isByCount = isDifference(byCount) && !isShown({ verdict: inWindow, withinNoise: isWithin })
  const [verdict, withinNoise] = isByCount ? [byCount, null] : [inWindow, isWithin]
  const outcome = { ...ratio, verdict, withinNoise, counted: counted && counted.ratio, isByCount }
  return {
    ...outcome,
    sameDirection: published && as(outcome, published.direction ?? directionOf(Number(published.value))),
    isSizeInside: published?.value === undefined ? null : isInside(published.value, ratio),
    asExpected: expected && as(outcome, expected),
    sentence: sentenceOf(pair, outcome)
  }
}

/** @typedef {RatioWithInterval & Pick<Outcome, 'verdict' | 'withinNoise' | 'counted' | 'isByCount'>} Shown */

/** The ratio that shows the difference. @param {Pick<Outcome, 'counted' | 'isByCount'> & { ratio: number | null }} of */
export const decidingRatio = ({ ratio, counted, isByCount }) => isByCount ? counted : ratio

/** @param {Verdict} verdict */
const isDifference = (verdict) => verdict === 'less' || verdict === 'more'

/** @param {Pair['counted']} counted @returns {Verdict} */
function verdictOfCount (counted) {
  if (!counted) return 'unknown'
  return Math.abs(counted.ratio - 1) <= counted.limit ? 'none' : counted.ratio < 1 ? 'less' : 'more'
}

/** Whether a difference larger than the noise was shown. @param {Pick<Outcome, 'verdict' | 'withinNoise'>} outcome */
export const isShown = ({ verdict, withinNoise }) => isDifference(verdict) && !withinNoise

/** From 1; 0.5 and 2 have the same distance. @param {number | null} ratio */
const distance = (ratio) => Math.abs(Math.log(ratio ?? 1))

/** @param {RatioWithInterval} noise of the A/A pair @returns {number | null} distance from 1; null = unknown */
function noiseFloor ({ ratio, low, high }) {
  if (!ratio) return null
  return isDifference(verdictOf({ low, high })) ? Math.max(distance(low), distance(high)) : distance(ratio)
}

/** @param {number} ratio that was published @returns {Direction} */
const directionOf = (ratio) => Math.abs(ratio - 1) <= PUBLISHED_SAME ? 'same' : ratio < 1 ? 'less' : 'more'

/** @param {number} value @param {import('./statistics.js').Interval} interval @returns {boolean | null} */
export const isInside = (value, { low, high }) => low === null || high === null ? null : value >= low && value <= high

/** @param {Shown} outcome @param {Direction} expected @returns {boolean | null} null: nothing is shown */
function as (outcome, expected) {
  if (expected === 'same') return isSame(outcome)
  return isShown(outcome) ? outcome.verdict === expected : null
}

/** @param {Shown} outcome @returns {boolean | null} false: a difference was shown that may exceed 10 %; null = undecided */
function isSame (outcome) {
  const { low, high, withinNoise, isByCount, counted } = outcome
  if (low !== null && high !== null && !withinNoise) {
    if (low >= SAME.low && high <= SAME.high) return true
    if (isShown(outcome) && !isByCount) return false
  }
  return counted === null ? null : counted >= SAME.low && counted <= SAME.high
}

/** @param {Omit<Pair, 'level'>} pair @param {Shown} outcome */
function sentenceOf (pair, { ratio, low, high, verdict, withinNoise, counted, isByCount }) {
  const { arm, against, measure, noise, baseline } = pair
  if (isByCount) {
    const window = ratio === null ? '' : `; CPU time ${ratioWithInterval({ ratio, low, high })}`
    return `\`${arm}\` ${MEASURES[measure].verb} ${countedText(counted)} x the instructions of \`${against}\`${window}`
  }
  if (ratio === null || low === null || high === null) return `\`${arm}\` against \`${against}\`: unknown, ${whyUnknown(pair, ratio)}`
  if (verdict === 'none') {
    const same = counted === null ? '' : `, ${countedText(counted)} x the instructions`
    return `\`${arm}\` against \`${against}\`: no measurable difference [${textsOf([low, high]).join('-')}]${same}`
  }
  if (withinNoise && noise) {
    return `\`${arm}\` against \`${against}\`: no difference beyond the noise of this machine ` +
      `(${ratioWithInterval({ ratio, low, high })}; \`${baseline}\` against itself ${ratioWithInterval(noise)})`
  }
  const [ratioDigits, ...bounds] = textsOf([ratio, low, high], true)
  return `\`${arm}\` ${MEASURES[measure].verb} ${ratioDigits} x \`${against}\` [${bounds.join('-')}]`
}

/** @param {Omit<Pair, 'level'>} pair @param {number | null} ratio */
function whyUnknown ({ arm, against, values, valuesAgainst, cut }, ratio) {
  if (cut) return cut
  const empty = values.length === 0 ? arm : valuesAgainst.length === 0 ? against : null
  if (empty !== null) return `no valid sample of \`${empty}\` has a value`
  if (ratio === null || Math.min(values.length, valuesAgainst.length) >= FEWEST_VALUES) {
    return `a value of 0 allows no interval (medians ${textsOf([median(values)])[0]} and ${textsOf([median(valuesAgainst)])[0]})`
  }
  return `${textsOf([ratio])[0]} x from ${values.length} and ${valuesAgainst.length} valid samples; an interval needs ${FEWEST_VALUES} ` +
    'of each'
}

/**
 * Ratios with as many decimals as the first one needs: 0.58, 12.4, 0.0483.
 * @param {number[]} ratios
 * @param {boolean} [isNotOne] they exclude 1, and so must their texts: 0.998, not 1.00
 * @returns {string[]}
 */
export function textsOf (ratios, isNotOne = false) {
  const [first] = ratios
  let decimals = first >= 100
    ? 0
    : first >= 10 ? 1 : first >= 0.1 || first === 0 ? 2 : Math.min(MOST_DECIMALS, 2 - Math.floor(Math.log10(first)))
  const looksEqual = () => ratios.some((ratio) => Number(ratio.toFixed(decimals)) === 1)
  if (isNotOne) while (decimals < MOST_DECIMALS && looksEqual()) decimals++
  return ratios.map((ratio) => ratio.toFixed(decimals))
}

/** @param {number | null} counted @returns {string} such as 1.04 */
export const countedText = (counted) => counted === null ? '-' : textsOf([counted])[0]

/** @param {RatioWithInterval} of @returns {string} such as 0.58 x [0.55-0.61]; a dash when there is none */
export function ratioWithInterval ({ ratio, low, high }) {
  if (ratio === null) return '-'
  if (low === null || high === null) return `${textsOf([ratio])[0]} x`
  const [text, ...bounds] = textsOf([ratio, low, high], low > 1 || high < 1)
  return `${text} x [${bounds.join('-')}]`
}
