/**
 * A result as a drawing: plain data for a renderer (charts/draw.js), with all words and numbers as
 * shown. Lines where levels have an x, else bars.
 *
 * @typedef {import('../analysis/index.js').Analysis} Analysis
 * @typedef {import('../analysis/index.js').Result} Result
 * @typedef {import('../plan/index.js').Plan} Plan
 * @typedef {import('../../charts/draw.js').Row} Row
 * @typedef {import('../../charts/draw.js').Drawing} Drawing
 */
import { captionOf } from './conditions.js'
import { comparisonsOf, figureOf, ratioText, titleOf } from './figures.js'
import { isOverX, noiseAtLevels } from './finding.js'
import { headlineOf } from './headline.js'
import { capitalized, medianText } from './numbers.js'
import { noiseRemarks, remarksOf } from './remarks.js'
import { aboutCeiling, labelOf, labelWithRole, roleOf } from './roles.js'
import { MEASURES } from '../analysis/measures.js'

/**
 * @param {Analysis} measured
 * @param {Result} result
 * @param {Plan} whole
 * @returns {Drawing} of the levels and arms that the plan puts in the picture
 */
export function drawingOf (measured, result, whole) {
  const plan = inPicture(whole)
  const analysis = ofMeasure(measured, whole.chart?.about?.measure)
  const cells = analysis.cells.filter(({ arm, level }) => level in plan.levels && isShownArm(arm, plan))
  const kind = isOverX(plan) && new Set(cells.map(({ level }) => level)).size > 1 ? 'lines' : 'bars'
  const rows = cells.filter(({ arm }) => kind === 'bars' || roleOf(arm, plan) !== 'repeat')
  return {
    kind,
    title: (result.settings.quick ? 'Not a result: ' : '') + headlineOf(measured, whole),
    subtitle: plan.question,
    axis: `${titleOf(analysis.main)} (${MEASURES[analysis.main].isBetter ?? 'lower'} is better)`,
    columns: { value: 'median', ratio: 'ratio' },
    interval: 'median of the rounds and its 95 % interval',
    published: 'what the ratio of the published study would give',
    notes: notesOf(rows.map((cell) =>
      ({ arm: labelWithRole(cell.arm, plan), level: cell.level, remarks: remarksAbout(analysis, plan, cell) }))),
    caption: [restText(analysis, cells), limitText(analysis, plan), noiseText(analysis, plan, kind), captionOf(result, plan)]
      .filter((line) => line !== ''),
    rows: rows.map((cell) => rowOf(analysis, plan, cell))
  }
}

/** A picture shows what its title is about. @param {Analysis} analysis @param {string} [measure] @returns {Analysis} */
const ofMeasure = (analysis, measure = analysis.main) => measure === analysis.main
  ? analysis
  : { ...analysis, main: measure, comparisons: analysis.further.filter((one) => one.measure === measure) }

/** @param {Plan} plan @returns {Plan} with the levels of its chart */
function inPicture (plan) {
  const levels = plan.chart?.levels
  return levels ? { ...plan, levels: Object.fromEntries(levels.map((level) => [level, plan.levels[level]])) } : plan
}

/** The baseline and its repetition are always shown. @param {string} arm @param {Plan} plan */
const isShownArm = (arm, plan) => !plan.chart?.arms || plan.chart.arms.includes(arm) || ['baseline', 'repeat'].includes(roleOf(arm, plan))

/** @param {Analysis} analysis @param {Analysis['cells']} shown */
const restText = ({ cells }, shown) => shown.length === cells.length
  ? ''
  : `${cells.length - shown.length} more figures, of other arms and levels, are in the tables of the page beside this chart`

/** @param {Analysis} analysis @param {Plan} plan */
function limitText ({ cells }, plan) {
  const { ceiling, chart } = plan
  if (!cells.some(({ arm }) => arm === ceiling) || (chart?.arms && !chart.arms.includes(ceiling))) return ''
  return `(limit): ${aboutCeiling(plan, 'the same bytes without Freshet, in plain SET commands')}`
}

/** @param {Analysis} analysis @param {Plan} plan @param {Drawing['kind']} kind */
function noiseText (analysis, plan, kind) {
  const noise = noiseAtLevels({ ...analysis, noise: analysis.noise.filter(({ level }) => level in plan.levels) })
  const what = kind === 'bars' ? '(again): the baseline measured once more' : `${labelOf(plan.baseline, plan)} measured twice`
  return noise && `${what}, ${noise}; a ratio no farther from 1 is noise`
}

const withoutCount = (/** @type {string} */ remark) =>
  remark.replace(/ in (\d+) of \1 rounds?$/, '').replace(/ in \d+ of \d+ rounds?$/, ' in some rounds')

/**
 * @param {Analysis} analysis @param {Plan} plan @param {import('./figures.js').Place} place
 * @returns {string[]} without counts of rounds, which pages have
 */
function remarksAbout (analysis, plan, place) {
  const of = figureOf(analysis, place)
  return [
    ...(of && of.low === null ? ['too few rounds for an interval'] : []),
    ...(of ? remarksOf(analysis, place, { reasons: 0 }).map(withoutCount) : []),
    ...noiseRemarks(analysis, place, (arm) => labelOf(arm, plan))
  ]
}

/**
 * A line for each remark, with the arms of which it is true.
 * @param {{ arm: string, level: string, remarks: string[] }[]} rows
 */
function notesOf (rows) {
  const remarks = [...new Set(rows.flatMap(({ remarks }) => remarks))]
  return remarks.map((remark) => {
    const those = rows.filter((row) => row.remarks.includes(remark))
    if (those.length === rows.length) return `${capitalized(remark)}: all arms`
    const arms = [...new Set(those.map(({ arm }) => arm))].map((arm) => {
      const levels = those.filter((row) => row.arm === arm).map(({ level }) => level)
      return levels.length === rows.filter((row) => row.arm === arm).length ? arm : `${arm} at ${levels.join(' and ')}`
    })
    return `${capitalized(remark)}: ${arms.join('; ')}`
  })
}

/** @param {Analysis} analysis @param {import('./figures.js').Place} place @returns {string} empty: each round is in the figure */
function failureText ({ cells }, { arm, level }) {
  const cell = cells.find((one) => one.arm === arm && one.level === level)
  const failed = cell ? cell.invalid + Object.values(cell.ended).reduce((sum, n) => sum + n, 0) : 0
  return failed === 0 ? '' : `failed in ${failed} of ${failed + Number(cell?.n)} rounds`
}

/** @param {Analysis} analysis @param {Plan} plan @param {import('./figures.js').Place} place @returns {Row} */
function rowOf (analysis, plan, { arm, level }) {
  const place = { arm, level }
  const of = figureOf(analysis, place)
  const known = comparisonsOf(analysis, place).find(({ published }) => published)
  const to = known && figureOf(analysis, { arm: known.against, level })
  return {
    level,
    x: plan.levels[level]?.x ?? null,
    arm: labelWithRole(arm, plan),
    role: roleOf(arm, plan),
    mid: of?.median ?? null,
    low: of?.low ?? null,
    high: of?.high ?? null,
    published: known?.published?.value && to ? known.published.value * to.median : null,
    value: of ? medianText(of) : '',
    ratio: of ? ratioText(analysis, plan, place) : '',
    mark: of ? failureText(analysis, place) : remarksOf(analysis, place, { reasons: 1 }).join('; ') || 'no valid measurement has a value'
  }
}
