/**
 * One partition of a feed whose layout keeps no order of arrival, read into the store of a view.
 *
 *     window start <- filled slice by slice, newest first |  looked through slowly | counted  | -> newer, every 10 ms
 *                                                                                 -2 s      newest
 *
 * What arrives is usually newer than what is there, so each round reads behind the newest place. What arrives late is
 * found by counting: members of the last 20 ms, 200 ms and 2 s are counted in turn, and the time in which there are not as
 * many as were seen when it was read is read again. Time ahead of the clock does not move the place to read from.
 *
 * What is later than that, and in `ids` what was deleted or went back in time, is found by a slow walk (set-walk.js). How
 * members get into the store is in set-reading.js. Retention by number is by rank, which only the server knows: it tells the
 * floor.
 */
import { MAX_SEQ, compareOrder } from '../item/order.js'
import { createCounts } from './counts.js'
import { PAGE, createSetReading } from './set-reading.js'
import { createSetWalk } from './set-walk.js'

/** how far back is counted, and how often */
const TIERS = Object.freeze([{ backMs: 20, everyMs: 10 }, { backMs: 200, everyMs: 100 }, { backMs: 2000, everyMs: 1000 }])
const FLOOR_EVERY_MS = 50
const FIRST_SLICE_MS = 64
const SLICE_ITEMS = 4000
/** read at once, so that neither the node nor this process waits for the other */
const SLICES = 2

/** @typedef {import('../item/member.js').VersionPlace} VersionPlace */
/** @typedef {import('../store/connection.js').Connection} Connection */
/** @typedef {import('./shelves.js').Store} Store */

/**
 * @param {{ layout: import('../layouts/index.js').Layout, key: (part: string) => string, store: Store, now: () => number,
 *   retention: () => import('../layouts/index.js').Retention }} parts
 */
export function createSetPartition ({ layout, key, store, now, retention }) {
  const { size, isOneVersion, page, forgetMissing } = createSetReading({ layout, key, store, now, retention })
  const walk = createSetWalk({ page, forgetMissing, size, isOneVersion })
  const counts = createCounts()
  const dueMs = TIERS.map(() => 0)
  /** @type {VersionPlace | null} everything up to here was read, but for what is late; null = nothing yet */
  let newest = null
  /** @type {number | null} everything of this time and newer was read; null = the window is in */
  let filledMs = null
  let sliceMs = FIRST_SLICE_MS
  /** rises when it is filled anew */
  let filling = 0
  let floorDueMs = 0

  const windowStart = () => retention().windowMs ? Math.max(0, now() - retention().windowMs) : 0

  /** Reads what is newer. @param {Connection} connection @returns {Promise<boolean>} whether something was */
  async function readNewer (connection) {
    const clockMs = now()
    let isSome = false
    let last = newest
    /** @type {VersionPlace | null} */
    let place = newest
    do {
      place = await page(connection, {
        after: place,
        sinceMs: 0,
        seen (member) {
          if (member.ts > clockMs) return
          isSome = true
          counts.add(member.ts)
          if (last === null || compareOrder(member, last) > 0) last = member
        }
      })
    } while (place !== null)
    newest = last && { id: last.id, ts: last.ts, seq: last.seq, stamp: last.stamp }
    return isSome
  }

  /** @param {Connection} connection @param {number} nowMs @returns {Promise<import('../item/order.js').Place | undefined>} */
  async function newestMember (connection, nowMs) {
    const { items: [member] } = await layout.latest(connection, key, { limit: 1, after: null, sinceMs: null, retention: retention(), nowMs }).catch((error) => {
      if (error.code !== 'VIEW_NEEDED') throw error
      // only the newest of many was looked at
      return { items: [{ ts: nowMs, seq: MAX_SEQ, id: Buffer.alloc(0) }] }
    })
    return member
  }

  /**
   * Begins at the newest member: behind the clock, if that is where items come.
   * @param {Connection} connection
   */
  async function begin (connection) {
    const nowMs = Math.floor(now())
    const member = await newestMember(connection, nowMs)
    newest = { ts: member ? Math.min(member.ts, nowMs) : 0, seq: 0, id: Buffer.alloc(0) }
    fillAgain()
  }

  function fillAgain () {
    filling++
    if (newest === null) return
    filledMs = newest.ts + 1
    sliceMs = FIRST_SLICE_MS
  }

  /** Some slices of the window, from the newest that is missing back. @param {Connection} connection */
  async function fill (connection) {
    const untilMs = /** @type {number} */ (filledMs)
    const startMs = Math.max(windowStart(), 0)
    const mine = filling
    // where a page is more than one question, what one slice read first may be put after what another read later
    const slices = size.of(PAGE) < PAGE ? 1 : SLICES
    const seen = await Promise.all(Array.from({ length: slices }, (_, n) =>
      readSlice(connection, Math.max(startMs, untilMs - (n + 1) * sliceMs), untilMs - n * sliceMs)))
    if (mine !== filling) return
    const fromMs = Math.max(startMs, untilMs - slices * sliceMs)
    const most = Math.max(...seen)
    if (most < SLICE_ITEMS) sliceMs *= 4
    else if (most > 4 * SLICE_ITEMS) sliceMs = Math.max(1, sliceMs / 4)
    const { floor } = store.stats()
    filledMs = fromMs <= windowStart() || (floor !== null && floor.ts >= fromMs) ? null : fromMs
  }

  /** @param {Connection} connection @param {number} fromMs @param {number} untilMs itself not in it @returns {Promise<number>} members seen */
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

  /**
   * Reads again where not as many members are as were seen there.
   * @param {Connection} connection @param {{ isThorough: boolean, isQuiet: boolean }} options `isQuiet`: nothing newer came, so that what is
   *   missing of the newest millisecond came late
   */
  async function readLate (connection, { isThorough, isQuiet }) {
    const nowMs = performance.now()
    const due = isThorough ? TIERS.length - 1 : TIERS.findLastIndex((_, tier) => nowMs >= dueMs[tier])
    if (due === -1 || newest === null) return
    TIERS.forEach(({ everyMs }, tier) => { if (tier <= due) dueMs[tier] = nowMs + everyMs })
    const untilMs = isThorough || isQuiet ? newest.ts + 1 : newest.ts
    const fromMs = Math.max(0, untilMs - TIERS[due].backMs, Math.ceil(windowStart()))
    if (fromMs >= untilMs || await isAsSeen(connection, fromMs, untilMs)) return
    // where it begins to differ, and from where on it does not any more
    const from = await firstMs(fromMs, untilMs, async (ms) => !await isAsSeen(connection, fromMs, ms))
    const until = await firstMs(from, untilMs, (ms) => isAsSeen(connection, ms, untilMs))
    await readAgain(connection, from - 1, until)
  }

  /** @param {Connection} connection @param {number} fromMs @param {number} untilMs itself not among them */
  async function readAgain (connection, fromMs, untilMs) {
    counts.forget(fromMs, untilMs)
    /** @type {VersionPlace | null} */
    let place = null
    do {
      const from = place
      /** @type {Set<string>} */
      const there = new Set()
      place = await page(connection, {
        after: from,
        sinceMs: fromMs,
        seen ({ id, ts }) {
          if (ts < untilMs) counts.add(ts)
          there.add(id.toString('latin1'))
        }
      })
      if (isOneVersion) await forgetMissing(connection, { sinceMs: fromMs, from, to: place, there })
    } while (place !== null && place.ts < untilMs)
  }

  /** @param {Connection} connection @param {number} fromMs @param {number} untilMs itself not among them */
  async function isAsSeen (connection, fromMs, untilMs) {
    if (fromMs >= untilMs) return true
    const [since, beyond] = await Promise.all([countSince(connection, fromMs), countSince(connection, untilMs)])
    return since - beyond === counts.between(fromMs, untilMs)
  }

  /** Members of that time and newer. @param {Connection} connection @param {number} ms */
  const countSince = async (connection, ms) =>
    (await layout.count(connection, key, { retention: { windowMs: 1, maxItems: 0 }, nowMs: ms + 1 })).count

  /** @param {Connection} connection */
  async function askFloor (connection) {
    if (!layout.floor || performance.now() < floorDueMs) return
    floorDueMs = performance.now() + FLOOR_EVERY_MS
    store.setFloor(await layout.floor(connection, key, retention()))
  }

  return {
    get isIn () { return newest !== null && filledMs === null },
    /** The newest event time read, ms; 0 = none yet. */
    get newestMs () { return newest?.ts ?? 0 },

    beginAnew () {
      store.clear()
      newest = null
      walk.beginAnew()
      counts.clear()
    },

    fillAgain,

    /** Whether a node has got as far as what was read. @param {Connection} connection */
    async isThere (connection) {
      if (newest === null) return true
      const member = await newestMember(connection, Math.floor(now()))
      // items of one millisecond may come in two batches, of which a node has one
      return member !== undefined && compareOrder(member, newest) >= 0
    },

    /** @param {Connection} connection @param {{ isThorough: boolean }} options */
    async round (connection, { isThorough }) {
      if (newest === null) await begin(connection)
      await askFloor(connection)
      const isQuiet = !await readNewer(connection)
      if (filledMs !== null) await fill(connection)
      else {
        await readLate(connection, { isThorough, isQuiet })
        await walk.step(connection, Math.max(windowStart(), store.stats().floor?.ts ?? 0))
      }
    }
  }
}

/**
 * The first of some milliseconds of which something is true, if it is true of all behind it.
 * @param {number} fromMs @param {number} untilMs it is true of it @param {(ms: number) => Promise<boolean>} isTrue
 */
async function firstMs (fromMs, untilMs, isTrue) {
  let [low, high] = [fromMs, untilMs]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (await isTrue(middle)) high = middle
    else low = middle + 1
  }
  return low
}
