/**
 * Published figures beside ours. Absolute figures are from other machines; what to reproduce is the ratio
 * between arms, and each row says whether ours is on the same side of 1.
 */
import { directionText, figureOf, publishedText, titleOf } from './figures.js'
import { code, list, table } from './markdown-table.js'
import { figure, ratioWithInterval } from './numbers.js'

/** @typedef {import('../analysis/index.js').Analysis} Analysis */
/** @typedef {import('../plan/index.js').Plan} Plan */

/** @param {Analysis} analysis @param {Plan} plan @returns {string} Markdown; empty when nothing was published */
export function publishedSection (analysis, plan) {
  if (!plan.published) return ''
  const { source, conditions, unit, figures } = plan.published
  const measure = comparable(analysis, plan, unit)
  return list([`source: ${source}`, `conditions there: ${conditions}`]) +
    table(['published ratio', 'level here', '>published', '>ours', 'same direction'], ratios(analysis)) +
    table(['published figure', 'arm here', `>published, ${unit}`,
      `>ours: ${titleOf(measure)}`], figures.map(({ label, value, arm, level }) =>
      [label, arm === undefined ? 'none' : code(arm), figure(value),
        arm === undefined ? '-' : oursOf({ analysis, plan, measure, arm, level })]))
}

/** @param {Analysis} analysis @returns {string[][]} */
const ratios = ({ comparisons }) => comparisons.filter(({ published }) => published).map((one) => [
  `${code(one.arm)} against ${code(one.against)}: ${one.published?.label}`,
  one.level,
  publishedText(Number(one.published?.value)),
  ratioWithInterval(one),
  directionText(one).replace(/^no$/, '**no**')
])

/**
 * Published figures of an arm in one line; those without a level are shown at the first level of the arm.
 * @param {Analysis} analysis
 * @param {Plan} plan
 * @param {{ arm: string, level: string } | null} place null: those without an arm here
 * @returns {string[]} such as "published: 11, 36, 50 (percent)"
 */
export function publishedOf ({ cells }, { published }, place) {
  if (!published) return []
  const first = cells.find(({ arm }) => arm === place?.arm)?.level
  const values = published.figures.filter(({ arm, level }) => arm === place?.arm && (place === null || (level ?? first) === place.level))
    .map(({ value }) => value)
  return values.length
    ? [`published${place === null ? ' for what was not measured here' : ''}: ` +
      `${values.map((value) => value.toLocaleString('en')).join(', ')} (${published.unit})`]
    : []
}

/**
 * The measure closest to the published one, which is in percent of a processor or has no counterpart.
 * @param {Analysis} analysis
 * @param {Plan} plan
 * @param {string} unit
 */
const comparable = ({ main }, { measures }, unit) =>
  /percent\b|%/i.test(unit) && measures.includes('primaryCpuPercent') ? 'primaryCpuPercent' : main

/**
 * @param {{ analysis: Analysis, plan: Plan, measure: string, arm: string, level: string | undefined }} of
 * @returns {string} at that level, else at each
 */
function oursOf ({ analysis, plan, measure, arm, level }) {
  const levels = level === undefined ? Object.keys(plan.levels) : [level]
  const shown = levels.flatMap((one) => {
    const of = figureOf(analysis, { arm, level: one }, measure)
    return of ? [`${figure(of.median)}${levels.length > 1 ? ` (${one})` : ''}`] : []
  })
  return shown.join(', ') || '-'
}
