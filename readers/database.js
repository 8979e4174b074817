/** The database in a reader: asked for order rows and for what users have. Without one, rows are unknown and users' routes answer 503. */
import { openDatabase } from '../src/sql/index.js'
import { runningDatabase } from '../src/store/index.js'
import { FreshetError } from './errors.js'

const CONNECTIONS = 4
const DEADLINE_MS = 2000
/** one question at a time for each sale */
const COUNT_FOR_MS = 250
const LOOK_FOR_MS = 1000

/** @typedef {ReturnType<typeof createReaderDatabase>} ReaderDatabase */

/** @param {{ databaseUrl: string | null, log: import('pino').Logger }} options */
export function createReaderDatabase ({ databaseUrl, log }) {
  /** @type {{ url: string, database: import('../src/sql/index.js').Database } | null} */
  let opened = null
  let lookedMs = -Infinity
  /** @type {Map<string, { atMs: number, rows: Promise<number | null> }>} by sale */
  const counts = new Map()

  /** @returns {Promise<import('../src/sql/index.js').Database | null>} the embedded one may come later, or be another one */
  async function database () {
    if (performance.now() - lookedMs < LOOK_FOR_MS) return opened?.database ?? null
    lookedMs = performance.now()
    const url = databaseUrl ?? await runningDatabase().catch(() => null)
    if (url !== opened?.url) {
      await opened?.database.close()
      opened = url === null
        ? null
        : { url, database: openDatabase({ url, name: `freshet-reader-${process.pid}`, max: CONNECTIONS, deadlineMs: DEADLINE_MS, log }) }
    }
    return opened?.database ?? null
  }

  /** @param {string} sale @returns {Promise<number | null>} */
  async function count (sale) {
    const one = await database()
    if (!one) return null
    const { rows } = await one.query("SELECT count(*) AS rows FROM orders WHERE sale = $1 AND status = 'sold'", [sale])
    return Number(rows[0].rows)
  }

  return {
    /** Committed orders of a sale; null = unknown. @param {string} sale @returns {Promise<number | null>} */
    orderRows (sale) {
      const known = counts.get(sale)
      if (known && performance.now() - known.atMs < COUNT_FOR_MS) return known.rows
      const rows = count(sale).catch(() => null)
      counts.delete(sale)
      counts.set(sale, { atMs: performance.now(), rows })
      if (counts.size > 1000) counts.delete(/** @type {string} */ (counts.keys().next().value))
      return rows
    },

    /** @param {string} text @param {unknown[]} values @returns {Promise<any[]>} @throws {FreshetError} DATABASE_DOWN */
    async rows (text, values) {
      const one = await database()
      if (!one) throw new FreshetError('DATABASE_DOWN', 'there is no database; start consumers, or give --database-url')
      return (await one.query(text, values)).rows
    },

    async close () { await opened?.database.close() }
  }
}
