/** Budgets of a plan and their outcomes. */
import { unitOf } from './figures.js'
import { code, table } from './markdown-table.js'
import { figureWithInterval, ratioWithInterval } from './numbers.js'
import { MEASURES } from '../analysis/measures.js'

/** @typedef {import('../analysis/budgets.js').BudgetOutcome} BudgetOutcome */

const OUTCOMES = { kept: 'kept', missed: '**missed**', open: 'open', unknown: 'unknown' }

/**
 * @param {BudgetOutcome} budget
 * @returns {string} such as "at most 0.1 x `reference`", "at least 14 x `reference`", "at most 2 % of a core"
 */
function boundText ({ most, least, against, measure }) {
  const bound = `at ${most === undefined ? 'least' : 'most'} ${(most ?? least)?.toLocaleString('en', { maximumFractionDigits: 6 })}`
  return against === undefined ? `${bound} ${unitOf(measure)}` : `${bound} x ${code(against)}`
}

/** @param {BudgetOutcome} budget */
const measuredText = ({ figure, low, high, against }) =>
  against === undefined ? figureWithInterval({ median: figure, low, high }) : ratioWithInterval({ ratio: figure, low, high })

/** @param {BudgetOutcome} budget @returns {string} */
const outcomeText = ({ outcome, isWithin }) => isWithin === null || outcome === 'kept' || outcome === 'missed'
  ? OUTCOMES[outcome]
  : `${OUTCOMES[outcome]}: the median ${isWithin ? 'meets' : 'misses'} it`

/**
 * @param {import('../analysis/index.js').Analysis} analysis @param {import('../plan/index.js').Plan} plan
 * @returns {string} Markdown; empty when the plan has none
 */
export const budgetsSection = ({ budgets }, { seconds }) => budgets.length === 0
  ? ''
  : table(['measure', 'arm', 'level', '>budget', '>measured', 'outcome'], budgets.map((budget) =>
    [MEASURES[budget.measure].title, code(budget.arm), budget.level, boundText(budget), measuredText(budget), outcomeText(budget)])) +
    `Kept or missed, in windows of ${seconds} s: the whole interval is on that side of the budget.\n\n`

/** @param {import('../analysis/index.js').Analysis} analysis @returns {string[]} lines for a terminal */
export const budgetLines = ({ budgets }) => budgets.map((budget) =>
  `budget: ${MEASURES[budget.measure].title}, ${code(budget.arm)} at ${budget.level}, ${boundText(budget)}: ${measuredText(budget)}, ` +
    `${outcomeText(budget).replaceAll('*', '')}`)
