/** The database in a reader, of what systems have written there. */
import { openDatabase } from '../src/sql/index.js'
import { runningPart } from '../src/embedded/index.js'
import { FreshetError } from './errors.js'

const CONNECTIONS = 4
const DEADLINE_MS = 2000
const LOOK_FOR_MS = 1000
const UNDEFINED_TABLE = '42P01'

/** @typedef {ReturnType<typeof createReaderDatabase>} ReaderDatabase */

/** @param {{ databaseUrl: string | null, log: import('pino').Logger }} options */
export function createReaderDatabase ({ databaseUrl, log }) {
  /** @type {{ url: string, database: import('../src/sql/index.js').Database } | null} */
  let opened = null
  let lookedMs = -Infinity

  /** @returns {Promise<import('../src/sql/index.js').Database | null>} the embedded one may come later, or be another one */
  async function database () {
    if (performance.now() - lookedMs < LOOK_FOR_MS) return opened?.database ?? null
    lookedMs = performance.now()
    const url = databaseUrl ?? await runningPart('database').catch(() => null)
    if (url !== opened?.url) {
      await opened?.database.close()
      opened = url === null
        ? null
        : { url, database: openDatabase({ url, name: `freshet-reader-${process.pid}`, max: CONNECTIONS, deadlineMs: DEADLINE_MS, log }) }
    }
    return opened?.database ?? null
  }

  return {
    /**
     * @param {string} text @param {unknown[]} values
     * @returns {Promise<any[]>} none while no consumers have served the system, and made its tables
     * @throws {FreshetError} DATABASE_DOWN
     */
    async rows (text, values) {
      const one = await database()
      if (!one) throw new FreshetError('DATABASE_DOWN', 'there is no database; start consumers, or give --database-url')
      const { rows } = await one.query(text, values).catch((error) => {
        if (error.sqlState === UNDEFINED_TABLE) return { rows: [] }
        throw error
      })
      return rows
    },

    async close () { await opened?.database.close() }
  }
}
