/**
 * The summary as a person reads it at a terminal. The same figures as the JSON of summary.js; counts of items that were not stored
 * stand there only if there are any.
 */
import { styleText } from 'node:util'
import { keptText } from '../src/feeds/index.js'
import { visible } from '../src/runtime/index.js'

/** @typedef {ReturnType<typeof import('./summary.js').summaryOf>} Summary */
/** @typedef {{ label: string, cells: string[], color?: 'red' | 'yellow' }} Line */

const MIB = 1024 * 1024
const INDENT = '  '
const GAP = '   '

/** @param {number} value @param {number} [digits] after the decimal point */
const numberText = (value, digits = 0) =>
  value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })

/**
 * @param {Summary} summary
 * @param {{ color: boolean }} means
 * @returns {string} lines
 */
export function summaryText (summary, { color }) {
  const { feed, layout, engine, writers, seconds } = summary
  const head = `feed ${feed}, layout ${layout}, ${engine ?? 'engine unknown'}, ` +
    `${writers} ${writers === 1 ? 'writer' : 'writers'}, ${numberText(seconds, 1)} s`
  const blocks = summary.items > 0 ? [countsOf(summary), timesOf(summary), costsOf(summary)] : [countsOf(summary)]
  const labelChars = Math.max(...blocks.flat().map(({ label }) => label.length))
  const lines = blocks.flatMap((block) => ['', ...aligned(block, labelChars, color)])
  return `\n${visible(head)}\n${lines.join('\n')}\n`
}

/** @param {Summary} summary @returns {Line[]} */
function countsOf (summary) {
  const { offered, items, refused, dropped, failed, retried, bytes, batches, seconds, itemsPerSecond, offeredPerSecond } = summary
  const { keptMs, windowMs = 0 } = summary
  const { late = 0, ...others } = summary.refusedBy
  const reasons = Object.entries(others).sort(([, a], [, b]) => b - a).map(([reason, n]) => `${reason} ${numberText(n)}`).join(', ')
  /** @type {(Line | false)[]} */
  const lines = [
    offered > items && { label: 'offered', cells: [`${numberText(offered)} items`, `${numberText(offeredPerSecond)} items/s`] },
    { label: 'kept', cells: [`${numberText(items)} items`, `${numberText(itemsPerSecond)} items/s`] },
    { label: 'values', cells: [`${numberText(bytes / MIB, 1)} MiB`, `${numberText(seconds > 0 ? bytes / MIB / seconds : 0, 1)} MiB/s`] },
    { label: 'batches', cells: [numberText(batches), `${numberText(batches > 0 ? (items + late) / batches : 0)} items each`] },
    late > 0 && { label: 'late', cells: [`${numberText(late)} items`, 'a newer version of their id was stored'], color: 'yellow' },
    refused > late && { label: 'refused', cells: [`${numberText(refused - late)} items`, reasons], color: 'yellow' },
    dropped > 0 && { label: 'dropped', cells: [`${numberText(dropped)} items`, 'at the in-flight limit'], color: 'yellow' },
    failed > 0 && { label: 'failed', cells: [`${numberText(failed)} items`, 'not acknowledged; may or may not be stored'], color: 'red' },
    keptMs !== undefined && { label: 'feed keeps', cells: [keptText(keptMs, { windowMs }), '--max-items ends before'], color: 'yellow' },
    retried > 0 && { label: 'retried', cells: [`${numberText(retried)} items`, 'sent again after a lost connection'] }
  ]
  return lines.filter((line) => line !== false)
}

/** @param {Summary} summary @returns {Line[]} */
function timesOf ({ behindMs, flushMs }) {
  const columns = /** @type {const} */ (['p50', 'p95', 'p99', 'max'])
  const row = (/** @type {string} */ label, /** @type {Summary['flushMs']} */ times) =>
    ({ label, cells: columns.map((name) => `${numberText(times[name], 1)} ms`) })
  return [{ label: '', cells: [...columns] }, row('sent late by', behindMs), row('acknowledged in', flushMs)]
}

/** CPU time per item of writers and nodes. @param {Summary} summary @returns {Line[]} */
function costsOf ({ writerCpuMicrosPerItem, loopUse, nodes }) {
  const cost = (/** @type {number | null} */ micros) => micros === null ? 'unknown' : `${numberText(micros, 2)} µs/item`
  return [
    { label: 'CPU of writers', cells: [cost(writerCpuMicrosPerItem), `event loop ${numberText(100 * loopUse)} % busy`] },
    ...nodes.map(({ role, cpuMicrosPerItem }) => ({ label: `CPU of ${role}`, cells: [cost(cpuMicrosPerItem)] }))
  ]
}

/** Cells end in one column, except the last, which may be text. @param {Line[]} lines @param {number} labelChars @param {boolean} color */
function aligned (lines, labelChars, color) {
  const most = Math.max(...lines.map(({ cells }) => cells.length))
  const widths = Array.from({ length: most }, (_, x) => Math.max(...lines.map(({ cells }) => cells[x]?.length ?? 0)))
  return lines.map(({ label, cells, color: style }) => {
    const isText = most === 2
    const padded = cells.map((cell, x) => isText && x === 1 ? cell : cell.padStart(widths[x]))
    const line = `${INDENT}${label.padEnd(labelChars)}${GAP}${padded.join(GAP)}`
    return color && style ? styleText(style, line) : line
  })
}
