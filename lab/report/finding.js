/**
 * The results in words: a sentence for each arm in question over all levels. The order is that of the plan's expectations, which
 * were written before the first run: so the outcome does not select what comes first.
 *
 * The ceiling and the A/A pair are no findings. Where an interval contains 1, or a difference is no larger than that of the
 * A/A pair, the sentence says that there is no measurable difference.
 */
import { MEASURES } from '../analysis/measures.js'
import { decidingRatio, isShown, textsOf } from '../analysis/verdict.js'
import { figureOf, unitOf } from './figures.js'
import { figure, ratioWithInterval } from './numbers.js'
import { aboutCeiling, roleOf } from './roles.js'

/** @typedef {import('./figures.js').Analysis} Analysis */
/** @typedef {import('./figures.js').Plan} Plan */
/** @typedef {import('./figures.js').Comparison} Comparison */
/** @typedef {{ arm: string, against: string, all: Comparison[] }} Pair one arm against another, one comparison a level */

/** @param {Analysis} analysis @param {Plan} plan @returns {Pair[]} in question */
export function pairsOf ({ comparisons, main }, plan) {
  const inQuestion = comparisons.filter(({ measure, arm, against }) =>
    measure === main && [arm, against].every((one) => roleOf(one, plan) !== 'ceiling'))
  /** @type {Pair[]} */
  const pairs = []
  for (const one of inQuestion) {
    const pair = pairs.find(({ arm, against }) => arm === one.arm && against === one.against)
    if (!pair) pairs.push({ arm: one.arm, against: one.against, all: [one] })
    else if (!pair.all.some(({ level }) => level === one.level)) pair.all.push(one)
  }
  const place = (/** @type {Pair} */ pair) => plan.expected.findIndex(({ arm, against }) => arm === pair.arm && against === pair.against)
  const isExpected = (/** @type {Pair} */ pair) => place(pair) >= 0
  return [...pairs.filter(isExpected).sort((a, b) => place(a) - place(b)), ...pairs.filter((pair) => !isExpected(pair))]
}

/** @param {Analysis} analysis @param {Plan} plan @returns {string[]} a sentence for each pair */
export const verdictsOf = (analysis, plan) => pairsOf(analysis, plan).map((pair) => sentenceOf(pair, plan))

/** @param {Pair} pair @param {Plan} plan @returns {string} */
function sentenceOf ({ arm, against, all }, { levels }) {
  if (all.length === 1) return all[0].sentence + (Object.keys(levels).length > 1 ? ` at ${all[0].level}` : '')
  const [less, more] = /** @type {const} */ (['less', 'more']).map((verdict) =>
    all.filter((one) => one.verdict === verdict && isShown(one)))
  const [none, unknown] = /** @type {const} */ (['none', 'unknown']).map((verdict) => all.filter((one) => one.verdict === verdict))
  const within = all.filter(({ withinNoise }) => withinNoise)
  for (const different of [less, more]) {
    if (different.length === all.length) {
      return `\`${arm}\` ${MEASURES[all[0].measure].verb} ${spanOf(different)} x \`${against}\` ${at(different, all)}${byCount(different)}`
    }
  }
  const parts = [
    ...(less.length ? [`less ${at(less, all)} (${spanOf(less)} x${byCount(less)})`] : []),
    ...(more.length ? [`more ${at(more, all)} (${spanOf(more)} x${byCount(more)})`] : []),
    ...(none.length ? [`no measurable difference ${at(none, all)}`] : []),
    ...(within.length ? [`no difference beyond the noise of this machine ${at(within, all)}`] : []),
    ...(unknown.length ? [`unknown ${at(unknown, all)}`] : [])
  ]
  return `\`${arm}\` against \`${against}\`: ${parts.join(', ')}`
}

/** @param {Comparison[]} those @param {Comparison[]} all */
function at (those, all) {
  if (those.length === 1) return `at ${those[0].level}`
  if (those.length < all.length) return `at ${those.length} of ${all.length} levels`
  return all.length === 2 ? 'at both levels' : `at all ${all.length} levels`
}

/** @param {Comparison[]} those @returns {string} how many differ by a count of instructions alone */
function byCount (those) {
  const counted = those.filter(({ isByCount }) => isByCount).length
  return counted === 0 ? '' : counted === those.length ? ', by count' : `, ${counted} by count`
}

/** @param {number} ratio that is not 1 @returns {string} such as 2.05 */
const timesText = (ratio) => textsOf([ratio], true)[0]

/** The smallest and the largest ratio. @param {Comparison[]} those @param {(ratio: number) => string} [textOf] @returns {string} */
export function spanOf (those, textOf = timesText) {
  const ratios = those.map((one) => Number(decidingRatio(one)))
  const [least, most] = [Math.min(...ratios), Math.max(...ratios)].map(textOf)
  return least === most ? least : `${least} to ${most}`
}

/** Whether every level has an x of its own. @param {Plan} plan @returns {boolean} */
export function isOverX ({ levels }) {
  const places = Object.values(levels).map(({ x }) => x)
  return places.length > 1 && places.every((x) => typeof x === 'number') && new Set(places).size === places.length
}

/**
 * The figure of the baseline at its first and last level.
 * @param {Analysis} analysis
 * @param {Plan} plan
 * @returns {{ level: string, median: number }[] | null} null where levels have no x, or the figure is missing
 */
export function endsOf (analysis, plan) {
  if (!isOverX(plan)) return null
  const levels = Object.keys(plan.levels).sort((a, b) => Number(plan.levels[a].x) - Number(plan.levels[b].x))
  const ends = [levels[0], levels[levels.length - 1]]
    .map((level) => ({ level, median: figureOf(analysis, { arm: plan.baseline, level })?.median ?? NaN }))
  return ends.some(({ median }) => Number.isNaN(median)) ? null : ends
}

/** @param {Analysis} analysis @param {Plan} plan @returns {string[]} the baseline over the levels, empty where they have no x */
export function changeOf (analysis, plan) {
  const ends = endsOf(analysis, plan)
  if (ends === null) return []
  const [first, last] = ends
  return [`\`${plan.baseline}\`: ${figure(first.median)} ${unitOf(analysis.main)} at ${first.level}, ${figure(last.median)} at ` +
    `${last.level}`]
}

/** @param {Analysis} analysis @param {Plan} plan @returns {string} the A/A pair; empty when it was not measured */
export function noiseOf (analysis, { baseline }) {
  const noise = noiseAtLevels(analysis)
  return noise && `\`${baseline}\` measured twice (A/A): ${noise}`
}

/** @param {Analysis} analysis @returns {string} the ratios of the A/A pair; empty when it was not measured */
export const noiseAtLevels = ({ noise, main }) => atLevels(noise.filter(({ measure, ratio }) => measure === main && ratio !== null))

/** @param {Analysis} analysis @param {Plan} plan @returns {string} the ceiling against the baseline; empty when it was not measured */
export function ceilingOf ({ comparisons, main }, plan) {
  const { ceiling, baseline } = plan
  const those = comparisons.filter(({ arm, against, measure, ratio }) =>
    arm === ceiling && against === baseline && measure === main && ratio !== null)
  return those.length === 0 ? '' : `ceiling: \`${ceiling}\` (${aboutCeiling(plan)}) against \`${baseline}\`: ${atLevels(those)}`
}

/** @param {({ level: string } & import('../analysis/verdict.js').RatioWithInterval)[]} those */
const atLevels = (those) => those.map((one) => `${ratioWithInterval(one)}${those.length > 1 ? ` at ${one.level}` : ''}`).join(', ')
