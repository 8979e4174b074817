/**
 * The JSON summary of a writer, and its exit status.
 */
import { styleText } from 'node:util'
import { keptText } from '../src/feeds/index.js'
import { addAccounts, decidedOf, refusedOf } from '../src/pipeline/index.js'
import { visible } from '../src/runtime/index.js'
import { perItem, summaryLine } from '../src/summary/index.js'

/** @typedef {import('../src/store/index.js').NodeFigures} NodeFigures */
/** @typedef {import('../src/summary/index.js').Tally} Tally */
/**
 * @typedef {{ keptMs?: number | null, windowMs?: number }} Reach `keptMs`: how far back the feed reaches, if max-items ends before the
 *   window; both are missing of a writer that did not open the feed
 */

/**
 * With `windowMs` and `keptMs` if max-items ended before the window.
 * @param {{ settings: any, tallies: (Tally & Reach)[], before: NodeFigures[], after: NodeFigures[] }} run
 */
export function summaryOf ({ settings, tallies, before, after }) {
  const summary = summaryLine({ role: 'writer', settings, engine: (before[0] ?? after[0])?.engine ?? null, tallies })
  const kept = tallies.flatMap(({ keptMs, windowMs = 0 }) => keptMs == null ? [] : [{ windowMs, keptMs }])
  /** @type {{ windowMs?: number, keptMs?: number }[]} */
  const [reach = {}] = kept.sort((a, b) => a.keptMs - b.keptMs)
  const nodes = nodesOf(before, after, decidedOf({ items: summary.items, refused: summary.refusedBy }))
  return { ...summary, ...reach, nodes }
}

/** @param {NodeFigures[]} before @param {NodeFigures[]} after @param {number} items */
function nodesOf (before, after, items) {
  return after.flatMap((node) => {
    const then = before.find((earlier) => earlier.address === node.address)
    // a node that was restarted or changed its role has no difference
    if (then?.runId !== node.runId || then.role !== node.role) return []
    return [{ role: node.role, cpuMicrosPerItem: perItem((node.cpuSeconds - then.cpuSeconds) * 1e6, items) }]
  })
}

/**
 * 0 = done, or stopped with everything flushed; 1 = failed, or items unacknowledged; 3 = done, but input lines were refused, for
 * another reason than a newer version of their id
 * @param {any} settings @param {Tally[]} tallies @param {Error | null} error
 */
export function exitStatusOf ({ source }, tallies, error) {
  // of the whole run, with warm-up
  const account = addAccounts(tallies.map((tally) => tally.account))
  if (error) return /** @type {any} */ (error).exitStatus ?? 1
  if (account.failed > 0) return 1
  return ['stdin', 'file'].includes(source) && refusedOf(account) > (account.refused.late ?? 0) ? 3 : 0
}

/**
 * The summary as a person reads it at a terminal. The same figures as the JSON of summary.js; counts of items that were not stored
 * stand there only if there are any.
 */

/** @typedef {ReturnType<typeof summaryOf>} Summary */
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
