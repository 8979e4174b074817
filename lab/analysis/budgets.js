/**
 * Budgets of a plan: a bound on a measure of an arm, or on its ratio to another arm, that a design relies on.
 *
 *     kept | missed     the figure and its whole interval are on one side of the bound
 *     open              the figure is, but not the whole interval
 *     unknown           too few rounds
 *
 * @typedef {import('../plan/index.js').Budget} Budget
 * @typedef {Omit<Budget, 'level'> & { level: string, figure: number | null, low: number | null, high: number | null,
 *   isWithin: boolean | null,
 *   outcome: 'kept' | 'missed' | 'open' | 'unknown' }} BudgetOutcome `figure`: a median or a ratio; `isWithin`: whether the figure
 *   is within the bound; null = there is no figure
 */
import { medianWithInterval, ratioOfMedians } from './statistics.js'

/**
 * @param {Pick<import('../plan/index.js').Plan, 'budgets'>} plan absent in old results
 * @param {string[]} levels that were measured
 * @param {(level: string, arm: string, measure: string) => number[]} valuesOf valid samples
 * @returns {BudgetOutcome[]} of each budget at each level where its arms were measured
 */
export const budgetsOf = ({ budgets = [] }, levels, valuesOf) => budgets.flatMap((budget) => {
  const { arm, against, measure } = budget
  return levels.filter((level) => (budget.level ?? level) === level).flatMap((level) => {
    const [values, others] = [valuesOf(level, arm, measure), against === undefined ? null : valuesOf(level, against, measure)]
    return values.length === 0 || others?.length === 0 ? [] : [outcomeOf({ ...budget, level }, values, others)]
  })
})

/** @param {Budget & { level: string }} budget @param {number[]} values @param {number[] | null} others @returns {BudgetOutcome} */
function outcomeOf (budget, values, others) {
  const {
    ratio, median, low, high
  } = /** @type {{ ratio?: number | null, median?: number | null, low: number | null, high: number | null }} */ (others
    ? ratioOfMedians(values, others)
    : medianWithInterval(values))
  const figure = (others ? ratio : median) ?? null
  const within = (/** @type {number | null} */ value) =>
    value !== null && value <= (budget.most ?? Infinity) && value >= (budget.least ?? -Infinity)
  const isWithin = figure === null ? null : within(figure)
  const sides = new Set([low, figure, high].map(within))
  return {
    ...budget,
    figure,
    low,
    high,
    isWithin,
    outcome: low === null || high === null ? 'unknown' : sides.size > 1 ? 'open' : isWithin ? 'kept' : 'missed'
  }
}
