/** The database of consumers: the one of the settings, or the embedded one, if a system needs it. */
import { migrate, openDatabase } from '../../src/sql/index.js'
import { ownDatabase } from '../../src/store/index.js'
import { SYSTEM as SALES } from '../../src/systems/sales/index.js'

const CONNECTIONS = 8
const DEADLINE_MS = 5000

/**
 * @param {any} settings
 * @param {{ names: string[], id: string, log: import('pino').Logger, signal: AbortSignal, fail: (error: Error) => void }} parts `fail` is
 *   called when the embedded one ends
 * @returns {Promise<{ database: import('../../src/sql/index.js').Database, close: () => Promise<void> } | null>} null: auctions alone need
 *   none
 * @throws {import('../../src/errors.js').FreshetError} DATABASE_...
 */
export async function openOwnDatabase (settings, { names, id, log, signal, fail }) {
  if (settings.databaseUrl === null && !names.includes(SALES)) return null
  const embedded = settings.databaseUrl === null
    ? await ownDatabase(settings, { report: (line) => log.info(line), signal, onFailure: fail })
    : null
  const database = openDatabase({ url: embedded?.url ?? settings.databaseUrl, name: id, max: CONNECTIONS, deadlineMs: DEADLINE_MS, log })
  const close = async () => {
    await database.close()
    await embedded?.release()
  }
  try {
    const done = await migrate(database)
    if (done.length > 0) log.info({ migrations: done }, 'the database was migrated')
  } catch (error) {
    await close()
    throw error
  }
  return { database, close }
}
