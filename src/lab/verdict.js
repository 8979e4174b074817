/**
 * One arm against another, as a ratio with its interval and in words that are read once:
 *
 *     `values` costs 0.58 x `ids` [0.55-0.61]
 *     `values` against `ids`: no difference shown [0.97-1.04]
 *
 * An interval that excludes 1 is a difference. How large a difference this machine makes of nothing is known from the
 * A/A pair, the same arm measured twice: a difference that is not larger is not shown to be one of the arms, and no
 * direction is told of it. What chance adds to the ratio of the pair is in the intervals of the arms too, so their ratios
 * are compared; but where the pair itself comes out different, something else than chance moved it (drift, the order of
 * arms), by as much as the farther end of its interval.
 *
 * "The same" is a claim as well: it takes an interval that holds nothing beyond a tenth. "No difference shown" alone does
 * not prove it, as a wide interval never shows any.
 *
 * @typedef {import('./statistics.js').Interval} Interval
 * @typedef {import('./plan.js').Direction} Direction
 * @typedef {{ ratio: number | null } & Interval} RatioWithInterval
 * @typedef {'less' | 'more' | 'none' | 'unknown'} Verdict none: no difference shown
 *
 * @typedef {object} Pair
 * @property {string} level
 * @property {string} arm
 * @property {string} against
 * @property {string} measure its name
 * @property {number[]} values of `arm`, from valid samples
 * @property {number[]} valuesAgainst
 * @property {RatioWithInterval | null} noise of the A/A pair of the level; null = it was not measured
 * @property {string} baseline what the A/A pair is of
 * @property {Direction | null} expected
 * @property {{ value: number, label: string } | null} published
 *
 * @typedef {object} Outcome
 * @property {Verdict} verdict
 * @property {boolean | null} withinNoise the difference is not larger than that of the A/A pair; null = no difference, or no pair
 * @property {boolean | null} sameDirection as published; null = nothing published, or not shown here
 * @property {boolean | null} asExpected null = nothing expected, or not shown
 * @property {string} sentence
 *
 * @typedef {Pick<Pair, 'level' | 'arm' | 'against' | 'measure' | 'expected' | 'published'> & RatioWithInterval & Outcome} Comparison
 */
import { median } from 'simple-statistics'
import { MEASURES } from './measures.js'
import { FEWEST_VALUES, ratioOfMedians, verdictOf } from './statistics.js'

/** Published ratios so near to 1 are read as no difference. */
const PUBLISHED_SAME = 0.02
/** Ratios between these are the same to us. */
export const SAME = Object.freeze({ low: 0.9, high: 1.1 })
const MOST_DECIMALS = 6

/** @param {Pair} pair @returns {Comparison} */
export function compare (pair) {
  const { level, arm, against, measure, values, valuesAgainst, noise, expected, published } = pair
  const ratio = ratioOfMedians(values, valuesAgainst)
  const verdict = verdictOf(ratio)
  const floor = noise && noiseFloor(noise)
  const withinNoise = isDifference(verdict) && floor !== null ? distance(ratio.ratio) <= floor : null
  const outcome = { ...ratio, verdict, withinNoise }
  return {
    level,
    arm,
    against,
    measure,
    ...outcome,
    published,
    sameDirection: published && sameDirection(outcome, published.value),
    expected,
    asExpected: expected && asExpected(outcome, expected),
    sentence: sentenceOf(pair, outcome)
  }
}

/** @typedef {RatioWithInterval & Pick<Outcome, 'verdict' | 'withinNoise'>} Shown */

/** @param {Verdict} verdict */
const isDifference = (verdict) => verdict === 'less' || verdict === 'more'

/** Whether a difference was shown that is larger than what the machine makes of nothing. @param {Pick<Outcome, 'verdict' | 'withinNoise'>} outcome */
export const isShown = ({ verdict, withinNoise }) => isDifference(verdict) && !withinNoise

/** From 1, the same for a half as for twice. @param {number | null} ratio */
const distance = (ratio) => Math.abs(Math.log(ratio ?? 1))

/** @param {RatioWithInterval} noise of the A/A pair @returns {number | null} as a distance from 1; null = not known */
function noiseFloor ({ ratio, low, high }) {
  if (!ratio) return null
  return isDifference(verdictOf({ low, high })) ? Math.max(distance(low), distance(high)) : distance(ratio)
}

/** @param {Shown} outcome @param {number} published ratio @returns {boolean | null} */
function sameDirection (outcome, published) {
  if (Math.abs(published - 1) <= PUBLISHED_SAME) return isSame(outcome)
  return isShown(outcome) ? outcome.verdict === (published < 1 ? 'less' : 'more') : null
}

/** @param {Shown} outcome @param {Direction} expected @returns {boolean | null} */
function asExpected (outcome, expected) {
  if (expected === 'same') return isSame(outcome)
  return isShown(outcome) ? outcome.verdict === expected : null
}

/** @param {Shown} outcome @returns {boolean | null} false: a difference was shown that may be more than a tenth; null = neither is */
function isSame (outcome) {
  const { low, high, withinNoise } = outcome
  if (low === null || high === null || withinNoise) return null
  if (low >= SAME.low && high <= SAME.high) return true
  return isShown(outcome) ? false : null
}

/** @param {Pair} pair @param {Shown} outcome */
function sentenceOf (pair, { ratio, low, high, verdict, withinNoise }) {
  const { arm, against, measure, noise, baseline } = pair
  if (ratio === null || low === null || high === null) return `\`${arm}\` against \`${against}\`: not known, ${whyUnknown(pair, ratio)}`
  if (verdict === 'none') return `\`${arm}\` against \`${against}\`: no difference shown [${textsOf([low, high]).join('-')}]`
  if (withinNoise && noise) return `\`${arm}\` against \`${against}\`: no difference beyond the noise of this machine (${ratioWithInterval({ ratio, low, high })}, and \`${baseline}\` against itself ${ratioWithInterval(noise)})`
  const [ratioDigits, ...bounds] = textsOf([ratio, low, high], true)
  return `\`${arm}\` ${MEASURES[measure].verb} ${ratioDigits} x \`${against}\` [${bounds.join('-')}]`
}

/** @param {Pair} pair @param {number | null} ratio */
function whyUnknown ({ arm, against, values, valuesAgainst }, ratio) {
  const empty = values.length === 0 ? arm : valuesAgainst.length === 0 ? against : null
  if (empty !== null) return `no valid sample of \`${empty}\` has a value`
  if (ratio === null || Math.min(values.length, valuesAgainst.length) >= FEWEST_VALUES) {
    return `no ratio can be bounded where 0 was measured (medians ${textsOf([median(values)])[0]} and ${textsOf([median(valuesAgainst)])[0]})`
  }
  return `${textsOf([ratio])[0]} x from ${values.length} and ${valuesAgainst.length} valid samples; an interval takes ${FEWEST_VALUES} of each`
}

/**
 * Ratios with as many decimals as the first of them needs: 0.58, 12.4, 0.0483.
 * @param {number[]} ratios
 * @param {boolean} [isNotOne] they exclude 1, and their texts must too: 0.998, not 1.00
 * @returns {string[]}
 */
export function textsOf (ratios, isNotOne = false) {
  const [first] = ratios
  let decimals = first >= 100 ? 0 : first >= 10 ? 1 : first >= 0.1 || first === 0 ? 2 : Math.min(MOST_DECIMALS, 2 - Math.floor(Math.log10(first)))
  const looksEqual = () => ratios.some((ratio) => Number(ratio.toFixed(decimals)) === 1)
  if (isNotOne) while (decimals < MOST_DECIMALS && looksEqual()) decimals++
  return ratios.map((ratio) => ratio.toFixed(decimals))
}

/** @param {RatioWithInterval} of @returns {string} such as 0.58 x [0.55-0.61]; a dash when there is none */
export function ratioWithInterval ({ ratio, low, high }) {
  if (ratio === null) return '-'
  if (low === null || high === null) return `${textsOf([ratio])[0]} x`
  const [text, ...bounds] = textsOf([ratio, low, high], low > 1 || high < 1)
  return `${text} x [${bounds.join('-')}]`
}
