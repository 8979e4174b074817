/**
 * The cells of a plan: its arms at its levels, with the settings that their loads are given.
 *
 * @typedef {import('./plan.js').Plan} Plan
 * @typedef {import('./plan.js').Settings} Settings
 * @typedef {{ level: string, arm: string }} Cell
 */
import { LOADS } from './loads/index.js'
import { at } from './shape.js'

/** What a writer has where a plan does not say; a test holds them to settings.js. */
export const WRITER_DEFAULTS = Object.freeze({
  layout: 'ids', rate: 10_000, ids: 100_000, writers: 1, valueBytes: 128, valueChange: 'always', pace: 'steady', periodMs: 1000, windowMs: 60_000, maxItems: 1_000_000
})

/** @param {Plan} plan which may lack parts @returns {(Cell & { settings: Settings })[]} all cells, with settings as they are written */
export const cellsOf = ({ arms = {}, levels = {}, fixed = {} }) => Object.entries(levels).flatMap(([level, { settings: ofLevel, without = [] }]) =>
  Object.entries(arms).filter(([arm]) => !without.includes(arm)).map(([arm, { settings: ofArm }]) => ({ level, arm, settings: { ...fixed, ...ofLevel, ...ofArm } })))

/** Where a setting of a cell was written. @param {Plan} plan @param {Cell} cell @param {string} setting @returns {string | undefined} */
export function placeOf ({ arms, levels, fixed }, { level, arm }, setting) {
  const places = /** @type {[string, Settings | undefined][]} */ ([[`${at('arms', arm)}.settings`, arms[arm].settings], [`${at('levels', level)}.settings`, levels[level].settings], ['fixed', fixed]])
  return places.find(([, of]) => of && Object.hasOwn(of, setting))?.[0]
}

/** @param {string} load @returns {Partial<import('./loads/index.js').Load>} nothing of `writer`, and of what is no load */
export const loadNamed = (load) => Object.hasOwn(LOADS, load ?? '') ? LOADS[load] : {}

/** @param {string} load @returns {readonly ('windowMs' | 'maxItems')[]} which bounds of retention make it let go of items; a writer's are the library's */
export const boundsOf = (load) => (load === 'writer' ? LOADS.library : loadNamed(load)).bounds ?? []

/**
 * What a load has, as far as the lab must know it.
 * @param {string} load @param {Settings} settings as they are written
 * @returns {Record<string, any>}
 */
export const settled = (load, settings) => ({
  ...WRITER_DEFAULTS,
  ...(settings.sortedSetContainsActualValue === true && { layout: 'values' }),
  ...Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null)),
  ...loadNamed(load).always
})
