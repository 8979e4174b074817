/** The secret of a system, kept so that it outlives the memory of the servers. */
import { migrate } from './migrate.js'

const UNDEFINED_TABLE = '42P01'
const KEEP = `INSERT INTO system_secrets AS kept (system, secret) VALUES ($1, $2)
  ON CONFLICT (system) DO UPDATE SET secret = kept.secret RETURNING secret`

/**
 * @param {import('./database.js').Database} database @param {string} system @param {string} secret to keep, if none is kept
 * @returns {Promise<string>} the one that is kept @throws {import('./errors.js').FreshetError} DATABASE_DOWN, DATABASE_DIFFERS
 */
export async function keepSecret (database, system, secret) {
  const keep = () => database.query(KEEP, [system, secret])
  const { rows: [row] } = await keep().catch(async (error) => {
    if (error.sqlState !== UNDEFINED_TABLE) throw error
    await migrate(database)
    return keep()
  })
  return row.secret
}
