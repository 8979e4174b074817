/**
 * The live items of one partition in memory: newest first, by id, and their count. No clock and no I/O. One class above 250
 * lines, because it runs for each item: no indirection.
 *
 *     put  ->  limits.js    is it live?
 *              contents.js  by id (id-table.js), newest first (order.js), and which version counts
 *              items.js     the record of each (records.js), in chunks of buckets (buckets.js)
 *     latest, get, count  ->  readLatest, readItem: they change nothing, and leave out what is outside the window at the time given
 *
 * All data is in typed arrays: an item is no object and no string, causes no garbage, and the bytes of a superseded version are
 * reused at once. The answers are exact in any order of arrival: late, repeated and equal items, deletions, history read
 * backwards. Deletions are kept while they are live, so a late older version does not bring the id back.
 *
 * Memory per item: a head of 56 bytes with id and value, in a bucket of which at most a ninth is unused, and some 30 bytes in
 * the id table and the order. No array doubles: the store grows by chunks of at most 256 KiB. After a peak it frees empty
 * chunks, and where more than a third is free, `advance` moves items together, a thousand at a time.
 */
import { Contents } from './contents.js'
import { Limits, packed, unpacked } from './limits.js'
import { idHash } from './id-table.js'
import { DELETED, WAITING } from './records.js'
import { NONE } from './buckets.js'

/** removals by age in one `advance`, in addition to twice the number put since the last */
const MAX_EXPIRED = 20_000
/** moves in one `advance` */
const MAX_MOVES = 1000

/** @typedef {import('../../item/index.js').Place} Place */
/** @typedef {Place & { value: Buffer }} Item */
/** @typedef {{ windowMs: number, maxItems: number, boundItems: number, boundBytes: number }} Bounds */
/**
 * @typedef {(bytes: Buffer, idAt: number, idEnd: number, ts: number, seq: number, valueAt: number,
 *   valueEnd: number) => boolean | void} Visit
 *   the bytes are valid until it returns, and it must put nothing. False ends the page after this item
 */

/**
 * @param {Bounds} bounds `windowMs`, `maxItems`: retention, 0 = no limit. `boundItems`, `boundBytes`: limits of items, deletions
 *   and waiting versions; beyond them the oldest are evicted. Free buckets are not counted, at most half as much again
 */
export const createViewStore = (bounds) => new ViewStore(bounds)

export class ViewStore {
  /** increases with every visible change */
  revision = 0
  /**
   * Called with an id when a put, a forget or a waiting version changed what is visible, and for each deletion; not when an
   * item became too old. It must put nothing.
   * @type {((bytes: Uint8Array, idAt: number, idEnd: number, isForgotten: boolean) => void) | null}
   */
  watcher = null
  #bounds
  #limits
  #contents
  #putSince = 0

  /** @param {Bounds} bounds */
  constructor (bounds) {
    this.#bounds = bounds
    this.#limits = new Limits(bounds)
    this.#contents = new Contents(this.#limits.countsArrivals)
  }

  /**
   * @param {Uint8Array} bytes with id and value, which are copied @param {number} idAt @param {number} idEnd
   * @param {number} ts @param {number} seq
   * @param {number} stamp decides between versions of equal (ts, seq); between equal stamps the later arrival counts
   * @param {boolean} deleted @param {number} valueAt @param {number} valueEnd
   * @param {number} arrival number in order of arrival, may be negative
   * @returns {boolean} whether what is visible changed
   */
  put (bytes, idAt, idEnd, ts, seq, stamp, deleted, valueAt, valueEnd, arrival) {
    const isChanged = this.#put(bytes, idAt, idEnd, ts, seq, stamp, deleted, valueAt, valueEnd, arrival)
    // the watcher may know an id that was evicted since, so it gets every deletion
    if ((isChanged || deleted) && this.watcher !== null) this.watcher(bytes, idAt, idEnd, false)
    return isChanged
  }

  /**
   * @param {Uint8Array} bytes @param {number} idAt @param {number} idEnd @param {number} ts @param {number} seq @param {number} stamp
   * @param {boolean} deleted @param {number} valueAt @param {number} valueEnd @param {number} arrival
   */
  #put (bytes, idAt, idEnd, ts, seq, stamp, deleted, valueAt, valueEnd, arrival) {
    this.#putSince++
    const order = packed(ts, seq)
    if (!this.#limits.isLive(order, arrival, bytes, idAt, idEnd)) return false
    if (deleted) valueAt = valueEnd = idEnd
    const contents = this.#contents
    const hash = idHash(bytes, idAt, idEnd)
    let record = contents.table.find(hash, bytes, idAt, idEnd)
    const { revision } = this
    const later = record !== NONE && this.#limits.countsArrivals ? arrival - contents.records.arrival(record) : 0
    const isOld = record !== NONE && !contents.versions.isNewer(record, order, stamp, arrival)
    if (isOld && later <= 0) return false
    const length = idEnd - idAt + valueEnd - valueAt
    if (!isOld && this.#isTight(length)) {
      if (!this.#makeRoom(record, later < 0, order, arrival, bytes, idAt, idEnd, length)) return this.revision !== revision
      record = contents.table.find(hash, bytes, idAt, idEnd)
    }
    const mark = deleted ? DELETED : 0
    if (isOld) {
      contents.addWaiting(record, mark | WAITING, order, stamp, arrival, bytes, idAt, idEnd, valueAt, valueEnd)
      while (this.#isOver(0, 0)) this.#evict(contents.oldest())
    } else if (record === NONE) {
      contents.add(hash, mark, order, stamp, arrival, bytes, idAt, idEnd, valueAt, valueEnd)
      if (!deleted) this.revision++
    } else {
      if (this.#isVisibleChange(record, order, deleted, bytes, valueAt, valueEnd)) this.revision++
      if (later < 0) contents.addBefore(record, mark, order, stamp, arrival, bytes, idAt, idEnd, valueAt, valueEnd)
      else contents.overwrite(record, mark, order, stamp, arrival, bytes, idAt, idEnd, valueAt, valueEnd)
    }
    return this.revision !== revision
  }

  /**
   * For layouts that remove ids.
   * @param {Uint8Array} bytes @param {number} idAt @param {number} idEnd
   * @returns {boolean} whether what is visible changed
   */
  forget (bytes, idAt, idEnd) {
    const record = this.#contents.find(bytes, idAt, idEnd)
    const { revision } = this
    if (record !== NONE) this.#drop(record)
    const isChanged = this.revision !== revision
    if (isChanged && this.watcher !== null) this.watcher(bytes, idAt, idEnd, true)
    return isChanged
  }

  /**
   * Removes what is no longer live. To be called every few milliseconds while items are put.
   * @param {number} nowMs
   * @param {number} [newestArrival] number of the newest arrival so far
   * @returns {boolean} whether more must be removed by age; queries do not show it
   */
  advance (nowMs, newestArrival) {
    this.#limits.advance(nowMs, newestArrival)
    this.#removeArrived()
    const isMore = this.#removeAged(MAX_EXPIRED + 2 * this.#putSince)
    this.#putSince = 0
    this.#contents.tidy(MAX_MOVES)
    return isMore
  }

  /** @param {Place | null} place nothing at or below it is live, until the next call */
  setFloor (place) {
    if (!place) return this.#limits.given.clear()
    this.#limits.given.set(packed(place.ts, place.seq), place.id, 0, place.id.length)
    this.#removeCovered(this.#limits.given)
  }

  /** @param {number} count @returns {Place | null} of the newest item beyond so many newer ones; null: there are no more */
  placeBeyond (count) {
    const { live } = this.#contents
    return live.count <= count ? null : readPlace(this.#contents, live.fromOldest(live.count - count - 1))
  }

  /** Applies from the next `advance`. Removed items do not come back. @param {{ windowMs: number, maxItems: number }} retention */
  setRetention (retention) {
    this.#limits.retention = retention
    this.#contents.keepArrivals(this.#limits.countsArrivals)
  }

  /**
   * @param {{ limit: number, after: Place | null, sinceMs: number | null, nowMs: number }} question
   * @param {Visit} visit newest first
   * @returns {{ next: Place | null, count: number }} `next`: the last one visited, if there are older ones
   */
  latest ({ limit, after, sinceMs, nowMs }, visit) {
    const minOrder = Math.max(this.#limits.windowOrderAt(nowMs), packed(Math.ceil(sinceMs ?? 0), 0))
    return readLatest(this.#contents, { limit, after, minOrder }, visit)
  }

  /** @param {Buffer} id @param {number} nowMs @returns {Item | null} copied */
  get (id, nowMs) {
    return readItem(this.#contents, id, this.#limits.windowOrderAt(nowMs))
  }

  /** @param {Buffer} id @returns {{ ts: number, seq: number, stamp: number, deleted: boolean } | null} the newest one held */
  versionOf (id) {
    return readVersion(this.#contents, id)
  }

  /** @param {number} nowMs @returns {number} live ids, deletions not counted */
  count (nowMs) {
    const { live } = this.#contents
    return live.count - live.countBelow(this.#limits.windowOrderAt(nowMs))
  }

  /**
   * @returns {{ items: number, tombstones: number, bytes: number, floor: Place | null }} `bytes` of memory held; above `floor`
   *   nothing was evicted
   */
  stats () {
    const { live, deleted, bytes } = this.#contents
    return { items: live.count, tombstones: deleted.count, bytes, floor: this.#limits.evicted.place() }
  }

  /** Removes all items; retention and bounds stay. */
  clear () {
    if (this.#contents.live.count > 0) this.revision++
    this.#limits = new Limits(this.#limits.retention)
    this.#contents = new Contents(this.#limits.countsArrivals)
  }

  /**
   * @param {number} record @param {number} order @param {boolean} deleted
   * @param {Uint8Array} bytes @param {number} valueAt @param {number} valueEnd
   */
  #isVisibleChange (record, order, deleted, bytes, valueAt, valueEnd) {
    if (this.#contents.isDeleted(record)) return !deleted
    const { items, records } = this.#contents
    return deleted || records.order(record) !== order || !items.isValue(record, bytes, valueAt, valueEnd)
  }

  /** @param {number} record */
  #drop (record) {
    if (!this.#contents.isDeleted(record)) this.revision++
    this.#contents.drop(record)
  }

  /** @param {number} record that represents its id from now on */
  #notify (record) {
    if (this.watcher === null) return
    const { records } = this.#contents
    const idAt = records.idAt(record)
    this.watcher(records.bytes(record), idAt, idAt + records.idBytes(record), false)
  }

  #removeArrived () {
    const contents = this.#contents
    const { arrivals, records } = contents
    if (arrivals === null) return
    const isLive = (/** @type {number} */ record) => {
      const idAt = records.idAt(record)
      const idEnd = idAt + records.idBytes(record)
      return this.#limits.isLive(records.order(record), records.arrival(record), records.bytes(record), idAt, idEnd)
    }
    for (let first = arrivals.oldest(); first !== NONE && records.arrival(first) <= this.#limits.arrival; first = arrivals.oldest()) {
      const wasVisible = !contents.isDeleted(first)
      const next = contents.outlive(first, isLive)
      const isVisible = next !== NONE && !contents.isDeleted(next)
      if (wasVisible || isVisible) this.revision++
      if (next !== NONE && (wasVisible || isVisible)) this.#notify(next)
    }
  }

  /** @param {number} limit @returns {boolean} whether there are more */
  #removeAged (limit) {
    const { records, live, deleted } = this.#contents
    const { windowOrder } = this.#limits
    for (const order of [live, deleted]) {
      for (let oldest = order.oldest(); oldest !== NONE && records.order(oldest) < windowOrder; oldest = order.oldest()) {
        if (limit-- === 0) return true
        this.#drop(oldest)
      }
    }
    return false
  }

  /** @param {import('./limits.js').Limits['given']} floor */
  #removeCovered (floor) {
    const contents = this.#contents
    const { records } = contents
    for (let oldest = contents.oldest(); oldest !== NONE; oldest = contents.oldest()) {
      const idAt = records.idAt(oldest)
      if (!floor.covers(records.order(oldest), records.bytes(oldest), idAt, idAt + records.idBytes(oldest))) return
      this.#drop(oldest)
    }
  }

  /** @param {number} moreItems @param {number} moreBytes */
  #isOver (moreItems, moreBytes) {
    const { records, cost } = this.#contents
    return records.count + moreItems > this.#bounds.boundItems || cost + moreBytes > this.#bounds.boundBytes
  }

  /** Whether there may be no room; an upper bound. @param {number} length of id and value */
  #isTight (length) {
    return this.#isOver(1, 2 * length + 256)
  }

  /**
   * Evicts the oldest until a version has room. It has none if it would be the oldest itself.
   * @param {number} record that represents its id, or NONE @param {boolean} isAdded whether that record stays, waiting
   * @param {number} order @param {number} arrival @param {Uint8Array} bytes @param {number} idAt @param {number} idEnd
   * @param {number} length of id and value
   */
  #makeRoom (record, isAdded, order, arrival, bytes, idAt, idEnd, length) {
    const contents = this.#contents
    while (this.#isOver(record === NONE || isAdded ? 1 : 0, contents.costOf(length, isAdded ? NONE : record))) {
      const oldest = contents.oldest()
      if (oldest === NONE || !contents.isBelow(oldest, order, bytes, idAt, idEnd)) {
        this.#limits.evict(order, arrival, bytes, idAt, idEnd)
        // the version repeats the oldest record: both go
        if (oldest === record && record !== NONE) this.#evict(record)
        return false
      }
      if (oldest === record) record = NONE
      this.#evict(oldest)
    }
    return true
  }

  /** @param {number} record the oldest */
  #evict (record) {
    const { records } = this.#contents
    const idAt = records.idAt(record)
    // the last in the ring of waiting versions arrived last
    const arrival = records.arrival(records.previous(record))
    this.#limits.evict(records.order(record), arrival, records.bytes(record), idAt, idAt + records.idBytes(record))
    this.#drop(record)
  }
}

/**
 * A page, newest first, at the same cost from any depth.
 * @param {Contents} contents
 * @param {{ limit: number, after: Place | null, minOrder: number }} question
 * @param {Visit} visit
 * @returns {{ next: Place | null, count: number }}
 */
function readLatest (contents, { limit, after, minOrder }, visit) {
  const { records, live } = contents
  let position = after ? live.below(packed(after.ts, after.seq), after.id, 0, after.id.length) : live.end()
  let last = NONE
  let count = 0
  for (let isFull = limit <= 0; position !== NONE; position = live.older(position)) {
    const record = live.at(position)
    const order = records.order(record)
    if (order < minOrder) break
    if (isFull) return { next: last === NONE ? after : readPlace(contents, last), count }
    const bytes = records.bytes(record)
    const idAt = records.idAt(record)
    const idEnd = idAt + records.idBytes(record)
    const { ts, seq } = unpacked(order)
    count++
    last = record
    isFull = visit(bytes, idAt, idEnd, ts, seq, idEnd, idEnd + records.valueBytes(record)) === false || count === limit
  }
  return { next: null, count }
}

/**
 * @param {Contents} contents @param {Buffer} id @param {number} minOrder
 * @returns {Item | null} copied
 */
function readItem (contents, id, minOrder) {
  const { records } = contents
  const record = contents.find(id, 0, id.length)
  if (record === NONE || contents.isDeleted(record) || records.order(record) < minOrder) return null
  const valueAt = records.idAt(record) + records.idBytes(record)
  const value = Buffer.from(records.bytes(record).subarray(valueAt, valueAt + records.valueBytes(record)))
  return { ...readPlace(contents, record), value }
}

/** @param {Contents} contents @param {Buffer} id @returns {{ ts: number, seq: number, stamp: number, deleted: boolean } | null} */
function readVersion (contents, id) {
  const { records } = contents
  const record = contents.find(id, 0, id.length)
  if (record === NONE) return null
  return { ...unpacked(records.order(record)), stamp: records.stamp(record), deleted: contents.isDeleted(record) }
}

/** @param {Contents} contents @param {number} record @returns {Place} copied */
function readPlace ({ records }, record) {
  const idAt = records.idAt(record)
  return { ...unpacked(records.order(record)), id: Buffer.from(records.bytes(record).subarray(idAt, idAt + records.idBytes(record))) }
}
