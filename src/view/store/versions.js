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
import { NONE } from './buckets.js'

export class Versions {
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
   * Finds the place of an older version that arrived later than the newest, and drops the waiting versions that it replaces.
   * @param {number} newest @param {number} order @param {number} stamp @param {number} arrival
   * @returns {number} the record that it follows, or NONE if it never counts
   */
  placeFor (newest, order, stamp, arrival) {
    const records = this.#records
    let place = records.previous(newest)
    while (place !== newest) {
      const before = records.previous(place)
      const isLater = arrival >= records.arrival(place)
      if (this.isNewer(place, order, stamp, arrival)) {
        if (isLater) this.#drop(place)
      } else if (isLater) return arrival === records.arrival(place) ? NONE : place
      else return NONE
      place = before
    }
    return newest
  }

  /** @param {number} place a record of the ring @param {number} record that follows it from now on */
  insertBehind (place, record) {
    const records = this.#records
    records.link(record, records.next(place))
    records.link(place, record)
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
