/** Committed order rows of sales, counted by one statement at a time for each sale. */

const COUNT_FOR_MS = 250
const MAX_SALES = 1000
const COUNT = "SELECT count(*) AS rows FROM orders WHERE sale = $1 AND status = 'sold'"

/** @param {import('../definition.js').ReaderDatabase} database @returns {(sale: string) => Promise<number | null>} null = unknown */
export function createOrderRows (database) {
  /** @type {Map<string, { atMs: number, rows: Promise<number | null> }>} by sale */
  const counts = new Map()

  return (sale) => {
    const cached = counts.get(sale)
    if (cached && performance.now() - cached.atMs < COUNT_FOR_MS) return cached.rows
    const rows = database.rows(COUNT, [sale]).then(([row]) => row ? Number(row.rows) : null, () => null)
    counts.delete(sale)
    counts.set(sale, { atMs: performance.now(), rows })
    if (counts.size > MAX_SALES) counts.delete(/** @type {string} */ (counts.keys().next().value))
    return rows
  }
}
