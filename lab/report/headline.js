/**
 * The finding in a few words: the title of a chart and its page. For readers who do not know the plan, so arms have their labels,
 * and intervals are left to the chart.
 *
 * It is about what the plan names (`chart.about`), which cannot change the figure, only which one is in the title. Otherwise it is about
 * the baseline where levels have an x and it changes over them by a tenth or more, or about the first arm of which the plan expected
 * something. No title is about a sample in which the load was at its own limit: that figure is of the load.
 */
import { MEASURES } from '../analysis/measures.js'
import { decidingRatio, isShown } from '../analysis/verdict.js'
import { figureOf, unitOf } from './figures.js'
import { endsOf, pairsOf, spanOf } from './finding.js'
import { capitalized, figure, medianText } from './numbers.js'
import { labelOf } from './roles.js'

/** characters */
const HEADLINE_LENGTH = 70
const LEAST_GROWTH = 0.1

/** @typedef {import('./figures.js').Analysis} Analysis */
/** @typedef {import('./figures.js').Plan} Plan */
/** @typedef {import('./figures.js').Comparison} Comparison */
/** @typedef {import('./finding.js').Pair} Pair */

/** @param {Analysis} analysis @param {Plan} plan @returns {string} at most 70 characters */
export function headlineOf (analysis, plan) {
  const texts = (plan.chart?.about ? about(analysis, plan, plan.chart.about) : byItself(analysis, plan)).map(capitalized)
  return texts.find(({ length }) => length <= HEADLINE_LENGTH) ?? `${texts[texts.length - 1].slice(0, HEADLINE_LENGTH - 3)}...`
}

/** @param {Analysis} analysis @param {Plan} plan @returns {string[]} */
function byItself (analysis, plan) {
  const [pair] = pairsOf(analysis, plan).map((one) => ({ ...one, all: one.all.filter((it) => isOfServers(analysis, it)) }))
    .filter(({ all }) => all.length > 0)
  return [...growth(analysis, plan), ...pair ? ofPair(pair, plan) : alone(analysis, plan)]
}

/** Whether the load was at its limit in none of the samples. @param {Analysis} of @param {string} arm @param {string} level */
const isUnbound = ({ cells }, arm, level) =>
  cells.every((cell) => cell.arm !== arm || cell.level !== level || !cell.marks['generator-bound'])

/** @param {Analysis} analysis @param {{ arm: string, against: string, level: string }} one */
const isOfServers = (analysis, { arm, against, level }) => isUnbound(analysis, arm, level) && isUnbound(analysis, against, level)

/**
 * @param {Analysis} analysis @param {Plan} plan @param {import('../plan/index.js').About} what
 * @returns {string[]} in general words where there is no measurable difference
 */
function about (analysis, plan, { measure = analysis.main, arm, against, level, says }) {
  if (against === undefined) {
    const place = { arm, level: level ?? Object.keys(plan.levels)[0] }
    const of = isUnbound(analysis, arm, place.level) && figureOf(analysis, place, measure)
    return of ? [says.replace('{}', medianText(of))] : byItself(analysis, plan)
  }
  const all = [...analysis.comparisons, ...analysis.further].filter((one) => one.measure === measure && one.arm === arm &&
    one.against === against && (level === undefined || one.level === level))
  if (all.length === 0 || !all.every((one) => isOfServers(analysis, one))) return byItself(analysis, plan)
  const shown = all.filter(isShown)
  if (shown.length < all.length) return ofPair({ arm, against, all }, plan)
  return [says.replace('{}', `${spanOf(shown)} x`)]
}

/** The baseline at the ends of the axis. @param {Analysis} analysis @param {Plan} plan @returns {string[]} */
function growth (analysis, plan) {
  const ends = endsOf(analysis, plan)
  if (ends === null) return []
  if (Math.abs(ends[1].median / ends[0].median - 1) < LEAST_GROWTH) return []
  if (!ends.every(({ level }) => isUnbound(analysis, plan.baseline, level))) return []
  const [first, last] = ends.map(({ level, median }) => ({ level, text: figure(median) }))
  return [`${labelOf(plan.baseline, plan)}: ${first.text} ${unitOf(analysis.main)} at ${first.level}, ${last.text} at ${last.level}`]
}

/** @param {Pair} pair @param {Plan} plan @returns {string[]} the best first */
function ofPair ({ arm, against, all }, plan) {
  const shown = all.filter(isShown)
  const [a, b] = [arm, against].map((one) => labelOf(one, plan))
  if (shown.length === 0) {
    return [`${a} against ${b}: ${all.every(({ verdict }) => verdict === 'unknown') ? 'unknown' : 'no measurable difference'}`]
  }
  const noun = shown.some(({ isByCount }) => isByCount) ? '' : MEASURES[all[0].measure].noun
  const where = shown.length === all.length
    ? ''
    : shown.length === 1 ? ` at ${shown[0].level}` : ` at ${shown.length} of ${all.length} levels`
  const isLess = shown.every((one) => Number(decidingRatio(one)) < 1)
  const span = isLess ? `${spanOf(shown, shareText)} % of` : `${spanOf(shown)} x`
  const texts = [`${a}: ${span} ${b}${where}`, `${arm}: ${span} ${against}${where}`]
  return noun ? [`${a}: ${span} the ${noun} of ${b}${where}`, ...texts] : texts
}

const shareText = (/** @type {number} */ ratio) => ratio < 0.1 ? (ratio * 100).toPrecision(2) : String(Math.round(ratio * 100))

/** @param {Analysis} analysis @param {Plan} plan @returns {string[]} without another arm */
function alone (analysis, plan) {
  for (const level of Object.keys(plan.levels)) {
    const of = isUnbound(analysis, plan.baseline, level) && figureOf(analysis, { arm: plan.baseline, level })
    if (of) return [`${labelOf(plan.baseline, plan)}: ${medianText(of)} ${unitOf(analysis.main)} at ${level}`]
  }
  const isBound = Object.keys(plan.levels).some((level) => !isUnbound(analysis, plan.baseline, level))
  return [isBound ? 'No finding: the load was at its limit' : 'No finding: the baseline has no valid measurement']
}
