/**
 * A slow, endless sweep through the window of a set, oldest first. It finds what nothing else does: in `ids` ids that went back
 * in time a little, and what others than Freshet removed. One sweep in eight also finds values rewritten at the same time and place.
 */
import { PAGE } from './set-pages.js'

const EVERY_MS = 50
/** where members carry their values, a page is so much smaller than a read (layouts/read-size.js) */
const SHARE = 32
/** one sweep in so many also reads the items that it knows */
const SWEEPS_UNTIL_ALL = 8

/** @typedef {import('../store/index.js').Connection} Connection */

/** @param {import('./set-pages.js').SetPages} pages */
export function createSetSweep ({ page, forgetMissing, size, isOneVersion }) {
  /** @type {import('../item/index.js').VersionPlace | null} end of the last page */
  let place = null
  let dueMs = 0
  let sweeps = 0

  return {
    reset () { place = null },

    /**
     * Reads one page when it is due.
     * @param {Connection} connection @param {number} sinceMs nothing before is live
     */
    async step (connection, sinceMs) {
      if (performance.now() < dueMs) return
      dueMs = performance.now() + EVERY_MS
      const from = place
      /** @type {Set<string>} */
      const there = new Set()
      const limit = isOneVersion ? PAGE : size.of(PAGE, SHARE)
      const readsAll = isOneVersion && sweeps % SWEEPS_UNTIL_ALL === SWEEPS_UNTIL_ALL - 1
      const seen = (/** @type {{ id: Buffer }} */ { id }) => { there.add(id.toString('latin1')) }
      place = await page(connection, { after: from, sinceMs, limit, readsAll, seen })
      if (place === null) sweeps++
      if (isOneVersion) await forgetMissing(connection, { sinceMs: 0, from, to: place, there })
    }
  }
}
