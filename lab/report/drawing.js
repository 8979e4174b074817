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
import { comparisonsOf, figureOf, ratioText, titleOf } from './figures.js'
import { isOverX, noiseAtLevels } from './finding.js'
import { headlineOf } from './headline.js'
import { figure } from './numbers.js'
import { noiseRemarks, remarksOf } from './remarks.js'
import { labelOf, labelWithRole, roleOf } from './roles.js'
import { MEASURES } from '../measures.js'

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
    title: (result.settings.quick ? 'Not a result: ' : '') + headlineOf(analysis, plan),
    subtitle: plan.question,
    axis: `${titleOf(analysis.main)} (${MEASURES[analysis.main].isBetter ?? 'lower'} is better)`,
    columns: { value: 'median', ratio: 'ratio' },
    interval: 'median of the rounds and its 95 % interval',
    published: 'what the ratio of the published study would give',
    caption: [limitText(analysis, plan), noiseText(analysis, plan, kind), captionOf(result, plan)].filter((line) => line !== ''),
    rows: analysis.cells.filter(({ arm }) => kind === 'bars' || roleOf(arm, plan) !== 'repeat').map((cell) =>
      rowOf(analysis, plan, { ...cell, kind }))
  }
}

/** @param {Analysis} analysis @param {Plan} plan */
function limitText ({ cells }, { ceiling, arms }) {
  if (!cells.some(({ arm }) => arm === ceiling)) return ''
  const { note, contention } = arms[ceiling]
  return `(limit): ${note ?? (contention ? 'the same load, and nothing decides' : 'the same bytes without Freshet, in plain SET commands')}`
}

/** @param {Analysis} analysis @param {Plan} plan @param {Drawing['kind']} kind */
function noiseText (analysis, plan, kind) {
  const noise = noiseAtLevels(analysis)
  const what = kind === 'bars' ? '(again): the baseline measured once more' : `${labelOf(plan.baseline, plan)} measured twice`
  return noise && `${what}, ${noise}; differences within this are noise`
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
    arm: labelWithRole(arm, plan),
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
