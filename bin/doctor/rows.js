/**
 * What doctor finds, and the rows that it prints.
 *
 * @typedef {[label: string, ...cells: string[]]} Row an empty label continues the row above
 * @typedef {{ rows: Row[], problems: string[], notes?: string[] }} Findings sentences; `problems` must be solved first
 */

/** @param {string} label @param {string[][]} lines @returns {Row[]} */
export const labelled = (label, lines) => (lines.length ? lines : [['none']]).map((cells, i) => [i === 0 ? label : '', ...cells])

/** Pads columns within a label. @param {Row[]} rows @returns {string} */
export function table (rows) {
  const labelWidth = Math.max(...rows.map(([label]) => label.length))
  /** @type {Row[][]} */
  const blocks = []
  for (const row of rows) row[0] === '' ? blocks[blocks.length - 1].push(row) : blocks.push([row])
  return blocks.flatMap((block) => block.map(([label, ...cells]) => {
    const padded = cells.map((cell, i) => cell.padEnd(Math.max(...block.map((row) => row[i + 1]?.length ?? 0))))
    return `${label.padEnd(labelWidth)}   ${padded.join('   ')}`.trimEnd() + '\n'
  })).join('')
}
