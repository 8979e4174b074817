/**
 * The samples of a result by arm and level, and by validity: valid ones are in the figures; INVALID ones contradict themselves
 * (L5); ended ones ended with an error, which is an outcome of their arm (L14).
 *
 * @typedef {import('../run/sample.js').Sample} Sample
 * @typedef {{ level: string, arm: string, valid: Sample[], invalid: Sample[], ended: Sample[] }} Group
 * @typedef {{ n: number, invalid: number, ended: Record<string, number>, marks: Record<string, number> }} Counts
 *   `n`: valid samples; `ended` by code; `marks`: number of valid samples with the mark
 */
import { AA_SUFFIX } from '../plan/index.js'
import { countEach } from './counts.js'

/** @param {Sample} sample */
export const isValid = ({ valid, error, invariants }) => valid && !error && invariants.every(({ ok }) => ok)

/** @param {Sample} sample INVALID @returns {string[]} */
export function whyInvalid ({ invariants }) {
  const broken = invariants.filter(({ ok }) => !ok).map(({ name, detail }) => `${name}: no (${detail})`)
  return broken.length ? broken : ['it is marked invalid']
}

/**
 * In the order of the plan, the A/A arm last, then what the plan does not have.
 * @param {Pick<import('./index.js').Result, 'plan' | 'samples'>} result
 * @returns {Group[]}
 */
export function groupsOf ({ plan, samples }) {
  const arms = new Set([...Object.keys(plan.arms), plan.baseline + AA_SUFFIX, ...samples.map(({ arm }) => arm)])
  const levels = new Set([...Object.keys(plan.levels), ...samples.map(({ level }) => level)])
  return [...levels].flatMap((level) => [...arms].map((arm) => {
    const those = samples.filter((sample) => sample.level === level && sample.arm === arm).sort((a, b) => a.round - b.round)
    return {
      level,
      arm,
      valid: those.filter(isValid),
      invalid: those.filter((sample) => !sample.error && !isValid(sample)),
      ended: those.filter(({ error }) => error)
    }
  })).filter(({ valid, invalid, ended }) => valid.length + invalid.length + ended.length > 0)
}

/** @param {Group} group @returns {Counts} */
export const countsOf = ({ valid, invalid, ended }) => ({
  n: valid.length,
  invalid: invalid.length,
  ended: countEach(ended.map(({ error }) => String(error?.code))),
  marks: countEach(valid.flatMap(({ marks }) => marks))
})
