/**
 * Changes of a run to a plan: missing programs. Pure.
 *
 * @typedef {import('./index.js').Plan} Plan
 */
import { FreshetError } from '../errors.js'
import { MARIADB_ARMS } from '../systems/sales/database.js'
import { KAFKA_ARMS } from '../systems/sales/kafka.js'
import { REDIS_ARMS } from '../systems/sales/redis.js'

/** @param {Plan} plan @returns {string[]} engines of its arms and levels */
export const enginesOf = ({ arms, levels }) =>
  [...new Set([...Object.values(arms), ...Object.values(levels)].flatMap(({ engine }) => engine ?? []))]

/** Besides servers. @param {any} of an arm or a level @returns {string | undefined} */
function programOf ({ serving, contention }) {
  if (serving?.by === 'centrifugo') return serving.by
  if (contention?.technique in KAFKA_ARMS) return 'java'
  return (REDIS_ARMS[contention?.technique] ?? contention?.technique) in MARIADB_ARMS ? 'mariadbd' : undefined
}

/** @param {Plan} plan @returns {string[]} names of programs that its arms need besides servers */
export const programsOf = ({ arms }) => [...new Set(Object.values(arms).flatMap((arm) => programOf(arm) ?? []))]

/** @param {Plan} plan @returns {boolean} whether it needs a deployment of its own, which no --target is */
export const needsShapes = ({ arms, levels }) =>
  [...Object.values(arms), ...Object.values(levels)].some(({ servers }) => servers !== undefined)

/**
 * @param {Plan} plan
 * @param {string[]} absent engines as in the plan, and programs that serve
 * @returns {Plan} without their arms and levels, and what refers to them
 * @throws {FreshetError} ENGINE_MISSING: nothing, or no baseline, is left
 */
export function withoutEngines (plan, absent) {
  if (absent.length === 0) return plan
  const isThere = (/** @type {[string, any]} */ [, of]) =>
    ![of.engine, programOf(of)].some((one) => one !== undefined && absent.includes(one))
  const arms = Object.fromEntries(Object.entries(plan.arms).filter(isThere))
  const levels = Object.fromEntries(Object.entries(plan.levels).filter(isThere))
  if (!(plan.baseline in arms) || !(plan.ceiling in arms) || Object.keys(levels).length === 0) {
    throw new FreshetError('ENGINE_MISSING',
      `${plan.name} cannot be measured without ${absent.join(', ')}; install it, or name its program with --engine`)
  }
  const stays = (/** @type {{ arm?: string, against?: string, level?: string }} */ { arm, against, level }) =>
    (arm === undefined || arm in arms) && (against === undefined || against in arms) && (level === undefined || level in levels)
  const left = Object.fromEntries(Object.entries(levels).map(([name, level]) =>
    [name, { ...level, without: level.without.filter((arm) => arm in arms) }]))
  const published = plan.published &&
    { ...plan.published, figures: plan.published.figures.filter(stays), ratios: plan.published.ratios.filter(stays) }
  return Object.freeze({ ...plan, arms, levels: left, expected: plan.expected.filter(stays), published })
}
