/** The database in a gateway: whether it answers, and the secrets that it keeps. */
import { keepSecret, openDatabase } from '../../src/sql/index.js'
import { useDatabase } from '../database.js'

const PING_EVERY_MS = 250
const CONNECTIONS = 2

/**
 * Whether the database answers, as of a moment ago.
 * @param {any} settings @param {{ name: string, log: import('pino').Logger, signal: AbortSignal }} parts
 */
export function watchDatabase (settings, parts) {
  let isUp = false
  const using = useDatabase(settings, { ...parts, max: CONNECTIONS, deadlineMs: settings.deadlineMs, fail () { isUp = false } })
  using.catch((error) => parts.log.error({ code: error.code, reason: error.message }, 'there is no database'))
  let isAsking = false
  const timer = setInterval(async () => {
    if (isAsking) return
    isAsking = true
    isUp = await using.then(({ database }) => database.query('SELECT 1')).then(() => true, () => false)
    isAsking = false
  }, PING_EVERY_MS).unref()
  return {
    isUp: () => isUp,
    async close () {
      clearInterval(timer)
      await using.then((used) => used.close(), () => {})
    }
  }
}

/**
 * Secrets of systems in the database. It is opened when it is first needed.
 * @param {any} settings @param {{ name: string, log: import('pino').Logger }} parts
 */
export function createSecrets ({ databaseUrl: url, deadlineMs }, parts) {
  /** @type {import('../../src/sql/index.js').Database | null} */
  let database = null
  return {
    /** @param {string} system @returns {import('../../src/admission/index.js').KeepSecret} */
    keep: (system) => (secret) => {
      database ??= openDatabase({ ...parts, url, max: 1, deadlineMs })
      return keepSecret(database, system, secret)
    },
    close: async () => database?.close()
  }
}
