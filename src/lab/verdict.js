/**
 * One arm against another, as a ratio with its interval and in words that are read once:
 *
 *     `values` costs 0.58 x `ids` [0.55-0.61]
 *     `values` against `ids`: no difference shown [0.97-1.04]
 *
 * An interval that excludes 1 is a difference. How large a difference this machine makes of nothing is known from the
 * A/A pair, the same arm measured twice: a difference that is not larger is told as such.
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
 * @property {boolean | null} sameDirection as published; null = nothing published, or no difference shown here
 * @property {boolean | null} asExpected null = nothing expected, or not known
 * @property {string} sentence
 *
 * @typedef {Pick<Pair, 'level' | 'arm' | 'against' | 'measure' | 'expected' | 'published'> & RatioWithInterval & Outcome} Comparison
 */
import { median } from 'simple-statistics'
import { MEASURES } from './measures.js'
import { FEWEST_VALUES, ratioOfMedians, verdictOf } from './statistics.js'

/** Published ratios so near to 1 are read as no difference. */
const PUBLISHED_SAME = 0.02
const MOST_DECIMALS = 6

/** @param {Pair} pair @param {{ seed?: number }} [options] @returns {Comparison} */
export function compare (pair, options) {
  const { level, arm, against, measure, values, valuesAgainst, noise, expected, published } = pair
  const ratio = ratioOfMedians(values, valuesAgainst, options)
  const verdict = verdictOf(ratio)
  const differs = verdict === 'less' || verdict === 'more'
  const withinNoise = differs && noise?.ratio ? distance(ratio.ratio) <= distance(noise.ratio) : null
  return {
    level,
    arm,
    against,
    measure,
    ...ratio,
    verdict,
    withinNoise,
    published,
    sameDirection: published && sameDirection(verdict, published.value),
    expected,
    asExpected: expected && asExpected(verdict, expected),
    sentence: sentenceOf(pair, { ...ratio, verdict, withinNoise })
  }
}

/** From 1, the same for a half as for twice. @param {number | null} ratio */
const distance = (ratio) => Math.abs(Math.log(ratio ?? 1))

/** @param {Verdict} verdict @param {number} published ratio @returns {boolean | null} */
function sameDirection (verdict, published) {
  if (verdict === 'unknown') return null
  if (Math.abs(published - 1) <= PUBLISHED_SAME) return verdict === 'none'
  return verdict === 'none' ? null : verdict === (published < 1 ? 'less' : 'more')
}

/** @param {Verdict} verdict @param {Direction} expected @returns {boolean | null} */
const asExpected = (verdict, expected) => verdict === 'unknown' ? null : verdict === (expected === 'same' ? 'none' : expected)

/** @param {Pair} pair @param {RatioWithInterval & Pick<Comparison, 'verdict' | 'withinNoise'>} outcome */
function sentenceOf (pair, { ratio, low, high, verdict, withinNoise }) {
  const { arm, against, measure, noise, baseline } = pair
  if (ratio === null || low === null || high === null) return `\`${arm}\` against \`${against}\`: not known, ${whyUnknown(pair, ratio)}`
  if (verdict === 'none') return `\`${arm}\` against \`${against}\`: no difference shown [${textsOf([low, high]).join('-')}]`
  const [ratioText, lowText, highText] = textsOf([ratio, low, high], true)
  const difference = `\`${arm}\` ${MEASURES[measure].verb} ${ratioText} x \`${against}\` [${lowText}-${highText}]`
  return withinNoise && noise ? `${difference}, within the noise of this machine (\`${baseline}\` against itself: ${textsOf([noise.ratio ?? 1], true)[0]} x)` : difference
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
