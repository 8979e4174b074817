/**
 * What a plan allows an arm: a bound of a measure, or of its ratio to another arm, that a design counts on.
 *
 *     kept | missed     the figure, and all of its interval, lie on one side of the bound
 *     open              the figure does, and the interval does not
 *     unknown           too few rounds
 *
 * @typedef {import('./plan.js').Budget} Budget
 * @typedef {Omit<Budget, 'level'> & { level: string, figure: number | null, low: number | null, high: number | null, isWithin: boolean | null,
 *   outcome: 'kept' | 'missed' | 'open' | 'unknown' }} BudgetOutcome `figure`: a median, or a ratio of two; `isWithin`: whether that
 *   figure is within the bound, whatever its interval; null = there is no figure
 */
import { medianWithInterval, ratioOfMedians } from './statistics.js'

/**
 * @param {Pick<import('./plan.js').Plan, 'budgets'>} plan a result of before there were any has none
 * @param {string[]} levels that were measured
 * @param {(level: string, arm: string, measure: string) => number[]} valuesOf valid samples
 * @returns {BudgetOutcome[]} of each budget at each of its levels where its arms were measured
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
  const { ratio, median, low, high } = /** @type {{ ratio?: number | null, median?: number | null, low: number | null, high: number | null }} */ (others ? ratioOfMedians(values, others) : medianWithInterval(values))
  const figure = (others ? ratio : median) ?? null
  const within = (/** @type {number | null} */ value) => value !== null && value <= (budget.most ?? Infinity) && value >= (budget.least ?? -Infinity)
  const isWithin = figure === null ? null : within(figure)
  const sides = new Set([low, figure, high].map(within))
  return { ...budget, figure, low, high, isWithin, outcome: low === null || high === null ? 'unknown' : sides.size > 1 ? 'open' : isWithin ? 'kept' : 'missed' }
}
