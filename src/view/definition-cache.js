/**
 * The definitions of feeds, each read again from a node after half a second; while no node can be asked, the last one holds. A feed that
 * a node does not have is looked up at the primary: only that knows that it does not exist.
 */
import { FreshetError } from '../errors.js'
import { isSpread, readDefinition } from '../feeds/index.js'
import { layoutOf } from '../layouts/index.js'

const MAX_AGE_MS = 500

/** @typedef {import('../feeds/index.js').Definition} Definition */

/**
 * @param {{ keyPrefix: string, now: () => number, lookUp: import('../store/index.js').LookUp,
 *   knownOf: (feed: string) => Definition | null }} parts `knownOf`: the definition of a feed that the caller opened, which a
 *   replica may not have yet
 */
export function createDefinitionCache ({ keyPrefix, now, lookUp, knownOf }) {
  /** @type {Map<string, { definition: Definition, atMs: number }>} */
  const cache = new Map()
  const primary = { send: (/** @type {any[]} */ ...words) => lookUp(/** @type {any} */ (words)) }

  /** @param {import('../store/index.js').Router} connection @param {string} feed @returns {Promise<Definition>} */
  const read = (connection, feed) => readDefinition(connection, keyPrefix, feed).catch((error) => {
    if (error.code !== 'FEED_UNKNOWN') throw error
    return knownOf(feed) ?? readDefinition(primary, keyPrefix, feed)
  })

  /**
   * @param {import('../store/index.js').Router} connection @param {string} feed @returns {Promise<Definition>}
   * @throws {FreshetError} FEED_UNKNOWN, FEED_DEFINITION_DIFFERS
   */
  return async (connection, feed) => {
    const cached = cache.get(feed)
    if (cached && now() - cached.atMs < MAX_AGE_MS) return cached.definition
    const definition = await read(connection, feed).catch((error) => {
      // its shard may be away, and those of the items not
      if (error.retryable && cached) return cached.definition
      cache.delete(feed)
      throw error
    })
    const { format } = layoutOf(definition.layout)
    if (definition.format !== format && !isSpread(definition.format)) {
      throw new FreshetError('FEED_DEFINITION_DIFFERS', `feed ${feed} is stored in format ${definition.format} of layout ` +
        `${definition.layout}; this version reads format ${format}; use the version that wrote it, or drop the feed`)
    }
    cache.set(feed, { definition, atMs: now() })
    return definition
  }
}
