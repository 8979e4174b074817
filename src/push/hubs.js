/** The hubs of the feeds that clients follow, one per feed. */
import { FreshetError } from '../errors.js'
import { createHub } from './hub.js'

/**
 * @typedef {{ hub: import('./hub.js').Hub, watched: { view: () => import('./hub.js').View | null,
 *   release: () => void } }} Followed
 */

/**
 * @param {{ queries: import('./index.js').PushQueries, now: () => number, budget: import('./budget.js').Budget,
 *   counts: import('./metrics.js').Counts, log: import('pino').Logger, lingerMs: number,
 *   ticks: import('./ticks.js').Ticks }} parts `lingerMs`: how long a hub without streams and its view are kept, since disconnected clients
 *   come back
 */
export function createHubs ({ lingerMs, ...parts }) {
  const { queries } = parts
  /** @type {Map<string, Promise<Followed>>} */
  const followed = new Map()
  /** When hubs of feeds without streams end. @type {Map<string, NodeJS.Timeout>} */
  const lingering = new Map()
  let isClosed = false

  function throwIfClosed () {
    if (isClosed) throw new FreshetError('OVERLOADED', 'this reader is stopping; try again, or use another one')
  }

  /** @param {string} feed @returns {Promise<Followed>} */
  async function open (feed) {
    const watched = await queries.watch(feed)
    try {
      throwIfClosed()
    } catch (error) {
      watched.release()
      throw error
    }
    return { watched, hub: createHub({ ...parts, feed, watched }) }
  }

  /** @param {Followed} one */
  async function release ({ hub, watched }) {
    await hub.close()
    watched.release()
  }

  return {
    throwIfClosed,

    /** @param {string} feed @returns {Promise<Followed | null | undefined>} undefined: no hub; null: it did not open */
    async get (feed) { return followed.get(feed)?.catch(() => null) },

    /** @param {string} feed @returns {Promise<Followed>} */
    follow (feed) {
      throwIfClosed()
      clearTimeout(lingering.get(feed))
      lingering.delete(feed)
      const existing = followed.get(feed)
      if (existing) return existing
      const opening = open(feed)
      followed.set(feed, opening)
      opening.catch(() => followed.delete(feed))
      return opening
    },

    /** @param {string} feed @param {Followed} one */
    lingerIfEmpty (feed, one) {
      if (one.hub.streams > 0 || isClosed || lingering.has(feed)) return
      lingering.set(feed, setTimeout(() => {
        lingering.delete(feed)
        if (one.hub.streams > 0) return
        followed.delete(feed)
        release(one)
      }, lingerMs).unref())
    },

    /** To be called when all streams have ended. */
    async close () {
      isClosed = true
      for (const timer of lingering.values()) clearTimeout(timer)
      const released = [...followed.values()].map((opening) => opening.then(release, () => {}))
      followed.clear()
      await Promise.all(released)
    }
  }
}
