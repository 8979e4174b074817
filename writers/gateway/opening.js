/** Options with which the gateway opens a feed: its own settings, overridden by what is stored about the feed. */
import { layoutOf } from '../../src/layouts/index.js'

/** the one layout whose entries are batches, which can be compressed */
const COMPRESSED = 'segments'

/**
 * @param {Record<string, any>} options of openFeed, from the settings of the gateway
 * @param {import('./feeds.js').Stored | null} stored null: the feed is created from the settings
 * @returns {Record<string, any>}
 * @throws {import('../../src/errors.js').FreshetError} FEED_LAYOUT_UNKNOWN: a later version created the feed
 */
export function openingOptions (options, stored) {
  if (stored === null) return options
  layoutOf(stored.layout)
  const { compress, ...rest } = options
  return { ...rest, ...stored, ...(stored.layout === COMPRESSED ? { compress } : {}) }
}
