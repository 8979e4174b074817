/** Items a second: a number, and a chart of the last minutes beside it. */
import { chart, largeText } from './blocks.js'
import { numberText, rateText } from './figures.js'
import { fit } from './text.js'

/** @typedef {import('./lines.js').Span} Span */
/** @typedef {{ itemsPerSecond: number | null, history: import('./blocks.js').Sample[] }} Rate */

/** a narrower chart says little */
const CHART_COLUMNS = 20
/** large digits up to 999,999: the chart beside them does not move */
const RATE_CELLS = 25
const CAPTION_CELLS = 'last 9.9 min, up to 9,999,999'.length
const GAP = '   '

/** @param {ReturnType<typeof chart>} chart */
function caption ({ spanMs, largest }) {
  const span = spanMs < 120_000 ? `${spanMs / 1000} s` : `${numberText(spanMs / 60_000, 1)} min`
  return `last ${span}, up to ${rateText(largest)}`
}

/**
 * @param {Rate} rate
 * @param {{ columns: number, now: number, isLarge: boolean }} how `isLarge`: large digits if there is room
 * @returns {Span[][]}
 */
export function rateOf ({ itemsPerSecond, history }, { columns, now, isLarge }) {
  const text = rateText(itemsPerSecond)
  const drawn = (/** @type {number} */ cells, /** @type {number} */ rows) => chart(history, { columns: cells, rows, now })
  return (isLarge && largeRate(text, columns, drawn)) || smallRate(text, columns, drawn)
}

/** @param {string} text @param {number} columns @param {(cells: number, rows: number) => ReturnType<typeof chart>} drawn */
function largeRate (text, columns, drawn) {
  const digits = largeText(text)
  const left = Math.max(digits[0].length, RATE_CELLS)
  const room = columns - left - GAP.length
  if (room < CHART_COLUMNS) return null
  const bars = drawn(room, digits.length)
  /** @type {Span[][]} */
  const lines = digits.map((line, y) => [['bold', fit(line, left)], GAP, ['cyan', bars.lines[y]]])
  return [...lines, /** @type {Span[]} */ ([fit('items/s', left), GAP, ['dim', fit(caption(bars), room)]])]
}

/**
 * @param {string} text @param {number} columns @param {(cells: number, rows: number) => ReturnType<typeof chart>} drawn
 * @returns {Span[][]}
 */
function smallRate (text, columns, drawn) {
  const words = `${text} items/s`.padEnd('999,999 items/s'.length)
  const withCaption = columns - words.length - 2 * GAP.length - CAPTION_CELLS
  const hasCaption = withCaption >= CHART_COLUMNS
  const bars = drawn(hasCaption ? withCaption : Math.max(1, columns - words.length - GAP.length), 1)
  return [[['bold', words], GAP, ['cyan', bars.lines[0]], ...(hasCaption ? /** @type {Span[]} */ ([GAP, ['dim', caption(bars)]]) : [])]]
}
