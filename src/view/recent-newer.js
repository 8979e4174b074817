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
/** of 1,000 versions, for late arrivals; then others do not wait for them */
const PIECES_AT_ONCE = 10
/** late arrivals that wait; beyond it, others wait with them */
const MOST_WAITING = 10_000

/** @typedef {import('../item/index.js').VersionKey} VersionKey */
/** @typedef {import('../layouts/index.js').Arrival} Arrival */

/** @typedef {{ id: string, arrival: Arrival, version: import('../layouts/index.js').StoredVersion | null }} Named */

/**
 * Arrivals that are so late that much has to be read before they are decided: they wait, and others do not. Until then the position stays
 * before them.
 * @param {{ orders: import('./newest-orders.js').NewestOrders | null, part: import('./log-partition.js').Part,
 *   decide: (named: Named) => void }} parts
 */
function createLate ({ orders, part, decide }) {
  /** @type {Named[]} */
  let waiting = []
  let isReading = false
  let generation = 0
  let before = part.taken

  /** What waits is of no more use after everything was cleared. */
  function forget () {
    if (orders === null || generation === orders.generation) return
    generation = orders.generation
    waiting = []
    part.decided = null
  }

  /** @param {import('../store/index.js').Connection} connection @param {import('./newest-orders.js').NewestOrders} orders */
  async function read (connection, orders) {
    isReading = true
    try {
      while (waiting.length > 0) {
        const asked = new Set(waiting)
        const open = new Set(await orders.readFor(connection, waiting.map(({ version }) => /** @type {any} */ (version)), 1))
        forget()
        // of those that came in the meantime nothing was read
        const isDecided = (/** @type {Named} */ named) => asked.has(named) && !open.has(/** @type {any} */ (named.version))
        const decided = waiting.filter(isDecided)
        waiting = waiting.filter((named) => !isDecided(named))
        decided.forEach(decide)
      }
      part.decided = null
    } catch {
      // the next session goes on
    } finally {
      isReading = false
    }
  }

  return {
    /** Before entries are taken. */
    begin () {
      forget()
      before = part.taken
    },

    /** @param {import('../store/index.js').Connection} connection @param {Named['version'][]} versions @returns {Promise<Set<unknown>>} */
    async undecided (connection, versions) {
      const stored = versions.flatMap((version) => version === null ? [] : [version])
      const pieces = isReading ? 0 : PIECES_AT_ONCE
      return new Set(await orders?.readFor(connection, stored, waiting.length < MOST_WAITING ? pieces : Infinity))
    },

    /** @param {Named} named */
    defer (named) {
      waiting.push(named)
      part.decided ??= before
    },

    /** @param {import('../store/index.js').Connection} connection */
    goOn (connection) { if (orders !== null && waiting.length > 0 && !isReading) read(connection, orders) }
  }
}

/**
 * @param {{ layout: import('../layouts/index.js').Layout, key: (part: string) => string, part: import('./log-partition.js').Part,
 *   size: ReturnType<typeof import('./reply-size.js').createReplySize>,
 *   intake: ReturnType<typeof import('./log-intake.js').createLogIntake>, retention: () => import('../layouts/index.js').Retention,
 *   now: () => number, onSkipped: (reason: string, error?: Error) => void, isNeeded: (id: string) => boolean,
 *   arrived: (id: string) => void, orders: import('./newest-orders.js').NewestOrders | null,
 *   taken: (id: string, arrival: Arrival, version: import('../layouts/index.js').StoredVersion | null) => void }} of `arrived`: an entry
 *   names the id; `taken`: then, of an id that is wanted, what is stored; where several versions of an id are stored, the one that arrived,
 *   if it is the newest. `orders`: there, which are. Ids as latin1
 * @returns {import('./log-feed.js').Newer}
 */
export function createRecentNewer ({ layout, key, part, size, intake, retention, now, onSkipped, isNeeded, arrived, orders, taken }) {
  const log = /** @type {import('../layouts/index.js').Log} */ (layout.arrivals)
  const versionsAt = /** @type {NonNullable<typeof layout.versionsAt>} */ (layout.versionsAt)
  const readSize = createReadSize()
  /** @type {VersionKey | null} */
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

  /** @param {Named} named */
  function decide ({ id, arrival, version }) {
    if (orders !== null && (version === null || !orders.arrived(id, version))) return
    const isOut = version !== null && floor !== null && !version.deleted && compareOrder({ ...version, id: arrival.id }, floor) <= 0
    taken(id, arrival, isOut ? null : version)
  }
  const late = createLate({ orders, part, decide })

  return {
    read: newerReader({ log, part, size, now }),

    async take (entries, connection) {
      const newest = newestArrivals(log, entries, onSkipped)
      size.learn(entries)
      late.begin()
      for (const id of newest.keys()) {
        arrived(id)
        // its order counts, whether it is needed or not
        if (orders === null && !isNeeded(id)) newest.delete(id)
      }
      const arrivals = [...newest.values()]
      await lookAtFloor(connection, arrivals)
      const ids = [...newest.keys()]
      for (let at = 0; at < arrivals.length; at += MAX_READ) {
        const piece = arrivals.slice(at, at + MAX_READ)
        const versions = await versionsAt(connection, key, piece, readSize)
        const open = await late.undecided(connection, versions)
        piece.forEach((arrival, i) => {
          const named = { id: ids[at + i], arrival, version: versions[i] }
          if (named.version !== null && open.has(named.version)) late.defer(named)
          else decide(named)
        })
        if (intake.isOver(piece.length)) await intake.yieldLoop()
      }
      const last = entries.at(-1)
      if (last) part.taken = last.entryId
      late.goOn(connection)
    }
  }
}
