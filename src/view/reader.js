/**
 * Opens feeds for reading: the nodes of a deployment, and queries to them.
 */
import { createServers } from '../store/index.js'
import { createQueries } from './queries.js'
import { createViews } from './views.js'

/**
 * @typedef {{ redisUrl: string, replicaUrl: string[] | null, readFrom: 'replica' | 'primary' | null, keyPrefix: string,
 *   deadlineMs: number, views: 'auto' | 'all' | 'none', maxViewItems: number, maxViewBytes: number, name: string,
 *   log: import('pino').Logger, now?: () => number,
 *   definitionOf?: (feed: string) => import('../feeds/index.js').Definition | null, written?: () => number }} QueryOptions
 *   `definitionOf`: the definition of a feed that the caller opened, which a replica may not have yet; `written`: how much the
 *   caller wrote so far
 * @typedef {{ discover?: boolean, maxStaleMs?: number, isPatient?: boolean }} Serving of a process that serves all feeds.
 *   `discover`: views are opened as feeds are found, before the first query; `maxStaleMs`: maximum age of an answer while the
 *   servers are unavailable; `isPatient`: waits for servers that do not run yet
 */

/**
 * @param {QueryOptions} options @param {Serving} [serving]
 * @returns {Promise<{ queries: import('./views.js').Views, deployment: import('../store/index.js').Servers,
 *   close: () => Promise<void> }>}
 * @throws {import('../errors.js').FreshetError} SERVER_UNREACHABLE, SERVER_REFUSED, SERVER_UNTRUSTED
 */
export async function openQueries (options, { discover = false, maxStaleMs = 0, isPatient = false } = {}) {
  const {
    redisUrl, replicaUrl, keyPrefix, now = Date.now, definitionOf, written, views: mode, maxViewItems, maxViewBytes, ...rest
  } = options
  const deployment = createServers({ ...rest, redisUrl, replicaUrls: replicaUrl })
  try {
    await deployment.ready
  } catch (error) {
    if (!isPatient || !error.retryable) {
      await deployment.close()
      throw error
    }
  }
  const views = createViews({
    queries: createQueries({ deployment, keyPrefix, now, definitionOf }),
    deployment,
    keyPrefix,
    now,
    log: rest.log,
    mode,
    boundItems: maxViewItems,
    boundBytes: maxViewBytes,
    discover,
    maxStaleMs,
    written
  })
  return {
    queries: views,
    deployment,
    async close () {
      await views.close()
      await deployment.close()
    }
  }
}
