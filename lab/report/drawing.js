/**
 * A result as a drawing: plain data for a renderer (charts/draw.js), with all words and numbers as
 * shown. Lines where levels have an x, else bars.
 *
 * @typedef {import('../analysis.js').Analysis} Analysis
 * @typedef {import('../analysis.js').Result} Result
 * @typedef {import('../plan.js').Plan} Plan
 *
 * @typedef {object} Row one arm at one level: one bar, or one point of a line
 * @property {string} level
 * @property {number | null} x place on the axis, for lines
 * @property {string} arm
 * @property {import('./roles.js').Role} role
 * @property {number | null} mid of the main measure; null: no value, and `mark` says why
 * @property {number | null} low
 * @property {number | null} high
 * @property {number | null} published in the unit of mid: the published ratio times our figure of the other arm
 * @property {string} value
 * @property {string} ratio
 * @property {string} mark remarks about the row; empty if there are none
 *
 * @typedef {object} Drawing
 * @property {'bars' | 'lines'} kind
 * @property {string} title the finding
 * @property {string} subtitle what is shown
 * @property {string} axis
 * @property {{ value: string, ratio: string }} columns
 * @property {string} interval what an error bar is
 * @property {string} published what a diamond is
 * @property {string[]} caption
 * @property {Row[]} rows
 */
import { captionOf } from './conditions.js'
import { comparisonsOf, figureOf, plain, ratioText, titleOf } from './figures.js'
import { findingOf, isOverX, noiseOf } from './finding.js'
import { figure } from './numbers.js'
import { noiseRemarks, remarksOf } from './remarks.js'
import { roleOf, shownArm } from './roles.js'

/** characters: a longer name leaves too little room for the bars */
const LONG_NAME = 24

/**
 * @param {Analysis} analysis
 * @param {Result} result
 * @param {Plan} plan
 * @returns {Drawing}
 */
export function drawingOf (analysis, result, plan) {
  const levels = new Set(analysis.cells.map(({ level }) => level))
  const kind = isOverX(plan) && levels.size > 1 ? 'lines' : 'bars'
  return {
    kind,
    title: (result.settings.quick ? 'Not a result: ' : '') + plain(findingOf(analysis, plan)),
    subtitle: plan.question,
    axis: titleOf(analysis.main),
    columns: { value: 'median', ratio: `ratio to ${plan.baseline.length > LONG_NAME ? 'the baseline' : plan.baseline}` },
    interval: 'median of the rounds and its 95 % interval',
    published: 'published ratio, applied to our figure',
    caption: [plain(noiseOf(analysis, plan)), captionOf(result, plan)].filter((line) => line !== ''),
    rows: analysis.cells.filter(({ arm }) => kind === 'bars' || roleOf(arm, plan) !== 'repeat').map((cell) =>
      rowOf(analysis, plan, { ...cell, kind }))
  }
}

/** @param {Analysis} analysis @param {Plan} plan @param {import('./figures.js').Place & { kind: Drawing['kind'] }} place @returns {Row} */
function rowOf (analysis, plan, { arm, level, kind }) {
  const place = { arm, level }
  const of = figureOf(analysis, place)
  const known = comparisonsOf(analysis, place).find(({ published }) => published)
  const to = known && figureOf(analysis, { arm: known.against, level })
  return {
    level,
    x: plan.levels[level]?.x ?? null,
    arm: shownArm(arm, plan),
    role: roleOf(arm, plan),
    mid: of?.median ?? null,
    low: of?.low ?? null,
    high: of?.high ?? null,
    published: known?.published && to ? known.published.value * to.median : null,
    value: of ? figure(of.median) : '',
    ratio: of ? ratioText(analysis, plan, place) : '',
    mark: [
      ...(of && of.low === null ? ['too few rounds for an interval'] : []),
      ...remarksOf(analysis, place, { reasons: of || kind === 'lines' ? 0 : 1 }),
      ...(kind === 'bars' ? noiseRemarks(analysis, place) : [])
    ].join('; ') || (of ? '' : 'no valid measurement has a value')
  }
}
