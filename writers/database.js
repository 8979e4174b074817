/** The database of a process that writes: the one of the settings, or the embedded one. */
import { openDatabase } from '../src/sql/index.js'
import { ownPart } from '../src/embedded/index.js'

/**
 * @param {{ databaseUrl: string | null, cacheDir: string | null }} settings
 * @param {{ name: string, max: number, deadlineMs: number, log: import('pino').Logger, signal: AbortSignal,
 *   fail: (error: Error) => void }} parts `max`: connections; `fail` is called when the embedded one ends
 * @returns {Promise<{ database: import('../src/sql/index.js').Database, close: () => Promise<void> }>}
 * @throws {import('../src/errors.js').FreshetError} ENGINE_MISSING, SERVERS_FAILED
 */
export async function useDatabase ({ databaseUrl, cacheDir }, { name, max, deadlineMs, log, signal, fail }) {
  const embedded = databaseUrl === null
    ? await ownPart('database', { cacheDir }, { report: (line) => log.info(line), signal, onFailure: fail })
    : null
  const database = openDatabase({ url: embedded?.url ?? String(databaseUrl), name, max, deadlineMs, log })
  return {
    database,
    async close () {
      await database.close()
      await embedded?.release()
    }
  }
}
