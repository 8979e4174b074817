/**
 * Figures of an analysis as text: of an arm at a level, and its ratio to the baseline.
 */
import { MEASURES } from '../analysis/measures.js'
import { countedText } from '../analysis/verdict.js'
import { ratioWithInterval } from './numbers.js'
import { roleOf } from './roles.js'

/** @typedef {import('../analysis/index.js').Analysis} Analysis */
/** @typedef {import('../plan/index.js').Plan} Plan */
/** @typedef {Analysis['comparisons'][number]} Comparison */
/** @typedef {{ arm: string, level: string }} Place */

/** @param {string} measure @returns {string} */
export const unitOf = (measure) => MEASURES[measure].unit.replace(/^us$/, 'µs')

/** @param {string} measure @returns {string} with its unit, such as "Primary CPU time per item, µs" */
export function titleOf (measure) {
  const { title } = MEASURES[measure]
  const unit = unitOf(measure)
  return title.toLowerCase().startsWith(unit) ? title : `${title}, ${unit}`
}

/**
 * @param {Analysis} analysis @param {Place} of @param {string} [measure]
 * @returns {{ median: number, low: number | null, high: number | null, isCut?: boolean } | null} null: no valid sample has a value
 */
export function figureOf ({ cells, main }, { arm, level }, measure = main) {
  const of = cells.find((cell) => cell.arm === arm && cell.level === level)?.figures[measure]
  return of === undefined || of.median === null ? null : { ...of, median: of.median }
}

/**
 * @param {Analysis} analysis
 * @param {Place} of
 * @returns {Comparison[]} by the main measure; several, when several ratios of a pair were published
 */
export const comparisonsOf = ({ comparisons, main }, { arm, level }) =>
  comparisons.filter((one) => one.arm === arm && one.level === level && one.measure === main)

/**
 * @param {Analysis} analysis
 * @param {Plan} plan
 * @param {Place} of
 * @returns {string} the ratio to the baseline; a dash when there is none
 */
export function ratioText (analysis, plan, of) {
  if (roleOf(of.arm, plan) === 'baseline') return 'baseline'
  if (roleOf(of.arm, plan) === 'repeat') {
    const noise = analysis.noise.find(({ level, measure }) => level === of.level && measure === analysis.main)
    return noise ? ratioWithInterval(noise) : '-'
  }
  const ratio = comparisonsOf(analysis, of).find(({ against }) => against === plan.baseline)
  if (!ratio) return '-'
  return ratio.isByCount ? `${countedText(ratio.counted)} x by count` : ratioWithInterval(ratio)
}

/** @param {Comparison} comparison @returns {string} whether our ratio is on the same side of 1 as the published one */
export function directionText ({ sameDirection, verdict }) {
  if (sameDirection !== null) return sameDirection ? 'yes' : 'no'
  return verdict === 'unknown' ? 'unknown' : 'no difference'
}

/** @param {number} value @returns {string} as it was published, to three digits */
export const publishedText = (value) => `${Number(value.toPrecision(3))} x`

/** @param {Analysis['costs'][number]} cost */
export const costText = ({ sentence }) => sentence.replaceAll(/\bus\b/g, 'µs')
