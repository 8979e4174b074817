/** Answers from the stores of a view. Above the `floor` they are exact; older items were evicted to keep the bound. */
import { FreshetError } from '../errors.js'

/** @typedef {import('../item/index.js').Place} Place */
/** @typedef {import('../layouts/index.js').Item} Item */
/** @typedef {{ limit: number, sinceMs?: number | null, after?: Place | null }} Question */
/** @typedef {import('./partitioned-store.js').Question} StoreQuestion */
/** @typedef {import('./partitioned-store.js').Visit} Visit */
/** @typedef {ReturnType<typeof import('./partitioned-store.js').createPartitionedStore>} PartitionedStore */

/**
 * @param {{ store: PartitionedStore, feed: string, boundItems: number, boundBytes: number, now: () => number,
 *   heldMs: () => number | null | undefined }} parts `heldMs`: what is newer is in the store, null = everything
 */
export function createViewAnswers ({ store, feed, boundItems, boundBytes, now, heldMs }) {
  /** @param {Place} floor */
  const overBound = (floor) => new FreshetError('VIEW_OVER_BOUND', `the view of feed ${feed} holds at most ${boundItems} items and ` +
    `${boundBytes} bytes, and nothing of ${floor.ts} (ms since 1970) or before; request newer items, or raise maxViewItems or ` +
    'maxViewBytes (--max-view-items, --max-view-bytes)')

  return {
    /**
     * Items, newest first.
     * @param {Question} question @param {Visit} visit
     * @returns {{ next: Place | null, count: number } | null} null = what the question needs was evicted, or is not read yet
     */
    visit ({ limit, sinceMs = null, after = null }, visit) {
      const floorMs = Math.max(store.stats().floor?.ts ?? -1, heldMs() ?? -1)
      const question = { limit, after, sinceMs, nowMs: now() }
      if (floorMs < 0 || (sinceMs !== null && sinceMs > floorMs)) return store.latest(question, visit)
      return visitAbove(floorMs, store, question, visit)
    },

    /** @param {Buffer[]} ids @returns {(Item | null)[]} @throws {FreshetError} VIEW_OVER_BOUND */
    get (ids) {
      const nowMs = now()
      const { floor } = store.stats()
      return ids.map((id) => {
        const partition = store.storeOf(id)
        const item = partition.get(id, nowMs)
        if (item === null && floor !== null && partition.versionOf(id) === null) throw overBound(floor)
        return item
      })
    },

    /** @returns {number} @throws {FreshetError} VIEW_OVER_BOUND */
    count () {
      const { floor } = store.stats()
      if (floor !== null) throw overBound(floor)
      return store.count(now())
    },

    /**
     * The newest version of an id that the view holds.
     * @param {Buffer} id
     * @returns {{ ts: number, value: Buffer, deleted: false } | { ts: number, value: null, deleted: true } | null} null: no
     *   longer live, or evicted
     */
    newest (id) {
      const partition = store.storeOf(id)
      const item = partition.get(id, now())
      if (item) return { ts: item.ts, value: item.value, deleted: false }
      const version = partition.versionOf(id)
      return version?.deleted ? { ts: version.ts, value: null, deleted: true } : null
    }
  }
}

/** @param {number} floorMs @param {PartitionedStore} store @param {StoreQuestion} question @param {Visit} visit */
function visitAbove (floorMs, store, question, visit) {
  let count = 0
  /** @type {Place | null} */
  let last = null
  let isEnded = false
  const { next } = store.latest(question, (bytes, idAt, idEnd, ts, seq, valueAt, valueEnd) => {
    // the floor is that of all partitions: one of them may hold older items
    if (ts <= floorMs) {
      isEnded = true
      return false
    }
    count++
    last = { ts, seq, id: Buffer.from(bytes.subarray(idAt, idEnd)) }
    return visit(bytes, idAt, idEnd, ts, seq, valueAt, valueEnd)
  })
  if (!isEnded && next !== null) return { next, count }
  return last === null ? null : { next: last, count }
}
