/**
 * Reads the entries of a log of arrivals behind the newest one read, and the versions that they name of ids that someone wants: what the
 * node has stored of them, which may be newer than the entry.
 */
import { compareOrder } from '../item/index.js'
import { createReadSize, MAX_READ } from '../layouts/index.js'
import { FLOOR_EVERY_MS, newestArrivals } from './arrivals-newer.js'
import { newerReader } from './log-newer.js'

/** what arrives later may be beyond maxItems */
const LATE_MS = 1000

/** @typedef {import('../item/index.js').VersionPlace} VersionPlace */
/** @typedef {import('../layouts/index.js').Arrival} Arrival */

/**
 * @param {{ layout: import('../layouts/index.js').Layout, key: (part: string) => string, part: import('./log-partition.js').Part,
 *   size: ReturnType<typeof import('./reply-size.js').createReplySize>,
 *   intake: ReturnType<typeof import('./log-intake.js').createLogIntake>, retention: () => import('../layouts/index.js').Retention,
 *   now: () => number, onSkipped: (reason: string, error?: Error) => void, isWanted: (id: string) => boolean,
 *   arrived: (id: string) => void, orders: import('./newest-orders.js').NewestOrders | null,
 *   taken: (id: string, arrival: Arrival, version: import('../layouts/index.js').StoredVersion | null) => void }} of `arrived`: an entry
 *   names the id; `taken`: then, of an id that is wanted, what is stored; where several versions of an id are stored, the one that arrived,
 *   if it is the newest. `orders`: there, which are. Ids as latin1
 * @returns {import('./log-feed.js').Newer}
 */
export function createRecentNewer ({ layout, key, part, size, intake, retention, now, onSkipped, isWanted, arrived, orders, taken }) {
  const log = /** @type {import('../layouts/index.js').Log} */ (layout.arrivals)
  const versionsAt = /** @type {NonNullable<typeof layout.versionsAt>} */ (layout.versionsAt)
  const readSize = createReadSize()
  /** @type {VersionPlace | null} */
  let floor = null
  let dueMs = 0

  /**
   * What maxItems excludes, asked for when an item is late.
   * @param {import('../store/index.js').Connection} connection @param {Arrival[]} all
   */
  async function lookAtFloor (connection, all) {
    if (retention().maxItems === 0) floor = null
    else if (performance.now() > dueMs && all.some(({ ts }) => ts < now() - LATE_MS)) {
      dueMs = performance.now() + FLOOR_EVERY_MS
      floor = await /** @type {NonNullable<typeof layout.floor>} */ (layout.floor)(connection, key, retention())
    }
  }

  return {
    read: newerReader({ log, part, size, now }),

    async take (found, connection) {
      const newest = newestArrivals(log, found, onSkipped)
      size.learn(found)
      for (const id of newest.keys()) {
        arrived(id)
        // its order counts, whether it is wanted or not
        if (orders === null && !isWanted(id)) newest.delete(id)
      }
      const arrivals = [...newest.values()]
      await lookAtFloor(connection, arrivals)
      const ids = [...newest.keys()]
      for (let at = 0; at < arrivals.length; at += MAX_READ) {
        const piece = arrivals.slice(at, at + MAX_READ)
        const versions = await versionsAt(connection, key, piece, readSize)
        await orders?.readFor(connection, versions.flatMap((version) => version === null ? [] : [version]))
        piece.forEach((arrival, i) => {
          const version = versions[i]
          if (orders !== null && (version === null || !orders.arrived(ids[at + i], version))) return
          const isOut = version !== null && floor !== null && !version.deleted && compareOrder({ ...version, id: arrival.id }, floor) <= 0
          taken(ids[at + i], arrival, isOut ? null : version)
        })
        if (intake.isOver(piece.length)) await intake.yieldLoop()
      }
      const last = found.at(-1)
      if (last) part.taken = last.entryId
    }
  }
}
