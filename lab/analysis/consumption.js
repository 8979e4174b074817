/**
 * What a reader costs the servers: the CPU time of an arm with readers, less that of the baseline, which has none, divided by the
 * number of readers. The baseline of a level is measured twice (A/A); here both count.
 *
 * @typedef {import('../run/sample.js').Sample} Sample
 * @typedef {import('./groups.js').Group} Group
 * @typedef {{ mid: number | null, low: number | null, high: number | null }} Estimate with its 95 % interval
 *
 * @typedef {object} Consumption
 * @property {string} level
 * @property {string} arm
 * @property {number} readers
 * @property {number | null} itemsReadPerSecond of each reader, median; null: it returns no pages
 * @property {Estimate} primaryPercent of a core, of each reader
 * @property {Estimate} replicasPercent the same, over all replicas
 * @property {Estimate} microsPerItemRead on all nodes
 * @property {Estimate} readersPerCore that fill a core of the role which they cost most; `mid` null: no cost is shown
 */
import { median } from 'simple-statistics'
import { MEASURES } from './measures.js'
import { AA_SUFFIX } from '../plan/index.js'
import { differenceOfMedians } from './statistics.js'

const MICROS_PER_PERCENT = 10_000
const NOTHING = Object.freeze({ mid: null, low: null, high: null })

/** @param {import('../plan/index.js').Plan} plan @returns {boolean} whether the arms differ in their readers, and the baseline has none */
const isOfConsumers = ({ arms, baseline }) =>
  !arms[baseline].serving && Object.values(arms).some(({ serving }) => serving?.by === 'reader')

/**
 * @param {import('../plan/index.js').Plan} plan
 * @param {Group[]} groups
 * @returns {Consumption[]} of each arm with readers at each level; empty if the plan is about something else
 */
export function consumptionsOf (plan, groups) {
  if (!isOfConsumers(plan)) return []
  const { baseline, arms } = plan
  return groups.filter(({ arm, valid }) => arms[arm]?.serving?.by === 'reader' && valid.length > 0).map((group) => {
    const none = groups.filter(({ level, arm }) => level === group.level && [baseline, baseline + AA_SUFFIX].includes(arm))
      .flatMap(({ valid }) => valid)
    return consumptionOf(group, none)
  })
}

/** @param {Group} group @param {Sample[]} none without readers */
function consumptionOf ({ level, arm, valid }, none) {
  const readers = Number(valid[0].serving?.processes)
  const costOf = (/** @type {'primary' | 'replica' | null} */ role) => {
    const { difference, low, high } = differenceOfMedians(valid.map((one) => percentOf(one, role)), none.map((one) => percentOf(one, role)))
    return scaled({ mid: difference, low, high }, 1 / readers)
  }
  const rates = valid.map((sample) => MEASURES.itemsReadPerSecond.of(sample)).filter((rate) => rate !== null)
  const itemsReadPerSecond = rates.length > 0 ? median(rates) / readers : null
  const [primaryPercent, replicasPercent] = [costOf('primary'), costOf('replica')]
  const role = Number(primaryPercent.mid) > Number(replicasPercent.mid) ? 'primary' : 'replica'
  return {
    level,
    arm,
    readers,
    itemsReadPerSecond,
    primaryPercent,
    replicasPercent,
    microsPerItemRead: itemsReadPerSecond === null ? NOTHING : scaled(costOf(null), MICROS_PER_PERCENT / itemsReadPerSecond),
    readersPerCore: fillingOf(role === 'primary' ? primaryPercent : replicasPercent, none, role)
  }
}

/**
 * @param {Estimate} cost of a reader, % of a core @param {Sample[]} none @param {'primary' | 'replica'} role
 * @returns {Estimate}
 */
function fillingOf ({ mid, low, high }, none, role) {
  if (mid === null || low === null || high === null || low <= 0 || none.length === 0) return NOTHING
  const free = 100 - median(none.map((one) => percentOf(one, role) / nodesOf(one, role).length))
  return { mid: free / mid, low: free / high, high: free / low }
}

/** @param {Sample} sample @param {'primary' | 'replica' | null} role null = all nodes */
const nodesOf = ({ nodes }, role) => nodes.filter((node) => role === null || node.role === role)

/** Together, % of a core. @param {Sample} sample @param {'primary' | 'replica' | null} role */
const percentOf = (sample, role) => nodesOf(sample, role).reduce((sum, { cpuPercent }) => sum + cpuPercent, 0)

/** @param {Estimate} estimate @param {number} factor above 0 @returns {Estimate} */
const scaled = ({ mid, low, high }, factor) => ({ mid: times(mid, factor), low: times(low, factor), high: times(high, factor) })

/** @param {number | null} value @param {number} factor */
const times = (value, factor) => value === null ? null : value * factor
