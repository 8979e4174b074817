/**
 * The write rate of one feed, from the heartbeats of its writers (feeds/heartbeats.js): for each writer the difference of its
 * two newest heartbeats over the time between them, on the writer's clock. So neither the time of reading nor the reader's
 * clock matters.
 *
 *     a new heartbeat            rate since the previous one
 *     none for QUIET_MS          the writer is gone or cannot write: 0, if the queried node is known to keep up
 *     a writer seen once         unknown if it was there at our first reading, else 0 until its second heartbeat
 *
 * @typedef {import('../feeds/index.js').Heartbeat} Heartbeat
 * @typedef {{ itemsPerSecond: number, writers: number }} Rate `writers`: those that wrote items within the last QUIET_MS
 * @typedef {{ heartbeat: Heartbeat, seenMs: number, roseMs: number, rate: number | null }} Writer `seenMs`, `roseMs`: when the
 *   heartbeat was first seen, and when the number of items last rose
 */

/** three missed heartbeats */
const QUIET_MS = 3000

export function createRate () {
  /** @type {Map<string, Writer>} */
  let writers = new Map()
  let isFirst = true

  /**
   * @param {Writer | undefined} known
   * @param {Heartbeat} heartbeat
   * @param {{ nowMs: number, isCurrent: boolean }} read
   * @returns {Writer}
   */
  function updated (known, heartbeat, { nowMs, isCurrent }) {
    if (!known) return { heartbeat, seenMs: nowMs, roseMs: -Infinity, rate: isFirst ? null : 0 }
    const rose = heartbeat.items - known.heartbeat.items
    const passedMs = heartbeat.atMs - known.heartbeat.atMs
    // an older one comes from a node with more lag
    const isNew = rose > 0 || (rose === 0 && passedMs > 0)
    if (!isNew) return nowMs - known.seenMs > QUIET_MS ? { ...known, rate: isCurrent ? 0 : null } : known
    return { heartbeat, seenMs: nowMs, roseMs: rose > 0 ? nowMs : known.roseMs, rate: passedMs > 0 ? rose / passedMs * 1000 : known.rate }
  }

  return {
    /**
     * @param {Map<string, Heartbeat | null>} heartbeats by writer, as just read
     * @param {{ nowMs: number, isCurrent: boolean }} read `nowMs`: monotonic; `isCurrent`: the queried node is known to keep up
     *   with its primary
     * @returns {Rate | null} null = unknown
     */
    take (heartbeats, read) {
      const before = writers
      writers = new Map()
      for (const [name, heartbeat] of heartbeats) if (heartbeat !== null) writers.set(name, updated(before.get(name), heartbeat, read))
      isFirst = false
      const all = [...writers.values()]
      if (all.some(({ rate }) => rate === null) || (all.length === 0 && !read.isCurrent)) return null
      return {
        itemsPerSecond: Math.round(all.reduce((sum, { rate }) => sum + Number(rate), 0) * 100) / 100,
        writers: all.filter(({ roseMs }) => read.nowMs - roseMs <= QUIET_MS).length
      }
    }
  }
}
