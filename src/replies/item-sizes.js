/**
 * Bytes per item in the replies of each feed, learnt from earlier replies: estimates what a reply will take before it is built.
 */

/** while unknown; the first replies of a feed are built a few at a time */
const FIRST_BYTES = 16 * 1024
/** per reply, for the largest size seen */
const DECAY = 0.9
const MAX_FEEDS = 10_000
/** items as they were read, their text in parts, and the body */
const COPIES = 2.5

/** @typedef {ReturnType<typeof createItemSizes>} ItemSizes */

export function createItemSizes () {
  /** @type {Map<string, number>} */
  const sizes = new Map()
  return {
    /**
     * @param {string} feed @param {number} items @param {number} maxBytes of the body
     * @returns {number} bytes of memory that building it takes
     */
    estimate: (feed, items, maxBytes) => COPIES * Math.min(maxBytes, items * (sizes.get(feed) ?? FIRST_BYTES)),

    /** @param {string} feed @param {number} items @param {number} bytes of the body */
    learn (feed, items, bytes) {
      if (items === 0) return
      const size = bytes / items
      if (sizes.size >= MAX_FEEDS && !sizes.has(feed)) sizes.clear()
      sizes.set(feed, Math.max(size, DECAY * (sizes.get(feed) ?? size)))
    }
  }
}
