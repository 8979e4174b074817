/**
 * What a run changes in a plan: engines that are not to be had, and what makes the load. Pure.
 *
 * @typedef {import('./plan.js').Plan} Plan
 */
import { FreshetError } from '../errors.js'

/** @param {Plan} plan @returns {string[]} those that its arms and levels name */
export const enginesOf = ({ arms, levels }) => [...new Set([...Object.values(arms), ...Object.values(levels)].flatMap(({ engine }) => engine ?? []))]

/**
 * @param {Plan} plan
 * @param {string[]} absent engines as the plan names them
 * @returns {Plan} without arms and levels of those, and what is said of them
 * @throws {FreshetError} ENGINE_MISSING: nothing, or no baseline, is left
 */
export function withoutEngines (plan, absent) {
  if (absent.length === 0) return plan
  const isThere = (/** @type {[string, { engine?: string }]} */ [, { engine }]) => engine === undefined || !absent.includes(engine)
  const arms = Object.fromEntries(Object.entries(plan.arms).filter(isThere))
  const levels = Object.fromEntries(Object.entries(plan.levels).filter(isThere))
  if (!(plan.baseline in arms) || !(plan.ceiling in arms) || Object.keys(levels).length === 0) {
    throw new FreshetError('ENGINE_MISSING', `${plan.name} cannot be measured without ${absent.join(', ')}; install it, or name its program with --engine`)
  }
  const stays = (/** @type {{ arm?: string, against?: string, level?: string }} */ { arm, against, level }) =>
    (arm === undefined || arm in arms) && (against === undefined || against in arms) && (level === undefined || level in levels)
  const left = Object.fromEntries(Object.entries(levels).map(([name, level]) => [name, { ...level, without: level.without.filter((arm) => arm in arms) }]))
  const published = plan.published && { ...plan.published, figures: plan.published.figures.filter(stays), ratios: plan.published.ratios.filter(stays) }
  return Object.freeze({ ...plan, arms, levels: left, expected: plan.expected.filter(stays), published })
}

/**
 * @param {Plan} plan
 * @param {'process' | 'direct'} driver direct: the library alone, in a process of the lab's, where the plan has the writer
 *   command; it shows what the command around the library costs
 * @returns {Plan}
 */
export function drivenBy (plan, driver) {
  if (driver === 'process') return plan
  const arms = Object.fromEntries(Object.entries(plan.arms).map(([name, arm]) => [name, arm.load === 'writer' ? { ...arm, load: 'library' } : arm]))
  return Object.freeze({ ...plan, arms })
}
