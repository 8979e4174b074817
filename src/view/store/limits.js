/**
 * Decides which versions are live. A version is not if it is
 *
 *     below the window                ts < nowMs - windowMs
 *     beyond the number of arrivals   arrival <= newestArrival - maxItems
 *     at or below the given floor     in layouts that count by rank
 *     at or below the evicted floor   evicted for the bound; dropped when nothing there would be live
 */
import { MAX_ID_BYTES } from '../../item/index.js'

/**
 * An order key at or below which nothing is live. Its id has a fixed buffer, because a floor may rise with each item.
 */

const SEQ_STEPS = 4096

class Floor {
  /** ts * 4096 + seq, or -1 for none */
  order = -1
  id = Buffer.alloc(MAX_ID_BYTES)
  idBytes = 0

  /** @param {number} order @param {Uint8Array} bytes @param {number} idAt @param {number} idEnd */
  set (order, bytes, idAt, idEnd) {
    this.order = order
    this.idBytes = idEnd - idAt
    for (let i = 0; i < this.idBytes; i++) this.id[i] = bytes[idAt + i]
  }

  clear () {
    this.order = -1
  }

  /**
   * @param {number} order @param {Uint8Array} bytes @param {number} idAt @param {number} idEnd
   * @returns {boolean} whether it is at or below it
   */
  covers (order, bytes, idAt, idEnd) {
    if (order !== this.order) return order < this.order
    const common = Math.min(this.idBytes, idEnd - idAt)
    for (let i = 0; i < common; i++) if (bytes[idAt + i] !== this.id[i]) return bytes[idAt + i] < this.id[i]
    return idEnd - idAt <= this.idBytes
  }

  /** @returns {import('../../item/index.js').OrderKey | null} */
  orderKey () {
    return this.order < 0 ? null : { ...unpacked(this.order), id: Buffer.from(this.id.subarray(0, this.idBytes)) }
  }
}

/** @param {number} ts @param {number} seq @returns {number} the pair as one double, exact */
export const packed = (ts, seq) => ts * SEQ_STEPS + seq

/** @param {number} order @returns {{ ts: number, seq: number }} */
export function unpacked (order) {
  const ts = Math.floor(order / SEQ_STEPS)
  return { ts, seq: order - ts * SEQ_STEPS }
}

export class Limits {
  /** lowest order inside the window */
  windowOrder = -Infinity
  /** this arrival and earlier ones are not live */
  arrival = -Infinity
  given = new Floor()
  evicted = new Floor()
  #windowMs
  #maxItems
  #newestArrival = -Infinity
  /** the last arrival of those at or below the evicted floor */
  #evictedArrival = -Infinity

  /** @param {{ windowMs: number, maxItems: number }} retention */
  constructor ({ windowMs, maxItems }) {
    this.#windowMs = windowMs
    this.#maxItems = maxItems
  }

  get retention () {
    return { windowMs: this.#windowMs, maxItems: this.#maxItems }
  }

  /** @param {{ windowMs: number, maxItems: number }} retention applies from the next `advance` */
  set retention ({ windowMs, maxItems }) {
    this.#windowMs = windowMs
    this.#maxItems = maxItems
  }

  /** whether retention is by number of arrivals */
  get countsArrivals () {
    return this.#maxItems > 0
  }

  /** @param {number} nowMs @param {number | undefined} newestArrival */
  advance (nowMs, newestArrival) {
    this.windowOrder = this.#windowMs > 0 ? this.windowOrderAt(nowMs) : -Infinity
    if (newestArrival !== undefined) this.#newestArrival = Math.max(this.#newestArrival, newestArrival)
    this.arrival = this.#maxItems > 0 ? this.#newestArrival - this.#maxItems : -Infinity
    const { order, id, idBytes } = this.evicted
    if (order < this.windowOrder || this.#evictedArrival <= this.arrival || this.given.covers(order, id, 0, idBytes)) {
      this.evicted.clear()
      this.#evictedArrival = -Infinity
    }
  }

  /** @param {number} nowMs @returns {number} lowest order inside the window then */
  windowOrderAt (nowMs) {
    return this.#windowMs > 0 ? packed(Math.ceil(nowMs - this.#windowMs), 0) : 0
  }

  /** @param {number} order @param {number} arrival @param {Uint8Array} bytes @param {number} idAt @param {number} idEnd */
  isLive (order, arrival, bytes, idAt, idEnd) {
    if (order < this.windowOrder || arrival <= this.arrival || this.given.covers(order, bytes, idAt, idEnd)) return false
    if (!this.evicted.covers(order, bytes, idAt, idEnd)) return true
    this.#evictedArrival = Math.max(this.#evictedArrival, arrival)
    return false
  }

  /**
   * There was no room for a version.
   * @param {number} order @param {number} arrival @param {Uint8Array} bytes @param {number} idAt @param {number} idEnd
   */
  evict (order, arrival, bytes, idAt, idEnd) {
    if (!this.evicted.covers(order, bytes, idAt, idEnd)) this.evicted.set(order, bytes, idAt, idEnd)
    this.#evictedArrival = Math.max(this.#evictedArrival, arrival)
  }
}
