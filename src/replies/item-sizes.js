/**
 * Bytes per item in the replies of each feed, and how many items it has, learnt from earlier replies: estimates what a reply will
 * take before it is built.
 */

/** of an item, while unknown; the first replies of a feed are built a few at a time */
const FIRST_BYTES = 16 * 1024
/** per reply, for the largest size seen */
const DECAY = 0.9
/** a feed may have so many more items than in its last complete reply, and twice as many */
const MORE_ITEMS = 100
const MAX_FEEDS = 10_000
/** items as they were read, their text in parts, and the body */
const COPIES = 2.5

export function createItemSizes () {
  /** `most`: items of a whole feed @type {Map<string, { size: number, most: number }>} */
  const sizes = new Map()
  return {
    /**
     * @param {string} feed @param {number} items @param {number} maxBytes of the body
     * @returns {number} bytes of memory that building it takes
     */
    estimate (feed, items, maxBytes) {
      const { size, most } = sizes.get(feed) ?? { size: FIRST_BYTES, most: Infinity }
      return COPIES * Math.min(maxBytes, Math.min(items, 2 * most + MORE_ITEMS) * size)
    },

    /**
     * @param {string} feed @param {number} items @param {number} bytes of the body
     * @param {boolean} isWhole whether the reply had all items of the feed
     */
    learn (feed, items, bytes, isWhole) {
      const before = sizes.get(feed)
      const lastSize = before?.size ?? FIRST_BYTES
      const size = items === 0 ? lastSize : Math.max(bytes / items, before ? DECAY * lastSize : 0)
      const most = isWhole ? items : Math.max(items, before?.most ?? Infinity)
      if (sizes.size >= MAX_FEEDS && !before) sizes.clear()
      sizes.set(feed, { size, most })
    }
  }
}
