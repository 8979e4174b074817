/**
 * The write rate of one feed, from the heartbeats of its writers (feeds/heartbeats.js): for each writer the difference of its
 * two newest heartbeats over the time between them, on the writer's clock. So neither the time of reading nor the reader's
 * clock matters.
 *
 *     a new heartbeat            rate since the previous one
 *     none for QUIET_MS          the writer is gone or cannot write: 0, if the queried node is known to keep up
 *     a writer seen first        unknown if it was there at our first reading; else all its items were written since the last
 *                                reading, so that one request to an idle feed shows
 *     a writer seen again        a node with more lag did not have it: 0 until its next heartbeat
 *
 * @typedef {import('../feeds/index.js').Heartbeat} Heartbeat
 * @typedef {{ itemsPerSecond: number, writers: number }} Rate `writers`: those that wrote items within the last QUIET_MS
 * @typedef {{ heartbeat: Heartbeat, seenMs: number, roseMs: number, rate: number | null }} Writer `seenMs`, `roseMs`: when the
 *   heartbeat was first seen, and when the number of items last rose
 */

/** three missed heartbeats */
const QUIET_MS = 3000
/** the heartbeat after a pause may follow another one at once */
const LEAST_MS = 500
const MAX_GONE = 1000

/** @param {{ readMs?: number | null }} [options] `readMs`: when the feed did not exist yet, monotonic; null = unknown */
export function createRate ({ readMs = null } = {}) {
  /** @type {Map<string, Writer>} */
  let writers = new Map()
  /** names of writers that were there, the oldest first @type {Set<string>} */
  const gone = new Set()
  let lastRoseMs = -Infinity

  /** @param {string} name @param {Heartbeat} heartbeat @param {number} nowMs @returns {Writer} */
  function added (name, heartbeat, nowMs) {
    if (readMs === null) return { heartbeat, seenMs: nowMs, roseMs: -Infinity, rate: null }
    const rose = gone.has(name) ? 0 : heartbeat.items
    return { heartbeat, seenMs: nowMs, roseMs: rose > 0 ? nowMs : -Infinity, rate: rateOf(rose, nowMs - readMs) }
  }

  /**
   * @param {Writer} known
   * @param {Heartbeat} heartbeat
   * @param {{ nowMs: number, isCurrent: boolean }} read
   * @returns {Writer}
   */
  function updated (known, heartbeat, { nowMs, isCurrent }) {
    const rose = heartbeat.items - known.heartbeat.items
    const passedMs = heartbeat.atMs - known.heartbeat.atMs
    // an older one comes from a node with more lag
    const isNew = rose > 0 || (rose === 0 && passedMs > 0)
    if (!isNew) return nowMs - known.seenMs > QUIET_MS ? { ...known, rate: isCurrent ? 0 : null } : known
    return { heartbeat, seenMs: nowMs, roseMs: rose > 0 ? nowMs : known.roseMs, rate: passedMs > 0 ? rateOf(rose, passedMs) : known.rate }
  }

  /** @param {string[]} names */
  function remember (names) {
    for (const name of names) gone.delete(name)
    for (const name of names) gone.add(name)
    for (const name of gone) if (gone.size > MAX_GONE) gone.delete(name)
  }

  return {
    /** When items were last seen to be written, monotonic; -Infinity = never. */
    get lastRoseMs () { return lastRoseMs },

    /**
     * @param {Map<string, Heartbeat | null>} heartbeats by writer, as just read
     * @param {{ nowMs: number, isCurrent: boolean }} read `nowMs`: monotonic; `isCurrent`: the queried node is known to keep up
     *   with its primary
     * @returns {Rate | null} null = unknown
     */
    take (heartbeats, read) {
      const before = writers
      writers = new Map()
      for (const [name, heartbeat] of heartbeats) {
        const known = before.get(name)
        if (heartbeat !== null) writers.set(name, known ? updated(known, heartbeat, read) : added(name, heartbeat, read.nowMs))
      }
      remember([...before.keys()].filter((name) => !writers.has(name)))
      readMs = read.nowMs
      const all = [...writers.values()]
      lastRoseMs = Math.max(lastRoseMs, ...all.map(({ roseMs }) => roseMs))
      if (all.some(({ rate }) => rate === null) || (all.length === 0 && !read.isCurrent)) return null
      return {
        itemsPerSecond: Math.round(all.reduce((sum, { rate }) => sum + Number(rate), 0) * 100) / 100,
        writers: all.filter(({ roseMs }) => read.nowMs - roseMs <= QUIET_MS).length
      }
    }
  }
}

/** @param {number} items @param {number} ms @returns {number} a second */
const rateOf = (items, ms) => items / Math.max(LEAST_MS, ms) * 1000
