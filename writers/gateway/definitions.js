/** The stored definitions of feeds, for a gateway. */
import { namesKey, putFeed, readDefinition } from '../../src/feeds/index.js'
import { expectPrimary, openPrimaries } from '../../src/store/index.js'

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
      const own = await openPrimaries(primaryUrl, { name: `${name}:put`, deadlineMs })
      try {
        await Promise.all(own.connections.map(expectPrimary))
        return await putFeed(own, keyPrefix, definition)
      } finally {
        await own.close()
      }
    },

    /** The number of stored feeds. @returns {Promise<number>} @throws {import('../../src/errors.js').FreshetError} as `definition` */
    count: async () => router.send('SCARD', namesKey(keyPrefix))
  }
}
