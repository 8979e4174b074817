/** The stored definitions of feeds, for a gateway. */
import { namesKey, putFeed, readDefinition } from '../../src/feeds/index.js'
import { expectPrimary, openPrimaries } from '../../src/store/index.js'
import { FreshetError } from './errors.js'

/**
 * The number of stored feeds beyond which this gateway creates none. Feeds stay until they are dropped, so clients that may
 * POST could otherwise create any number of them, and every reader polls the definition of each twice a second.
 *
 * Stored feeds and feeds being created here are counted. At the limit, creations in progress are waited for: they may be
 * stored already and would be counted twice. Gateways do not know of each other, so several of them may exceed the limit,
 * each by one.
 *
 * @typedef {ReturnType<typeof createFeedLimit>} FeedLimit
 */

/**
 * @param {{ maxFeeds: number, count: () => Promise<number> }} options `maxFeeds`: 0 = none is created; `count`: of stored feeds
 */
export function createFeedLimit ({ maxFeeds, count }) {
  /** @type {Set<Promise<unknown>>} */
  const creating = new Set()

  return {
    /**
     * @param {string} name
     * @returns {Promise<(created: Promise<unknown>) => void>} to be called with a promise that settles when the feed is created or is not
     * @throws {FreshetError} FEEDS_FULL
     */
    async admit (name) {
      for (;;) {
        const stored = maxFeeds === 0 ? 0 : await count()
        if (stored >= maxFeeds) throw refusal(name, stored)
        if (stored + creating.size < maxFeeds) break
        await Promise.race(creating)
      }
      /** @type {(created: Promise<unknown>) => void} */
      let settle = () => {}
      const creation = new Promise((resolve) => { settle = resolve }).catch(() => {}).finally(() => creating.delete(creation))
      creating.add(creation)
      return settle
    }
  }

  /** @param {string} name @param {number} stored */
  function refusal (name, stored) {
    const why = maxFeeds === 0
      ? 'this gateway creates none (--max-feeds 0)'
      : `${stored} feeds are stored, and this gateway creates none beyond ${maxFeeds} (--max-feeds)`
    return new FreshetError('FEEDS_FULL', `there is no feed ${name}, and ${why}; write to an existing feed, or drop unused ones`)
  }
}

/**
 * @param {{ servers: import('../../src/store/index.js').Servers, primaryUrl: string, keyPrefix: string, name: string,
 *   deadlineMs: number }} parts `name` of connections
 */
export function createDefinitions ({ servers: { router }, primaryUrl, keyPrefix, name, deadlineMs }) {
  return {
    /** @param {string} feed @throws {import('../../src/errors.js').FreshetError} FEED_UNKNOWN, SERVER_LOST, SERVER_UNREACHABLE */
    definition: async (feed) => readDefinition(router, keyPrefix, feed),

    /**
     * Creates a feed, or changes its retention.
     * @param {Parameters<typeof putFeed>[2]} definition
     * @throws {import('../../src/errors.js').FreshetError} FEED_DEFINITION_DIFFERS, SETTINGS_INVALID, SERVER_REFUSED (a permission),
     *   SERVER_LOST
     */
    async putFeed (definition) {
      // on the connection that the state is asked on, a command that the user may not run would make the primary unusable
      const primaries = await openPrimaries(primaryUrl, { name: `${name}:put`, deadlineMs })
      try {
        await Promise.all(primaries.connections.map(expectPrimary))
        return await putFeed(primaries, keyPrefix, definition)
      } finally {
        await primaries.close()
      }
    },

    /** The number of stored feeds. @returns {Promise<number>} @throws {import('../../src/errors.js').FreshetError} as `definition` */
    count: async () => router.send('SCARD', namesKey(keyPrefix))
  }
}
