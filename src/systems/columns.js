/**
 * Rows as arrays of columns, for unnest.
 * @template T @param {T[]} rows at least one @param {(row: T) => unknown[]} cells @returns {unknown[][]}
 */
export function columnsOf (rows, cells) {
  const all = rows.map(cells)
  return all[0].map((_, i) => all.map((row) => row[i]))
}
