/**
 * The cells of a plan: its arms at its levels, with the settings of their loads.
 *
 * @typedef {import('./index.js').Plan} Plan
 * @typedef {import('./index.js').Settings} Settings
 * @typedef {{ level: string, arm: string }} Cell
 */
import { LOADS } from '../loads/index.js'
import { servingAt } from '../serving/plan.js'
import { at } from './shape.js'

/** The writer's defaults, as far as the lab needs them; a test compares them with settings.js. */
export const WRITER_DEFAULTS = Object.freeze({
  layout: 'ids',
  rate: 10_000,
  ids: 100_000,
  writers: 1,
  valueBytes: 128,
  valueChange: 'always',
  lateEvery: 0,
  pace: 'steady',
  periodMs: 1000,
  windowMs: 60_000,
  maxItems: 1_000_000
})

/** @param {Plan} plan possibly incomplete @returns {(Cell & { settings: Settings })[]} all cells, with their explicit settings */
export const cellsOf = ({
  arms = {}, levels = {}, fixed = {}
}) => Object.entries(levels).flatMap(([level, { settings: ofLevel, without = [] }]) =>
  Object.entries(arms).filter(([arm]) => !without.includes(arm))
    .map(([arm, { settings: ofArm }]) => ({ level, arm, settings: { ...fixed, ...ofLevel, ...ofArm } })))

/**
 * What an arm is at a level.
 * @param {Plan} plan @param {Cell} cell
 * @returns {{ load: string, serving: import('../serving/plan.js').Serving | undefined, engine: string | null, servers: string | null,
 *   contention: import('../systems/plan.js').Contention | undefined }} `engine`, `servers`: null = the default
 */
export function partsAt ({ arms, levels }, { level, arm }) {
  const [ofArm, ofLevel] = [arms[arm], levels[level]]
  const hasContention = ofArm.contention || ofLevel.contention
  return {
    load: ofArm.load ?? 'writer',
    serving: servingAt(ofArm.serving, ofLevel.serving),
    engine: ofArm.engine ?? ofLevel.engine ?? null,
    servers: ofArm.servers ?? ofLevel.servers ?? null,
    contention: hasContention && /** @type {any} */ ({ ...ofLevel.contention, ...ofArm.contention })
  }
}

/** The path of a setting of a cell. @param {Plan} plan @param {Cell} cell @param {string} setting @returns {string | undefined} */
export function pathOfSetting ({ arms, levels, fixed }, { level, arm }, setting) {
  const paths = /** @type {[string, Settings | undefined][]} */ ([[`${at('arms', arm)}.settings`, arms[arm].settings],
    [`${at('levels', level)}.settings`, levels[level].settings], ['fixed', fixed]])
  return paths.find(([, of]) => of && Object.hasOwn(of, setting))?.[0]
}

/** @param {string} load @returns {Partial<import('../loads/index.js').Load>} empty for `writer` and unknown names */
export const loadNamed = (load) => Object.hasOwn(LOADS, load ?? '') ? LOADS[load] : {}

/**
 * @param {string} load
 * @returns {readonly ('windowMs' | 'maxItems')[]} bounds of retention by which it drops items; a writer's are the
 *   library's
 */
export const boundsOf = (load) => (load === 'writer' ? LOADS.library : loadNamed(load)).bounds ?? []

/**
 * The settings of a load, with defaults.
 * @param {string} load @param {Settings} settings
 * @returns {Record<string, any>}
 */
export const settled = (load, settings) => ({
  ...WRITER_DEFAULTS,
  ...(settings.sortedSetContainsActualValue === true && { layout: 'values' }),
  ...Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null)),
  ...loadNamed(load).always
})
