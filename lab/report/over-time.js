/**
 * Processor time of primary and replicas over a window, as a second drawing of a result whose plan asks for it
 * (`chart.overTime`): medians of the rounds in each second, of the baseline and of the first arm of which the plan expects something.
 *
 * @typedef {import('../analysis/index.js').Result} Result
 * @typedef {import('../plan/index.js').Plan} Plan
 */
import { mean } from 'simple-statistics'
import { medianWithInterval } from '../analysis/statistics.js'
import { captionOf } from './conditions.js'
import { figure } from './numbers.js'
import { labelOf } from './roles.js'

/**
 * @param {Result} result @param {Plan} plan
 * @returns {import('./drawing.js').Drawing | null} null: the plan asks for none
 */
export function overTimeOf (result, plan) {
  const level = plan.chart?.overTime
  if (level === undefined) return null
  const arms = [plan.baseline, ...plan.expected.slice(0, 1).map(({ arm }) => arm)]
  const rows = arms.flatMap((arm) =>
    /** @type {const} */ (['primary', 'replica']).flatMap((role) => rowsOf(result, plan, { arm, level, role })))
  const [primary, replica] = ['primary', 'replica'].map((role) =>
    figure(mean(rows.filter(({ arm }) => arm === lineOf(plan.baseline, role, plan)).map(({ mid }) => mid ?? 0))))
  return {
    kind: 'lines',
    title: `Primary ${primary} % of a core, a replica ${replica} %: ${labelOf(plan.baseline, plan)}`,
    subtitle: `Processor time in each second of a window, ${level}`,
    axis: 'percent of a core (lower is better)',
    columns: { value: 'median', ratio: '' },
    interval: 'median of the rounds and its 95 % interval',
    published: 'published, for the whole run',
    notes: ['A replica: the mean of the replicas. Published figures are of the primary, on other machines'],
    caption: [captionOf(result, plan)],
    rows
  }
}

/**
 * @param {Result} result @param {Plan} plan
 * @param {{ arm: string, level: string, role: 'primary' | 'replica' }} line
 * @returns {import('./drawing.js').Row[]} one for each second
 */
function rowsOf ({ samples }, plan, { arm, level, role }) {
  const rounds = samples.filter((sample) => sample.arm === arm && sample.level === level && sample.valid)
    .map(({ cpuOverTime = [] }) => role === 'primary' ? cpuOverTime[0] : meanOf(cpuOverTime.slice(1)))
  const seconds = Math.min(...rounds.map(({ length }) => length))
  const [published] = role === 'primary' ? plan.published?.figures.filter((one) => one.arm === arm && one.level === level) ?? [] : []
  return Array.from({ length: seconds }, (_, i) => {
    const { median, low, high } = medianWithInterval(rounds.map((round) => round[i]))
    return {
      level: `${i + 1} s`,
      x: i + 1,
      arm: lineOf(arm, role, plan),
      role: arm === plan.baseline && role === 'primary' ? 'baseline' : 'arm',
      mid: median,
      low,
      high,
      published: i === seconds - 1 ? published?.value ?? null : null,
      value: median === null ? '' : figure(median),
      ratio: '',
      mark: ''
    }
  })
}

/** @param {string} arm @param {string} role @param {Plan} plan */
const lineOf = (arm, role, plan) => `${labelOf(arm, plan)}, ${role}`

/** @param {number[][]} lines of equal length @returns {number[]} their mean, position by position */
const meanOf = (lines) => lines[0].map((_, i) => mean(lines.map((line) => line[i])))
