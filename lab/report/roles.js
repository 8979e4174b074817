/** The role of an arm in the question. */
import { AA_SUFFIX } from '../plan/index.js'

/** @typedef {'arm' | 'baseline' | 'repeat' | 'ceiling'} Role repeat: the baseline once more, the A/A pair */
/** @typedef {{ baseline: string, ceiling: string, labels?: Record<string, string> }} Plan */

/** @param {string} arm @param {Plan} plan @returns {Role} */
export function roleOf (arm, { baseline, ceiling }) {
  if (arm === baseline) return 'baseline'
  if (arm === baseline + AA_SUFFIX) return 'repeat'
  return arm === ceiling ? 'ceiling' : 'arm'
}

/** @param {string} arm @param {Plan} plan @returns {string} the ceiling is marked, unless its name says so */
export const shownArm = (arm, plan) => roleOf(arm, plan) === 'ceiling' && !/ceiling/i.test(arm) ? `${arm} (ceiling)` : arm

/** What the ceiling does. @param {import('./figures.js').Plan} plan @param {string} [bytes] of items, without a note */
export const aboutCeiling = ({ ceiling, arms }, bytes = 'the same bytes without our code') =>
  arms[ceiling].note ?? (arms[ceiling].contention ? 'the same load, and nothing decides' : bytes)

/** In plain words, for charts. @param {string} arm @param {Plan} plan @returns {string} */
export const labelOf = (arm, { labels }) => labels?.[arm] ?? arm

/** The label, marked for the baseline once more and the ceiling. @param {string} arm @param {Plan} plan @returns {string} */
export function labelWithRole (arm, plan) {
  const role = roleOf(arm, plan)
  if (role === 'repeat') return `${labelOf(plan.baseline, plan)} (again)`
  return role === 'ceiling' ? `${labelOf(arm, plan)} (limit)` : labelOf(arm, plan)
}
