/**
 * Feeds opened for reading: the nodes of a deployment, questions to them, and one feed's questions in the types of a
 * caller: ids as text, values as bytes, cursors as text.
 *
 * @typedef {{ id: string, ts: number, value: Buffer }} ReadItem
 * @typedef {{ items: ReadItem[], next: string | null, asOf: number, lagMs: number | null }} Page newest first; `next`: the
 *   cursor of the next page, null at the end; `asOf`: ms since 1970 on the clock of this process; `lagMs`: of the replica
 *   that answered, null = not known
 * @typedef {ReturnType<typeof createReading>} Reading
 */
import { decodeCursor, encodeCursor } from '../item/cursor.js'
import { checkedId } from '../item/id.js'
import { MAX_TS } from '../item/order.js'
import { createDeployment } from '../store/deployment.js'
import { createAsk } from './ask.js'
import { subscribe } from './subscribe.js'
import { createSubscription } from './subscription.js'
import { createViews } from './views.js'

const NEWEST = 100

/**
 * @typedef {{ redisUrl: string, replicaUrl: string[] | null, readFrom: 'replica' | 'primary', keyPrefix: string,
 *   deadlineMs: number, views: 'auto' | 'all' | 'none', maxViewItems: number, maxViewBytes: number, name: string,
 *   log: import('pino').Logger, now?: () => number,
 *   definitionOf?: (feed: string) => import('../feeds/definitions.js').Definition | null, written?: () => number }} AskOptions
 *   `definitionOf`: of a feed that the caller knows, while a replica does not yet; `written`: how much the caller wrote so far
 * @typedef {{ discover?: boolean, maxStaleMs?: number, isPatient?: boolean }} Serving for a process that serves whatever feeds
 *   there are: views of them are opened before anybody asks, answers may be so old when the servers are gone, and servers
 *   that are not there yet are waited for
 */

/**
 * @param {AskOptions} options @param {Serving} [serving]
 * @returns {Promise<{ ask: import('./views.js').Views, deployment: import('../store/deployment.js').Deployment, close: () => Promise<void> }>}
 * @throws {import('../errors.js').FreshetError} SERVER_UNREACHABLE, SERVER_REFUSED, SERVER_UNTRUSTED
 */
export async function openAsk ({ redisUrl, replicaUrl, keyPrefix, now = Date.now, definitionOf, written, views: mode, maxViewItems, maxViewBytes, ...rest }, { discover = false, maxStaleMs = 0, isPatient = false } = {}) {
  const deployment = createDeployment({ ...rest, primaryUrl: redisUrl, replicaUrls: replicaUrl })
  try {
    await deployment.ready
  } catch (error) {
    if (!isPatient || !error.retryable) {
      await deployment.close()
      throw error
    }
  }
  const ask = createAsk({ deployment, keyPrefix, now, definitionOf })
  const views = createViews({ ask, deployment, keyPrefix, now, log: rest.log, mode, boundItems: maxViewItems, boundBytes: maxViewBytes, discover, maxStaleMs, written })
  return {
    ask: views,
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
  if (!(typeof sinceMs === 'number' && Number.isInteger(sinceMs) && sinceMs >= 0 && sinceMs <= MAX_TS)) throw new RangeError(`since ${sinceMs}; expected integer milliseconds since 1970`)
}

/**
 * Questions about one feed.
 * @param {() => Promise<import('./views.js').Views>} asking
 * @param {string} feed
 * @param {AbortSignal} closing ends subscriptions
 * @param {import('./patiently.js').Log} log of subscriptions that wait for servers
 */
export function createReading (asking, feed, closing, log) {
  /**
   * What a node sent lies in what else came with it, which a caller that keeps one value would keep; what a view says was copied.
   * @param {import('./ask.js').Item} item @param {unknown} node that was asked, if one was @returns {ReadItem}
   */
  const shown = ({ id, ts, value }, node) => ({ id: id.toString(), ts, value: node ? Buffer.from(value) : value })

  /**
   * The newest items, newest first. A page ends early at 16 MiB; `next` then says where to go on.
   * @param {number | { limit?: number, sinceMs?: number | null, after?: string | null }} [question] how many, or more:
   *   `sinceMs`: only items of that time and newer, `after`: the `next` of the page before
   * @returns {Promise<Page>}
   */
  async function latest (question = {}) {
    const { limit = NEWEST, sinceMs = null, after = null, ...unknown } = typeof question === 'object' ? question : { limit: question }
    refuseUnknown(unknown, 'limit sinceMs after')
    if (!Number.isInteger(limit) || limit < 1) throw new RangeError(`limit ${limit}; expected an integer of 1 or more`)
    if (sinceMs !== null) checkSince(sinceMs)
    const place = after === null ? null : decodeCursor(feed, after)
    const ask = await asking()
    const { items, next, asOf, lagMs, node } = await ask.latest(feed, { limit, sinceMs, after: place })
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
      const { items: [item], node } = await (await asking()).get(feed, [bytes])
      return item && shown(item, node)
    },

    /** How many items are live; `exact` is false where there is no view and the layout can only estimate. */
    async count () {
      const { count, exact, asOf, lagMs } = await (await asking()).count(feed)
      return { count, exact, asOf, lagMs }
    },

    /**
     * Changes as they come. What is promised depends on the layout (view/subscribe.js).
     * @param {{ from?: string | null, signal?: AbortSignal, pollMs?: number, overlapMs?: number }} [options] `from`: the position of
     *   a change, to go on there; without it, what comes from now on
     * @returns {AsyncGenerator<import('./subscribe.js').Change, void, void>} ends when `signal` is aborted, the feed is closed or it is
     *   left, also while it waits
     */
    subscribe ({ signal, from, pollMs, overlapMs, ...unknown } = {}) {
      return createSubscription(async function * (over) {
        refuseUnknown(unknown, 'from signal pollMs overlapMs')
        // one that begins after the feed was closed says so
        if (closing.aborted) await asking()
        yield * subscribe(asking, feed, { from, pollMs, overlapMs, signal: over, log })
      }, signal ? [closing, signal] : [closing])
    }
  }
}
