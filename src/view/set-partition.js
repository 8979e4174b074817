/**
 * Reads one partition of a feed whose layout does not keep the order of arrival into the store of a view.
 *
 *     window start <- filled in slices, newest first |  swept slowly  |  counted  | -> newer, every 10 ms
 *                        (set-fill.js)                 (set-sweep.js)  -2 s       newest
 *                                                                      (set-late.js)
 *
 * Items usually arrive newer than those before, so each round reads behind the newest place. Counting finds items that arrive
 * up to 2 s late; the sweep finds later ones, and in `ids` deletions and ids that went back in time. Items ahead of the clock
 * do not move the newest place. Retention by number is by rank, which only the server knows: it gives the floor.
 */
import { compareOrder, MAX_SEQ } from '../item/index.js'
import { createSetFill } from './set-fill.js'
import { createSetLate } from './set-late.js'
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
  const sweep = createSetSweep(pages)
  /** @type {VersionPlace | null} everything up to here was read, except late items; null = nothing yet */
  let newest = null
  let floorDueMs = 0

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

  /** @param {Connection} connection @param {number} nowMs @returns {Promise<import('../item/index.js').Place | undefined>} */
  async function newestMember (connection, nowMs) {
    const question = { limit: 1, after: null, sinceMs: null, retention: retention(), nowMs }
    const { items: [member] } = await layout.latest(connection, key, question).catch((error) => {
      if (error.code !== 'VIEW_NEEDED') throw error
      // there are too many to find the newest: any may be it
      return { items: [{ ts: nowMs, seq: MAX_SEQ, id: Buffer.alloc(0) }] }
    })
    return member
  }

  /** Starts at the newest member, but not ahead of the clock. @param {Connection} connection */
  async function start (connection) {
    const nowMs = Math.floor(now())
    const member = await newestMember(connection, nowMs)
    newest = { ts: member ? Math.min(member.ts, nowMs) : 0, seq: 0, id: Buffer.alloc(0) }
    refill()
  }

  function refill () {
    if (newest === null) fill.cancel()
    else fill.start(newest.ts + 1)
  }

  /** @param {Connection} connection */
  async function readFloor (connection) {
    if (!layout.floor || performance.now() < floorDueMs) return
    floorDueMs = performance.now() + FLOOR_EVERY_MS
    store.setFloor(await layout.floor(connection, key, retention()))
  }

  return {
    get isComplete () { return newest !== null && fill.isDone },
    /** The newest event time read, ms; 0 = none yet. */
    get newestMs () { return newest?.ts ?? 0 },

    reset () {
      store.clear()
      newest = null
      sweep.reset()
      late.clear()
    },

    refill,

    /** Whether a node has the newest item that was read, or a newer one. @param {Connection} connection */
    async hasNewest (connection) {
      if (newest === null) return true
      const member = await newestMember(connection, Math.floor(now()))
      // not by time alone: the node may have one of two batches with items of the same millisecond
      return member !== undefined && compareOrder(member, newest) >= 0
    },

    /** @param {Connection} connection @param {{ isThorough: boolean }} options whether to count all tiers */
    async round (connection, { isThorough }) {
      if (newest === null) await start(connection)
      await readFloor(connection)
      const isQuiet = !await readNewer(connection)
      if (!fill.isDone) return fill.step(connection)
      if (newest !== null) await late.step(connection, { newestMs: newest.ts, isThorough, isQuiet })
      await sweep.step(connection, Math.max(windowStart(), store.stats().floor?.ts ?? 0))
    }
  }
}
