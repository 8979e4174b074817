/**
 * Reads the entries of a log of arrivals behind the newest one read, and puts the versions that they name into the store of a view: what
 * the same node has stored of them, which may be newer than the entry. So an entry that comes twice does no harm.
 *
 * Retention by number is by rank, which gives the floor. While the store has every live item of a layout with one version of an id, its
 * oldest beyond `maxItems` are the floor. Else the server is asked each second: superseded versions count, too, and items that the store
 * does not have. Such a floor takes effect when what came before it has been read, so that no item is dropped for versions that are not
 * read yet. When a version that an entry names was trimmed before it was read, the floor is asked at once, and an older version of its id
 * that the store shows is dropped before the view counts as current: it is superseded. Where the floor is below it, nothing was trimmed:
 * the entry is that of a batch that the server refused.
 */
import { compareOrder } from '../item/index.js'
import { createReadSize, MAX_READ } from '../layouts/index.js'
import { SKIP_REASONS } from './log-intake.js'
import { newerReader } from './log-newer.js'

const FIRST_ITEM_BYTES = 1024
/** what maxItems excludes is asked for at most so often */
export const FLOOR_EVERY_MS = 1000

/** @typedef {import('../store/index.js').Connection} Connection */
/** @typedef {import('../layouts/index.js').StoredVersion} StoredVersion */
/** @typedef {import('../layouts/index.js').Arrival} Arrival */
/** @typedef {import('../layouts/index.js').LogEntry} LogEntry */
/** @typedef {(id: Buffer, version: StoredVersion | null) => void} Put */

/**
 * Puts what is stored of an id into the store of a view. Of a layout that keeps one version of an id, that one counts, newer or older than
 * the one before; of another, the newest.
 * @param {import('../layouts/index.js').Layout} layout @param {import('./view.js').Store} store @returns {Put} null = nothing
 */
export function createPut (layout, store) {
  const isOneVersion = layout.describe().versions === 'one'
  /** id and value of the item that is put */
  let both = Buffer.allocUnsafeSlow(FIRST_ITEM_BYTES)

  return (id, version) => {
    if (version === null || (isOneVersion && version.deleted)) {
      if (isOneVersion) store.forget(id, 0, id.length)
      return
    }
    const { ts, seq, stamp, deleted, value } = version
    if (isOneVersion) {
      const shown = store.versionOf(id)
      const isSame = shown !== null && shown.ts === ts && shown.seq === seq
      if (isSame && store.get(id, 0)?.value.equals(value)) return
      if (shown && (isSame || shown.ts > ts || (shown.ts === ts && shown.seq > seq))) store.forget(id, 0, id.length)
    }
    const length = id.length + value.length
    if (length > both.length) both = Buffer.allocUnsafeSlow(2 * length)
    id.copy(both)
    value.copy(both, id.length)
    store.put(both, 0, id.length, ts, seq, stamp, deleted, id.length, length, 0)
  }
}

/**
 * @param {{ layout: import('../layouts/index.js').Layout, key: (part: string) => string, part: import('./log-partition.js').Part,
 *   put: Put, older: { refill: (before: import('../item/index.js').VersionPlace | null) => void },
 *   size: ReturnType<typeof import('./reply-size.js').createReplySize>,
 *   intake: ReturnType<typeof import('./log-intake.js').createLogIntake>, retention: () => import('../layouts/index.js').Retention,
 *   now: () => number, onSkipped: (reason: string, error?: Error) => void }} of
 */
export function createArrivalsNewer ({ layout, key, part, put, older, size, intake, retention, now, onSkipped }) {
  const log = /** @type {import('../layouts/index.js').Log} */ (layout.arrivals)
  const versionsAt = /** @type {NonNullable<typeof layout.versionsAt>} */ (layout.versionsAt)
  const readSize = createReadSize()
  const floor = createFloor({ layout, key, part, older, retention })

  /** Whether the store shows an older version of its id. @param {Arrival} arrival */
  function isOlderShown (arrival) {
    const shown = part.store.versionOf(arrival.id)
    return shown !== null && !shown.deleted && compareOrder({ ...shown, id: arrival.id }, arrival) < 0
  }

  return {
    read: newerReader({ log, part, size, now }),

    /** @param {LogEntry[]} found @param {Connection} connection that read them @param {boolean} isFull whether there may be more */
    async take (found, connection, isFull) {
      const newest = newestArrivals(log, found, onSkipped)
      const last = found.at(-1)?.entryId
      size.learn(found)
      const names = [...newest.keys()]
      const arrivals = [...newest.values()]
      /** @type {Buffer[]} ids of which the store shows an older version than one that is not stored */
      const superseded = []
      for (let at = 0; at < arrivals.length; at += MAX_READ) {
        const piece = arrivals.slice(at, at + MAX_READ)
        const versions = await versionsAt(connection, key, piece, readSize)
        piece.forEach((arrival, i) => {
          put(arrival.id, versions[i])
          if (versions[i] === null && isOlderShown(arrival)) superseded.push(arrival.id)
          for (const ids of part.touched) ids.add(names[at + i])
        })
        if (intake.isOver(piece.length)) await intake.yieldLoop()
      }
      if (last !== undefined) part.taken = last
      await floor.step(connection, isFull, superseded)
    }
  }
}

/**
 * The newest arrival of each id.
 * @param {import('../layouts/index.js').Log} log @param {LogEntry[]} found @param {(reason: string, error?: Error) => void} onSkipped
 * @returns {Map<string, Arrival>} by id, as latin1
 */
export function newestArrivals (log, found, onSkipped) {
  /** @type {Map<string, Arrival>} */
  const newest = new Map()
  for (const entry of found) {
    try {
      log.each(entry.bytes, (bytes, idAt, idEnd, ts, seq, deleted) => {
        const name = bytes.toString('latin1', idAt, idEnd)
        const id = Buffer.from(bytes.subarray(idAt, idEnd))
        const before = newest.get(name)
        if (!before || compareOrder(before, { id, ts, seq }) <= 0) newest.set(name, { id, ts, seq, deleted })
      })
    } catch (error) {
      const reason = SKIP_REASONS[error.code]
      if (reason === undefined) throw error
      onSkipped(reason, error)
    }
  }
  return newest
}

/**
 * @param {{ layout: import('../layouts/index.js').Layout, key: (part: string) => string, part: import('./log-partition.js').Part,
 *   older: { refill: (before: import('../item/index.js').VersionPlace | null) => void },
 *   retention: () => import('../layouts/index.js').Retention }} parts
 */
function createFloor ({ layout, key, part, older, retention }) {
  /** that was read in the round before @type {{ place: import('../item/index.js').VersionPlace | null, maxItems: number } | null} */
  let read = null
  let dueMs = 0
  const isOneVersion = layout.describe().versions === 'one'

  /** Whether the store knows the floor: what is live again after a floor that it had is not in it. @param {number} maxItems */
  const isWhole = (maxItems) => isOneVersion && part.history === null && part.store.stats().floor === null &&
    (part.floor === null || part.store.stats().items >= maxItems)

  /** @param {import('../item/index.js').VersionPlace | null} place */
  function apply (place) {
    const before = part.floor
    part.floor = place
    part.store.setFloor(/** @type {any} */ (place))
    // what was dropped is live again
    if (before !== null && (place === null || compareOrder(place, before) < 0)) older.refill(before)
  }

  /** @param {Buffer} id @param {import('../item/index.js').VersionPlace} place */
  function dropBelow (id, place) {
    const shown = part.store.versionOf(id)
    if (shown !== null && compareOrder({ ...shown, id }, place) <= 0) part.store.forget(id, 0, id.length)
  }

  return {
    /**
     * @param {Connection} connection @param {boolean} isFull whether there may be entries that are not read
     * @param {Buffer[]} superseded ids whose shown version is dropped now, if it is at the floor or below
     */
    async step (connection, isFull, superseded) {
      const { maxItems } = retention()
      if (read !== null && isFull && superseded.length === 0) return
      if (read !== null && !isFull && read.maxItems === maxItems) apply(read.place)
      read = null
      if (maxItems === 0 && part.floor !== null) apply(null)
      if (maxItems === 0) return
      if (isWhole(maxItems)) {
        const place = part.store.placeBeyond(maxItems)
        return place === null ? undefined : apply(place)
      }
      if (performance.now() < dueMs && superseded.length === 0) return
      dueMs = performance.now() + FLOOR_EVERY_MS
      const place = await /** @type {NonNullable<typeof layout.floor>} */ (layout.floor)(connection, key, retention())
      read = { place, maxItems }
      if (place !== null) for (const id of superseded) dropBelow(id, place)
    }
  }
}
