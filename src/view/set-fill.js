/** Reads the window of one partition backwards in slices of time, from the newest item, after a start or a change of retention. */
import { PAGE } from './set-pages.js'

const FIRST_SLICE_MS = 64
const SLICE_ITEMS = 4000
/** slices read at once, so that neither the node nor this process waits for the other */
const SLICES = 2

/** @typedef {import('../item/index.js').VersionPlace} VersionPlace */
/** @typedef {import('../store/index.js').Connection} Connection */

/**
 * @param {{ pages: import('./set-pages.js').SetPages, store: import('./partitioned-store.js').Store, windowStart: () => number }} parts
 */
export function createSetFill ({ pages: { page, size }, store, windowStart }) {
  /** @type {number | null} everything of this time and newer was read; null = the whole window */
  let filledMs = null
  let sliceMs = FIRST_SLICE_MS
  /** counts starts: a slice of an earlier fill does not count */
  let fills = 0

  /** @param {Connection} connection @param {number} fromMs @param {number} untilMs exclusive @returns {Promise<number>} members seen */
  async function readSlice (connection, fromMs, untilMs) {
    let seen = 0
    if (fromMs >= untilMs) return seen
    /** @type {VersionPlace | null} */
    let place = null
    do {
      place = await page(connection, { after: place, sinceMs: fromMs, seen: (member) => { if (member.ts < untilMs) seen++ } })
    } while (place !== null && place.ts < untilMs)
    return seen
  }

  return {
    get isDone () { return filledMs === null },

    /** @param {number} untilMs exclusive */
    start (untilMs) {
      fills++
      filledMs = untilMs
      sliceMs = FIRST_SLICE_MS
    },

    /** Ends a fill that is under way, as its result is no longer wanted. */
    cancel () { fills++ },

    /** Reads the next slices. @param {Connection} connection */
    async step (connection) {
      const untilMs = /** @type {number} */ (filledMs)
      const startMs = windowStart()
      const mine = fills
      // pages of several commands: the stale part of one slice could be stored after a newer one of another
      const slices = size.of(PAGE) < PAGE ? 1 : SLICES
      const seen = await Promise.all(Array.from({ length: slices }, (_, n) =>
        readSlice(connection, Math.max(startMs, untilMs - (n + 1) * sliceMs), untilMs - n * sliceMs)))
      if (mine !== fills) return
      const fromMs = Math.max(startMs, untilMs - slices * sliceMs)
      const most = Math.max(...seen)
      if (most < SLICE_ITEMS) sliceMs *= 4
      else if (most > 4 * SLICE_ITEMS) sliceMs = Math.max(1, sliceMs / 4)
      const { floor } = store.stats()
      filledMs = fromMs <= windowStart() || (floor !== null && floor.ts >= fromMs) ? null : fromMs
    }
  }
}
