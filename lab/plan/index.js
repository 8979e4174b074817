/**
 * The plan of an experiment: arms, levels, durations and expectations. Plain data, validated as a whole before the first server
 * starts; all faults are reported at once.
 *
 *     plan.js -> readPlan -> Plan (frozen, defaults filled) -> schedule.js -> cells
 *
 * A cell is an arm at a level; settings of the arm override those of the level, which override `fixed`. Ratios are to the
 * baseline of the same level. The ceiling is an arm that sends the same bytes without our code (L11); it shows the limit. The
 * caller passes the function that checks settings.
 *
 * @typedef {Record<string, string | number | boolean | null>} Settings of the writer, by name
 * @typedef {{ load: string, settings: Settings, serving?: import('../serving/plan.js').Serving, engine?: string,
 *   servers?: string, contention?: Settings, note?: string }} Arm
 *   `load`: 'writer' = `npm start writer`, else one of the lab's own (loads/); `serving`: what serves HTTP beside it
 * @typedef {{ settings: Settings, serving?: import('../serving/plan.js').ServingOfLevel, engine?: string, servers?: string,
 *   contention?: Settings, x?: number, without: string[] }} Level
 *   `servers`: one of SHAPES (servers/shapes.js)
 *   `contention`: bids instead of items (systems/plan.js), the parts of arm and level together; `serving` overrides that of every
 *   arm; `x`: position on the axis of a chart; `without`: arms that are not measured there
 * @typedef {'less' | 'more' | 'same'} Direction
 * @typedef {{ arm: string, against: string, direction: Direction, level?: string }} Expectation of the main measure
 * @typedef {{ arm: string, against: string, level?: string }} Pair
 * @typedef {{ measure: string, arm: string, against?: string, most?: number, least?: number, level?: string }} Budget a
 *   bound of the measure, in
 *   its unit, or of its ratio to another arm (budgets.js)
 * @typedef {{ label: string, value: number, arm?: string, level?: string }} Figure without an arm: there is no such arm here
 * @typedef {{ arm: string, against: string, value: number, direction?: Direction, label: string, level?: string }} Ratio of the main
 *   measure; `direction`: where the value claims another one
 * @typedef {{ source: string, conditions: string, unit: string, figures: Figure[], ratios: Ratio[] }} Published
 * @typedef {{ about?: About, levels?: string[], arms?: string[], overTime?: string }} Chart `levels`, `arms`: those in the picture, by
 *   default all; a page has them all; `overTime`: the level of a second picture, of each second of its windows
 * @typedef {{ measure?: string, arm: string, against?: string, level?: string, says: string }} About the title, with {} for the ratio of
 *   the pair, or for the figure of the arm, of the first measure unless it names one
 *
 * @typedef {{ levels?: string[], without?: string[], why?: string }} CountedPart levels and arms whose instructions are counted, by default
 *   all; no level: none; `why` the rest is not
 *
 * @typedef {object} Plan
 * @property {string} name of its folder, or `ad-hoc`
 * @property {string} number three digits; empty when ad hoc
 * @property {string} title
 * @property {string} question
 * @property {string} baseline
 * @property {string} ceiling
 * @property {Record<string, Arm>} arms
 * @property {Record<string, string>} [labels] of arms, in plain words, for charts; absent in old results
 * @property {Chart} [chart] what the chart shows of it; absent in old results
 * @property {Record<string, string>} [formerly] arms and levels of older results by the names that they had then
 * @property {Record<string, Level>} levels
 * @property {Settings} fixed
 * @property {number} seconds of a window
 * @property {number} warmUpSeconds
 * @property {number} [overheadSeconds] of a measurement besides warm-up and window, for the estimate; absent in old results
 * @property {number} rounds
 * @property {CountedPart} [counted] absent in results
 * @property {string[]} measures the first is the main one
 * @property {string[]} differs differences in the work of arms (L12)
 * @property {Expectation[]} expected
 * @property {Pair[]} [pairs] compared beside those with the baseline; absent in old results
 * @property {Budget[]} [budgets] absent in old results
 * @property {boolean} fixedAndMarginal whether to fit a line of fixed and marginal cost through the levels
 * @property {Published | null} published
 * @property {string[]} notControlled
 *
 * @typedef {{ checkSettings: (settings: Settings, command?: 'writer' | 'reader') => string[] }} Known returns one sentence
 *   for each fault, which begins with the name of the setting
 */
import { FreshetError } from '../errors.js'
import { loadNames } from '../loads/index.js'
import { MEASURES } from '../analysis/measures.js'
import { faultsBetween } from './plan-faults.js'
import { SHAPES } from '../servers/shapes.js'
import { servingOfLevelShape, servingShape } from '../serving/plan.js'
import { contentionShape } from '../systems/plan.js'
import { integer, list, matching, named, number, object, oneOf, orNull, scalar, text, trueOrFalse } from './shape.js'

/** The second arm of the A/A pair: the baseline again (L10). */
export const AA_SUFFIX = ' (A/A)'
/** Servers, replicas and checks besides warm-up and window: 1.9 s in the committed results, 0.4 (005) to 4.2 (016). */
export const OVERHEAD_SECONDS = 2
const DIRECTIONS = ['less', 'more', 'same']

const name = matching(`1 to 60 characters without commas and without ${AA_SUFFIX.trim()} at the end`, /^(?!.*\(A\/A\)$)[^,\p{Cc}]{1,60}$/u)
const levelName = matching('1 to 60 characters', /^[^\p{Cc}]{1,60}$/u)
const engine = matching('valkey or redis, with a version if need be, such as valkey 9.1', /^(valkey|redis)( \d+(\.\d+){0,2})?$/)
const servers = oneOf(Object.keys(SHAPES))
const settings = named(text(60), scalar)

const SHAPE = object({
  title: text(80),
  question: text(200),
  baseline: text(60),
  ceiling: text(60),
  arms: named(name, object({
    load: [oneOf(['writer', ...loadNames()]), 'writer'],
    settings: [settings, {}],
    serving: [servingShape, undefined],
    engine: [engine, undefined],
    servers: [servers, undefined],
    contention: [contentionShape, undefined],
    note: [text(), undefined]
  }), 2),
  labels: [named(text(60), text(24)), {}],
  chart: [object({
    about: [object({
      measure: [oneOf(Object.keys(MEASURES)), undefined],
      arm: text(60),
      against: [text(60), undefined],
      level: [text(60), undefined],
      says: matching('a text with {}, at most 64 characters', /^(?=.{3,64}$)[^{}]*\{\}[^{}]*$/)
    }), undefined],
    levels: [list(text(60), 1), undefined],
    arms: [list(text(60), 2), undefined],
    overTime: [text(60), undefined]
  }), {}],
  formerly: [named(text(60), text(60)), {}],
  levels: named(levelName, object({
    settings: [settings, {}],
    serving: [servingOfLevelShape, undefined],
    engine: [engine, undefined],
    servers: [servers, undefined],
    contention: [contentionShape, undefined],
    x: [number(0, 1e9), undefined],
    without: [list(text(60)), []]
  }), 1),
  fixed: [settings, {}],
  seconds: number(1, 3600),
  warmUpSeconds: number(0, 600),
  overheadSeconds: [number(0, 600), OVERHEAD_SECONDS],
  rounds: integer(5, 100),
  counted: [object({ levels: [list(text(60)), undefined], without: [list(text(60)), undefined], why: [text(160), undefined] }), undefined],
  measures: list(oneOf(Object.keys(MEASURES)), 1),
  differs: [list(text()), []],
  expected: [list(object({ arm: text(60), against: text(60), direction: oneOf(DIRECTIONS), level: [text(60), undefined] })), []],
  pairs: [list(object({ arm: text(60), against: text(60), level: [text(60), undefined] })), []],
  budgets: [list(object({
    measure: text(60),
    arm: text(60),
    against: [text(60), undefined],
    most: [number(0, 1e12), undefined],
    least: [number(0, 1e12), undefined],
    level: [text(60), undefined]
  })), []],
  fixedAndMarginal: [trueOrFalse, false],
  published: [orNull(object({
    source: text(),
    conditions: text(),
    unit: text(200),
    figures: [list(object({ label: text(200), value: number(0, 1e12), arm: [text(60), undefined], level: [text(60), undefined] })), []],
    ratios: [list(object({
      arm: text(60),
      against: text(60),
      value: number(1e-6, 1e6),
      direction: [oneOf(DIRECTIONS), undefined],
      label: text(200),
      level: [text(60), undefined]
    })), []]
  })), null],
  notControlled: [list(text()), []]
})

/**
 * @param {string} planName of its folder, such as 007-reference-or-value, or `ad-hoc`
 * @param {unknown} raw what plan.js exports
 * @param {Known} known
 * @returns {Plan} frozen, defaults filled
 * @throws {FreshetError} PLAN_INVALID with all faults, `faults` one by one
 */
export function readPlan (planName, raw, { checkSettings }) {
  /** @type {string[]} */
  const faults = []
  const number = /^(\d{3})-[a-z0-9]+(-[a-z0-9]+)*$/.exec(planName)?.[1] ?? ''
  if (number === '' && planName !== 'ad-hoc') {
    faults.push(`folder name: ${planName}; expected three digits and words, such as 013-my-question`)
  }
  const plan = { name: planName, number, ...SHAPE(raw, '', faults) }
  faults.push(...faultsBetween(plan, checkSettings))
  if (faults.length > 0) throw invalid(planName, faults)
  return frozen(plan)
}

/** @param {string} planName @param {string[]} faults */
const invalid = (planName, faults) => new FreshetError('PLAN_INVALID',
  faults.length === 1 ? `plan ${planName}: ${faults[0]}` : `plan ${planName} has ${faults.length} faults:\n  ${faults.join('\n  ')}`,
  { plan: planName, faults })

/** @template T @param {T} value @returns {T} deeply frozen */
function frozen (value) {
  if (value !== null && typeof value === 'object') Object.values(Object.freeze(value)).forEach(frozen)
  return value
}
