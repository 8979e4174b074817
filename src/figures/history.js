/**
 * Samples of the last ten minutes: one series for the nodes, one rate per feed. Keeps at most MAX_FEEDS feeds, least recently
 * used ones go first, so memory is bounded: 600 samples of the nodes and 4.8 KB per feed.
 *
 * @typedef {{ at: number, lagMs: number | null, cpu: Record<string, number | null> }} NodeSample `at`: ms since 1970
 * @typedef {{ at: number, itemsPerSecond: number | null, lagMs: number | null, cpu: Record<string, number | null> }} Sample
 */

const SAMPLES = 600
export const MAX_FEEDS = 100

/** @typedef {ReturnType<typeof createHistory>} History */

export function createHistory () {
  /** sample n is at n % SAMPLES @type {NodeSample[]} */
  const samples = []
  let taken = 0
  /** most recently used last @type {Map<string, { since: number, rates: Float64Array }>} `since`: its first sample; NaN = unknown */
  const feeds = new Map()

  const create = () => ({ since: taken, rates: new Float64Array(SAMPLES) })

  return {
    /** Selects the feeds to keep. @param {string[]} names all existing feeds @returns {string[]} */
    choose (names) {
      const existing = new Set(names)
      for (const feed of feeds.keys()) if (!existing.has(feed)) feeds.delete(feed)
      for (const feed of names) {
        if (feeds.size >= MAX_FEEDS) break
        if (!feeds.has(feed)) feeds.set(feed, create())
      }
      return [...feeds.keys()]
    },

    /** Marks an existing feed as recently used. @param {string} feed */
    touch (feed) {
      const one = feeds.get(feed) ?? create()
      feeds.delete(feed)
      if (feeds.size >= MAX_FEEDS) feeds.delete(/** @type {string} */ (feeds.keys().next().value))
      feeds.set(feed, one)
    },

    /** @param {NodeSample} sample @param {(feed: string) => number | null} rateOf */
    add (sample, rateOf) {
      const at = taken % SAMPLES
      samples[at] = sample
      for (const [feed, { rates }] of feeds) rates[at] = rateOf(feed) ?? NaN
      taken++
    },

    /** @param {string} feed @param {number} sinceMs exclusive @returns {Sample[]} oldest first */
    of (feed, sinceMs) {
      const one = feeds.get(feed)
      const found = /** @type {Sample[]} */ ([])
      for (let n = Math.max(taken - SAMPLES, one?.since ?? 0); n < taken; n++) {
        const { at, lagMs, cpu } = samples[n % SAMPLES]
        const rate = one ? one.rates[n % SAMPLES] : NaN
        if (at > sinceMs) found.push({ at, itemsPerSecond: Number.isNaN(rate) ? null : rate, lagMs, cpu })
      }
      return found
    }
  }
}
