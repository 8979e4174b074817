/**
 * Numbers as text: three digits, which is the precision of the rounds.
 */
import { textsOf } from '../analysis/verdict.js'

export { ratioWithInterval } from '../analysis/verdict.js'

const DIGITS = 3

/** @param {number | null | undefined} value @returns {string} such as 0.0512, 2.60, 49,987; a dash if there is none */
export function figure (value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return '-'
  if (value !== 0 && Math.abs(value) < 1e-6) return value.toExponential(DIGITS - 1)
  if (Math.abs(value) >= 100) return count(value)
  return Number(value.toPrecision(DIGITS)) >= 100 ? '100' : value === 0 ? '0' : value.toPrecision(DIGITS)
}

/** @param {number | null | undefined} value @returns {string} a whole number such as 1,500,000 */
export const count = (value) =>
  value === null || value === undefined || !Number.isFinite(value) ? '-' : Math.round(value).toLocaleString('en')

/** @param {number | null | undefined} low @param {number | null | undefined} high */
export const interval = (low, high) =>
  low === null || low === undefined || high === null || high === undefined ? '' : `[${figure(low)}${low < 0 ? ' to ' : '-'}${figure(high)}]`

/** @param {import('../analysis/consumption.js').Estimate} estimate @returns {string} such as 2.60 [2.55-2.66] */
export const estimated = ({ mid, low, high }) => `${figure(mid)} ${interval(low, high)}`.trim()

/** @param {{ median: number | null, isCut?: boolean }} of @returns {string} */
export const medianText = ({ median, isCut = false }) => `${isCut ? '>= ' : ''}${figure(median)}`

/**
 * @param {{ median: number | null, low: number | null, high: number | null, isCut?: boolean } | null | undefined} of
 * @returns {string} such as 2.60 [2.55-2.66]; without the interval where all rounds are equal; of time-outs >= 10,000
 */
export function figureWithInterval (of) {
  if (!of || of.median === null) return '-'
  if (of.isCut) return medianText(of)
  const isAlike = figure(of.low) === figure(of.high)
  return `${figure(of.median)} ${isAlike ? '' : interval(of.low, of.high)}`.trim()
}

/** @param {number | null | undefined} value @returns {string} such as 0.58, 1.02, 12.4 */
export const ratio = (value) => value === null || value === undefined ? '-' : textsOf([value])[0]

/** @param {string} text */
export const capitalized = (text) => text.replace(/^\p{Ll}/u, (first) => first.toUpperCase())
