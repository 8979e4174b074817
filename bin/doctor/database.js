/** The database of sales and bids. */
import { pino } from 'pino'
import { defaultCacheDir, hasPostgres, POSTGRES_VERSION, ROOT, runningPart } from '../../src/embedded/index.js'
import { addressOf, openDatabase } from '../../src/sql/index.js'

/** the problems list says what it would log */
const SILENT = pino({ level: 'silent' })

/**
 * Its version, or the state of the embedded one.
 * @param {Record<string, any>} settings @param {number} deadlineMs @returns {Promise<import('./rows.js').Findings>}
 */
export async function databaseFindings ({ databaseUrl, cacheDir }, deadlineMs) {
  if (databaseUrl === null) {
    const isFetched = await hasPostgres(cacheDir ?? defaultCacheDir(ROOT))
    const state = isFetched ? 'the pinned copy' : 'downloaded when consumers first need it, 24 MB'
    const running = await runningPart('database')
    return { rows: [['database', `postgres ${POSTGRES_VERSION} (${state})`, running ? addressOf(running) : 'not running']], problems: [] }
  }
  const address = addressOf(databaseUrl)
  const database = openDatabase({ url: databaseUrl, name: 'freshet-doctor', max: 1, deadlineMs, log: SILENT })
  try {
    const { rows: [{ version }] } = await database.query("SELECT current_setting('server_version') AS version")
    return { rows: [['database', address, `postgres ${version}`]], problems: [] }
  } catch (error) {
    return { rows: [['database', address, 'unusable']], problems: [`${error.message}.`] }
  } finally {
    await database.close()
  }
}
