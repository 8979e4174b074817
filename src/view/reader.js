/**
 * Opens feeds for reading: the nodes of a deployment, queries to them, and one feed's queries in the types of a caller: ids as
 * text, values as bytes, cursors as text.
 *
 * @typedef {{ id: string, ts: number, value: Buffer }} ReadItem
 * @typedef {{ items: ReadItem[], next: string | null, asOf: number, lagMs: number | null }} Page newest first; `next`: the
 *   cursor of the next page, null at the end; `asOf`: ms since 1970 on the clock of this process; `lagMs`: of the replica
 *   that answered, null = unknown
 * @typedef {ReturnType<typeof createReading>} Reading
 */
import { checkedId, decodeCursor, encodeCursor, MAX_TS } from '../item/index.js'
import { createDeployment } from '../store/index.js'
import { createQueries } from './queries.js'
import { subscribe } from './subscribe.js'
import { createSubscription } from './subscription.js'
import { createViews } from './views.js'

const NEWEST = 100

/**
 * @typedef {{ redisUrl: string, replicaUrl: string[] | null, readFrom: 'replica' | 'primary', keyPrefix: string,
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
 * @returns {Promise<{ queries: import('./views.js').Views, deployment: import('../store/index.js').Deployment,
 *   close: () => Promise<void> }>}
 * @throws {import('../errors.js').FreshetError} SERVER_UNREACHABLE, SERVER_REFUSED, SERVER_UNTRUSTED
 */
export async function openQueries (options, { discover = false, maxStaleMs = 0, isPatient = false } = {}) {
  const {
    redisUrl, replicaUrl, keyPrefix, now = Date.now, definitionOf, written, views: mode, maxViewItems, maxViewBytes, ...rest
  } = options
  const deployment = createDeployment({ ...rest, primaryUrl: redisUrl, replicaUrls: replicaUrl })
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

/** @param {object} unknown @param {string} known */
function refuseUnknown (unknown, known) {
  const [name] = Object.keys(unknown)
  if (name !== undefined) throw new TypeError(`${name} is unknown; the options are ${known}`)
}

/** @param {unknown} sinceMs */
function checkSince (sinceMs) {
  if (typeof sinceMs === 'number' && Number.isInteger(sinceMs) && sinceMs >= 0 && sinceMs <= MAX_TS) return
  throw new RangeError(`since ${sinceMs}; expected integer milliseconds since 1970`)
}

/**
 * Queries about one feed.
 * @param {() => Promise<import('./views.js').Views>} open
 * @param {string} feed
 * @param {AbortSignal} closing ends subscriptions
 * @param {import('./retry.js').Log} log of subscriptions that wait for servers
 */
export function createReading (open, feed, closing, log) {
  /**
   * Copies the value out of a node's reply, so a caller that keeps it does not keep the whole reply. A view has copied it.
   * @param {import('./queries.js').Item} item @param {unknown} node that answered, if it was not a view @returns {ReadItem}
   */
  const shown = ({ id, ts, value }, node) => ({ id: id.toString(), ts, value: node ? Buffer.from(value) : value })

  /**
   * The newest items, newest first. A page ends early at 16 MiB; `next` then starts the next page.
   * @param {number | { limit?: number, sinceMs?: number | null, after?: string | null }} [question] the limit, or options:
   *   `sinceMs`: only items of that time and newer; `after`: the `next` of the page before
   * @returns {Promise<Page>}
   */
  async function latest (question = {}) {
    const { limit = NEWEST, sinceMs = null, after = null, ...unknown } = typeof question === 'object' ? question : { limit: question }
    refuseUnknown(unknown, 'limit sinceMs after')
    if (!Number.isInteger(limit) || limit < 1) throw new RangeError(`limit ${limit}; expected an integer of 1 or more`)
    if (sinceMs !== null) checkSince(sinceMs)
    const place = after === null ? null : decodeCursor(feed, after)
    const queries = await open()
    const { items, next, asOf, lagMs, node } = await queries.latest(feed, { limit, sinceMs, after: place })
    return { items: items.map((item) => shown(item, node)), next: next && encodeCursor(feed, next), asOf, lagMs }
  }

  return {
    latest,

    /**
     * Items of that time and newer, newest first.
     * @param {number} sinceMs ms since 1970 @param {{ limit?: number, after?: string | null }} [rest]
     * @returns {Promise<Page>}
     */
    async since (sinceMs, rest = {}) {
      checkSince(sinceMs)
      return latest({ ...rest, sinceMs })
    },

    /** One live item. @param {string | Uint8Array} id @returns {Promise<ReadItem | null>} */
    async get (id) {
      const bytes = Buffer.from(checkedId(id))
      const { items: [item], node } = await (await open()).get(feed, [bytes])
      return item && shown(item, node)
    },

    /** How many items are live; `exact` is false without a view of a layout that can only estimate. */
    async count () {
      const { count, exact, asOf, lagMs } = await (await open()).count(feed)
      return { count, exact, asOf, lagMs }
    },

    /**
     * Changes as they come. The guarantee depends on the layout (view/subscribe.js).
     * @param {{ from?: string | null, signal?: AbortSignal, pollMs?: number, overlapMs?: number }} [options] `from`: the position of
     *   a change, to resume behind it; without it, changes from now on
     * @returns {AsyncGenerator<import('./subscribe.js').Change, void, void>} ends when `signal` is aborted, the feed is closed, or
     *   the loop over it ends
     */
    subscribe ({ signal, from, pollMs, overlapMs, ...unknown } = {}) {
      return createSubscription(async function * (over) {
        refuseUnknown(unknown, 'from signal pollMs overlapMs')
        // fails if the feed is closed
        if (closing.aborted) await open()
        yield * subscribe(open, feed, { from, pollMs, overlapMs, signal: over, log })
      }, signal ? [closing, signal] : [closing])
    }
  }
}
