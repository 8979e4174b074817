/** What a feed is opened with: the options of this gateway, and under them what is stored about the feed. */
import { layoutOf } from '../../src/layouts/index.js'

/** the one layout whose entries are batches, which can be compressed */
const COMPRESSED = 'segments'

/**
 * @param {Record<string, any>} options of openFeed, as the gateway was started
 * @param {import('./feeds.js').Stored | null} stored null: the feed is created as the options say
 * @returns {Record<string, any>}
 * @throws {import('../../src/errors.js').FreshetError} FEED_LAYOUT_UNKNOWN: a later version made the feed
 */
export function openingOptions (options, stored) {
  if (stored === null) return options
  layoutOf(stored.layout)
  const { compress, ...rest } = options
  return { ...rest, ...stored, ...(stored.layout === COMPRESSED ? { compress } : {}) }
}
