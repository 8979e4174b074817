/** Rows as lines of a terminal: columns as wide as their widest text, names on the left, numbers on the right. */

export const GAP = '  '

/**
 * @param {string[][]} rows of as many texts each
 * @param {number} from which column the texts are aligned to the right
 * @returns {string[]} a line each
 */
export function aligned (rows, from) {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i].length)))
  return rows.map((row) => row.map((text, i) => i < from ? text.padEnd(widths[i]) : text.padStart(widths[i])).join(GAP).trimEnd())
}
