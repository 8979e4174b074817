/** Tables as text. */

/** @param {string[][]} rows the first is the head @returns {string} columns, numbers on the right */
export function columns (rows) {
  const widths = rows[0].map((_, i) => Math.max(...rows.map((row) => row[i].length)))
  const isText = (/** @type {number} */ i) => !/^[\d.,]+( %)?$/.test(rows[1]?.[i] ?? '')
  return rows.map((row) => row.map((cell, i) => isText(i) ? cell.padEnd(widths[i]) : cell.padStart(widths[i])).join('  ').trimEnd() + '\n')
    .join('')
}
