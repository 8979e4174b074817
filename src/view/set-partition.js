/**
 * Reads one partition of a feed whose layout does not keep the order of arrival into the store of a view.
 *
 *     window start <- filled in slices, newest first |  swept slowly  |  counted  | -> newer, every 10 ms
 *                        (set-fill.js)                 (set-sweep.js)  -2 s       newest
 *                                                                      (set-late.js)
 *
 * Items usually arrive newer than those before, so each round reads behind the newest place. Counting finds items that arrive
 * up to 2 s late. Writers mark batches that are later, and deletions in `ids` (set-marks.js): what they mark is read again
 * before the round counts. Items ahead of the clock do not move the newest place. Retention by number is by rank, which only the
 * server knows: it gives the floor. It is read before the marks and takes effect after them, so that no item is dropped for
 * versions that are not read yet.
 */
import { compareOrder, MAX_SEQ } from '../item/index.js'
import { createSetFill } from './set-fill.js'
import { createSetLate } from './set-late.js'
import { createSetMarks } from './set-marks.js'
import { createSetPages } from './set-pages.js'
import { createSetSweep } from './set-sweep.js'

const FLOOR_EVERY_MS = 50

/** @typedef {import('../item/index.js').VersionPlace} VersionPlace */
/** @typedef {import('../store/index.js').Connection} Connection */

/**
 * @param {{ layout: import('../layouts/index.js').Layout, key: (part: string) => string, store: import('./partitioned-store.js').Store,
 *   now: () => number, retention: () => import('../layouts/index.js').Retention }} parts
 */
export function createSetPartition ({ layout, key, store, now, retention }) {
  const windowStart = () => retention().windowMs ? Math.max(0, now() - retention().windowMs) : 0
  const pages = createSetPages({ layout, key, store, now, retention })
  const fill = createSetFill({ pages, store, windowStart })
  const late = createSetLate({ layout, key, pages, windowStart })
  const marks = createSetMarks({ key })
  const sweep = createSetSweep(pages)
  /** @type {VersionPlace | null} everything up to here was read, except late items; null = nothing yet */
  let newest = null
  /** whether the window was read, and what was marked in the meantime */
  let isComplete = false
  const readFloor = createFloor({ layout, key, retention })

  /** Reads what is newer. @param {Connection} connection @returns {Promise<boolean>} whether there was something */
  async function readNewer (connection) {
    const clockMs = now()
    let isSome = false
    let last = newest
    /** @type {VersionPlace | null} */
    let place = newest
    do {
      place = await pages.page(connection, {
        after: place,
        sinceMs: 0,
        seen (member) {
          if (member.ts > clockMs) return
          isSome = true
          late.seen(member.ts)
          if (last === null || compareOrder(member, last) > 0) last = member
        }
      })
    } while (place !== null)
    newest = last && { id: last.id, ts: last.ts, seq: last.seq, stamp: last.stamp }
    return isSome
  }

  /** Starts at the newest member, but not ahead of the clock. @param {Connection} connection */
  async function start (connection) {
    const nowMs = Math.floor(now())
    await marks.start(connection)
    const member = await newestMember(connection, { layout, key, retention: retention(), nowMs })
    newest = { ts: member ? Math.min(member.ts, nowMs) : 0, seq: 0, id: Buffer.alloc(0) }
    refill()
  }

  function refill () {
    isComplete = false
    if (newest === null) fill.cancel()
    else fill.start(newest.ts + 1)
  }

  /**
   * Reads again what is marked.
   * @param {Connection} connection @param {number} untilMs what is newer was read after the marks
   * @returns {Promise<boolean>} whether there was something
   */
  async function readMarked (connection, untilMs) {
    const { from, to, ids } = marks.due
    await pages.lookUp(connection, ids)
    await late.readAgain(connection, Math.max(from, Math.ceil(windowStart())), Math.min(to, untilMs) + 1, { readsAll: pages.isOneVersion })
    marks.forget()
    isComplete = fill.isDone
    return to >= from
  }

  return {
    get isComplete () { return isComplete },
    /** The newest event time read, ms; 0 = none yet. */
    get newestMs () { return newest?.ts ?? 0 },

    reset () {
      store.clear()
      newest = null
      isComplete = false
      sweep.reset()
      late.clear()
    },

    refill,

    /** @param {Connection} connection @param {{ isThorough: boolean }} options whether to count all tiers */
    async round (connection, { isThorough }) {
      if (newest === null) await start(connection)
      const floor = await readFloor(connection)
      await marks.read(connection)
      const untilMs = newest?.ts ?? 0
      let isQuiet = !await readNewer(connection)
      // an id that was marked may have moved up since
      if (fill.isDone && await readMarked(connection, untilMs)) isQuiet = !await readNewer(connection)
      if (floor !== undefined) store.setFloor(floor)
      if (!fill.isDone) return fill.step(connection)
      if (newest !== null) await late.step(connection, { newestMs: newest.ts, isThorough, isQuiet })
      await sweep.step(connection, Math.max(windowStart(), store.stats().floor?.ts ?? 0))
    }
  }
}

/**
 * @param {Connection} connection
 * @param {{ layout: import('../layouts/index.js').Layout, key: (part: string) => string,
 *   retention: import('../layouts/index.js').Retention, nowMs: number }} partition
 * @returns {Promise<import('../item/index.js').Place | undefined>}
 */
async function newestMember (connection, { layout, key, retention, nowMs }) {
  const question = { limit: 1, after: null, sinceMs: null, retention, nowMs }
  const { items: [member] } = await layout.latest(connection, key, question).catch((error) => {
    if (error.code !== 'VIEW_NEEDED') throw error
    // there are too many to find the newest: any may be it
    return { items: [{ ts: nowMs, seq: MAX_SEQ, id: Buffer.alloc(0) }] }
  })
  return member
}

/**
 * @param {{ layout: import('../layouts/index.js').Layout, key: (part: string) => string,
 *   retention: () => import('../layouts/index.js').Retention }} parts
 */
function createFloor ({ layout, key, retention }) {
  let dueMs = 0

  /** @param {Connection} connection @returns {Promise<VersionPlace | null | undefined>} undefined = it is not due */
  return async (connection) => {
    if (!layout.floor || performance.now() < dueMs) return undefined
    dueMs = performance.now() + FLOOR_EVERY_MS
    return layout.floor(connection, key, retention())
  }
}
