/**
 * The items of a store, and the indexes that lead to them.
 *
 *     id  ->  id table  -> \                          live:      the order of what is shown
 *     live, deleted     ->  record -> id and value    deleted:   the order of deletions, which hide late versions
 *     arrivals          -> /                          arrivals:  of both, only with maxItems
 *
 * Waiting versions are only in their ring. This file keeps the indexes consistent; index.js decides which items
 * are live.
 */
import { NONE } from './buckets.js'
import { idHash, IdTable } from './id-table.js'
import { Items } from './items.js'
import { Order } from './order.js'
import { BY_ARRIVAL, BY_ORDER, DELETED, WAITING } from './records.js'

/**
 * Decides which version of an id counts, and which ones wait.
 *
 * The newest counts: greatest (ts, seq), then greatest stamp, then last arrival. With retention by age only, an older version
 * never counts again and is not kept. With retention by number of arrivals (maxItems), an older version that arrived later
 * outlives the newest and then counts. So it waits, in a ring with the newest:
 *
 *     the newest  ->  waiting  ->  waiting  -> (the newest)
 *     order       >   order    >   order
 *     arrival     <   arrival  <   arrival
 *
 * A version that is lower in both than another never counts and is not kept. Versions that arrive in order form no ring.
 */

class Versions {
  #records

  /** @param {import('./records.js').Records} records */
  constructor (records) {
    this.#records = records
  }

  /**
   * @param {number} record @param {number} order @param {number} stamp @param {number} arrival of a version of the same id
   * @returns {boolean} whether it is newer than the record, or equal
   */
  isNewer (record, order, stamp, arrival) {
    const records = this.#records
    const ownOrder = records.order(record)
    if (order !== ownOrder) return order > ownOrder
    const ownStamp = records.stamp(record)
    return stamp !== ownStamp ? stamp > ownStamp : arrival >= records.arrival(record)
  }

  /**
   * Finds where an older version belongs that arrived later than the newest, and drops the waiting versions that it replaces.
   * @param {number} newest @param {number} order @param {number} stamp @param {number} arrival
   * @returns {number} the record that it follows, or NONE if it never counts
   */
  predecessorOf (newest, order, stamp, arrival) {
    const records = this.#records
    let predecessor = records.previous(newest)
    while (predecessor !== newest) {
      const before = records.previous(predecessor)
      const isLater = arrival >= records.arrival(predecessor)
      if (this.isNewer(predecessor, order, stamp, arrival)) {
        if (isLater) this.#drop(predecessor)
      } else if (isLater) return arrival === records.arrival(predecessor) ? NONE : predecessor
      else return NONE
      predecessor = before
    }
    return newest
  }

  /** @param {number} predecessor a record of the ring @param {number} record that follows it from now on */
  insertBehind (predecessor, record) {
    const records = this.#records
    records.link(record, records.next(predecessor))
    records.link(predecessor, record)
  }

  /** Drops the waiting versions that arrived no later than a version newer than all. @param {number} newest @param {number} arrival */
  dropArrived (newest, arrival) {
    const records = this.#records
    for (let waiting = records.next(newest); waiting !== newest && records.arrival(waiting) <= arrival; waiting = records.next(newest)) {
      this.#drop(waiting)
    }
  }

  /** Removes the newest from its ring. @param {number} newest @returns {number} the one that counts next, or NONE */
  leave (newest) {
    const records = this.#records
    const next = records.next(newest)
    if (next === newest) return NONE
    records.link(records.previous(newest), next)
    records.link(newest, newest)
    return next
  }

  /** @param {number} waiting */
  #drop (waiting) {
    const records = this.#records
    records.link(records.previous(waiting), records.next(waiting))
    this.#records.release(waiting)
  }
}

/** of the id table and two orders per item, when these are two thirds full */
const INDEX_BYTES = 40

export class Contents {
  items = new Items()
  records = this.items.records
  table = new IdTable(this.items)
  versions = new Versions(this.records)
  live = new Order(this.items, BY_ORDER)
  deleted = new Order(this.items, BY_ORDER)
  /** @type {Order | null} */
  arrivals = null

  /** @param {boolean} hasArrivals */
  constructor (hasArrivals) {
    this.keepArrivals(hasArrivals)
  }

  /** Bytes of the items, to compare with the bound. */
  get cost () {
    return this.records.usedBytes + this.records.count * INDEX_BYTES
  }

  /**
   * @param {number} length of id and value @param {number} record that a version of that length replaces, or NONE
   * @returns {number} by how much `cost` would rise
   */
  costOf (length, record) {
    const bucketBytes = this.records.bucketBytesFor(length)
    return record === NONE ? bucketBytes + INDEX_BYTES : bucketBytes - this.records.bucketBytes(record)
  }

  /** Bytes of memory held, free buckets included. */
  get bytes () {
    const { records, table, live, deleted, arrivals } = this
    return records.chunks.bytes + table.bytes + live.bytes + deleted.bytes + (arrivals?.bytes ?? 0)
  }

  /** @param {number} record */
  isDeleted (record) {
    return (this.records.mark(record) & DELETED) !== 0
  }

  /** @param {Uint8Array} bytes @param {number} at @param {number} end @returns {number} the record that represents an id, or NONE */
  find (bytes, at, end) {
    return this.table.find(idHash(bytes, at, end), bytes, at, end)
  }

  /**
   * @param {number} record @param {number} order @param {Uint8Array} bytes @param {number} idAt @param {number} idEnd
   * @returns {boolean} whether it is older than that
   */
  isBelow (record, order, bytes, idAt, idEnd) {
    const recordOrder = this.records.order(record)
    return recordOrder !== order ? recordOrder < order : this.items.compareId(record, bytes, idAt, idEnd) < 0
  }

  /**
   * @param {number} hash @param {number} mark @param {number} order @param {number} stamp @param {number} arrival
   * @param {Uint8Array} bytes with an id that has no record @param {number} idAt @param {number} idEnd
   * @param {number} valueAt @param {number} valueEnd
   */
  add (hash, mark, order, stamp, arrival, bytes, idAt, idEnd, valueAt, valueEnd) {
    const record = this.items.add(hash, mark, order, stamp, arrival, bytes, idAt, idEnd, valueAt, valueEnd)
    this.table.add(hash, record)
    this.#enter(record)
  }

  /**
   * Replaces what a record holds with a newer version of the same id that arrived later.
   * @param {number} record @param {number} mark @param {number} order @param {number} stamp @param {number} arrival
   * @param {Uint8Array} bytes @param {number} idAt @param {number} idEnd @param {number} valueAt @param {number} valueEnd
   */
  overwrite (record, mark, order, stamp, arrival, bytes, idAt, idEnd, valueAt, valueEnd) {
    const { records, items } = this
    this.#leave(record)
    if (records.next(record) !== record) this.versions.dropArrived(record, arrival)
    records.setVersion(record, mark, order, stamp, arrival)
    const now = items.rewrite(record, bytes, idAt, idEnd, valueAt, valueEnd)
    if (now !== record) this.table.replace(records.hash(now), record, now)
    this.#enter(now)
  }

  /**
   * A newer version that arrived earlier represents its id from now on, and the record waits behind it.
   * @param {number} record @param {number} mark @param {number} order @param {number} stamp @param {number} arrival
   * @param {Uint8Array} bytes @param {number} idAt @param {number} idEnd @param {number} valueAt @param {number} valueEnd
   */
  addBefore (record, mark, order, stamp, arrival, bytes, idAt, idEnd, valueAt, valueEnd) {
    const { records, items, table, versions } = this
    const hash = records.hash(record)
    const newest = items.add(hash, mark, order, stamp, arrival, bytes, idAt, idEnd, valueAt, valueEnd)
    this.#leave(record)
    records.setMark(record, records.mark(record) | WAITING)
    versions.insertBehind(records.previous(record), newest)
    table.replace(hash, record, newest)
    this.#enter(newest)
  }

  /**
   * An older version that arrived later waits behind the record of its id, unless it never counts.
   * @param {number} record @param {number} mark @param {number} order @param {number} stamp @param {number} arrival
   * @param {Uint8Array} bytes @param {number} idAt @param {number} idEnd @param {number} valueAt @param {number} valueEnd
   */
  addWaiting (record, mark, order, stamp, arrival, bytes, idAt, idEnd, valueAt, valueEnd) {
    const { records, items, versions } = this
    const predecessor = versions.predecessorOf(record, order, stamp, arrival)
    if (predecessor === NONE) return
    const waiting = items.add(records.hash(record), mark, order, stamp, arrival, bytes, idAt, idEnd, valueAt, valueEnd)
    versions.insertBehind(predecessor, waiting)
  }

  /** Removes an item and its waiting versions. @param {number} record that represents its id */
  drop (record) {
    this.#leave(record)
    this.table.remove(this.records.hash(record), record)
    this.#releaseRing(record)
  }

  /**
   * Removes the newest version of an id. A waiting version may represent the id from now on.
   * @param {number} record
   * @param {(record: number) => boolean} isLive
   * @returns {number} the record that represents the id now, or NONE
   */
  outlive (record, isLive) {
    const { records, table, versions } = this
    const hash = records.hash(record)
    this.#leave(record)
    let next = versions.leave(record)
    while (next !== NONE && !isLive(next)) {
      const dead = next
      next = versions.leave(dead)
      records.release(dead)
    }
    if (next === NONE) table.remove(hash, record)
    else {
      table.replace(hash, record, next)
      records.setMark(next, records.mark(next) & ~WAITING)
      this.#enter(next)
    }
    records.release(record)
    return next
  }

  /** @returns {number} the oldest record of items and deletions, or NONE */
  oldest () {
    const live = this.live.oldest()
    const deleted = this.deleted.oldest()
    if (live === NONE || deleted === NONE) return live === NONE ? deleted : live
    const idAt = this.records.idAt(deleted)
    const idEnd = idAt + this.records.idBytes(deleted)
    return this.isBelow(live, this.records.order(deleted), this.records.bytes(deleted), idAt, idEnd) ? live : deleted
  }

  /** @param {boolean} isKept whether to keep the order of arrivals. Building it sorts all items */
  keepArrivals (isKept) {
    if (isKept === (this.arrivals !== null)) return
    if (!isKept) {
      this.arrivals = null
      return
    }
    this.arrivals = new Order(this.items, BY_ARRIVAL)
    const all = [...this.live.records(), ...this.deleted.records()]
    all.sort((a, b) => this.records.arrival(a) - this.records.arrival(b))
    for (const record of all) this.arrivals.add(record)
  }

  /** Frees memory where much of it is unused. @param {number} moves at most */
  tidy (moves) {
    const { records, live, deleted, arrivals } = this
    for (const buckets of records.sizes) {
      if (moves > 0 && buckets.isSparse) moves -= buckets.drain(moves, (chunk, index) => this.#move(records.numberOf(chunk, index)))
    }
    for (const order of [live, deleted]) moves -= order.tidy(moves)
    arrivals?.tidy(moves)
  }

  /** @param {number} from a record */
  #move (from) {
    const { records, items } = this
    const order = this.isDeleted(from) ? this.deleted : this.live
    const isWaiting = (records.mark(from) & WAITING) !== 0
    const to = items.move(from)
    if (isWaiting) return
    this.table.replace(records.hash(to), from, to)
    order.replace(from, to)
    this.arrivals?.replace(from, to)
  }

  /** @param {number} record */
  #enter (record) {
    const order = this.isDeleted(record) ? this.deleted : this.live
    order.add(record)
    this.arrivals?.add(record)
  }

  /** @param {number} record */
  #leave (record) {
    const order = this.isDeleted(record) ? this.deleted : this.live
    order.remove(record)
    this.arrivals?.remove(record)
  }

  /** @param {number} record */
  #releaseRing (record) {
    for (let waiting = this.versions.leave(record); waiting !== NONE;) {
      const dead = waiting
      waiting = this.versions.leave(dead)
      this.records.release(dead)
    }
    this.records.release(record)
  }
}
