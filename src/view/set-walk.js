/**
 * A slow walk through the window of a set, oldest first and over again. It finds what nothing else does: items that came late, and in
 * `ids` what was deleted or went back in time; what was written again there at the same time and place, by one walk in eight.
 */
import { PAGE } from './set-reading.js'

const EVERY_MS = 50
/** where members carry their values: how much smaller than a piece (layouts/pieces.js) a page is */
const SHARE = 32
/** of so many walks one reads what it seems to know, too */
const WALKS_UNTIL_ALL = 8

/** @typedef {import('../store/connection.js').Connection} Connection */

/** @param {import('./set-reading.js').SetReading} reading */
export function createSetWalk ({ page, forgetMissing, size, isOneVersion }) {
  /** @type {import('../item/member.js').VersionPlace | null} up to where it is */
  let place = null
  let dueMs = 0
  let walks = 0

  return {
    beginAnew () { place = null },

    /**
     * One page, when it is time for one.
     * @param {Connection} connection @param {number} sinceMs nothing before is live
     */
    async step (connection, sinceMs) {
      if (performance.now() < dueMs) return
      dueMs = performance.now() + EVERY_MS
      const from = place
      /** @type {Set<string>} */
      const there = new Set()
      const limit = isOneVersion ? PAGE : size.of(PAGE, SHARE)
      const readsAll = isOneVersion && walks % WALKS_UNTIL_ALL === WALKS_UNTIL_ALL - 1
      const next = await page(connection, { after: from, sinceMs, limit, readsAll, seen: ({ id }) => there.add(id.toString('latin1')) })
      place = next
      if (next === null) walks++
      if (isOneVersion) await forgetMissing(connection, { sinceMs: 0, from, to: next, there })
    }
  }
}
