/**
 * The live items of one partition or feed, in memory. First version: right, and slow; the fast one has the same face.
 */
import { compareOrder, newestFirst } from '../../item/order.js'

/** @typedef {import('../../item/order.js').Place} Place */
/** @typedef {Place & { value: Buffer }} Item */
/** @typedef {Item & { stamp: number, deleted: boolean, arrival: number }} Version */

/** @param {{ windowMs: number, maxItems: number, boundItems: number, boundBytes: number }} bounds */
export const createViewStore = (bounds) => new ViewStore(bounds)

export class ViewStore {
  /** rises with every visible change */
  revision = 0
  #windowMs
  #maxItems
  #boundItems
  #boundBytes
  /** @type {Map<string, Version>} */
  #versions = new Map()
  /** @type {Version[] | null} newest first */
  #sorted = null
  #bytes = 0
  #windowStart = -Infinity
  #arrivalLimit = -Infinity
  /** @type {Place | null} */
  #setFloor = null
  /** @type {Place | null} */
  #floor = null
  #evictedArrival = -Infinity

  /** @param {{ windowMs: number, maxItems: number, boundItems: number, boundBytes: number }} bounds */
  constructor ({ windowMs, maxItems, boundItems, boundBytes }) {
    this.#windowMs = windowMs
    this.#maxItems = maxItems
    this.#boundItems = boundItems
    this.#boundBytes = boundBytes
  }

  /**
   * @param {Uint8Array} bytes copied @param {number} idAt @param {number} idEnd @param {number} ts @param {number} seq @param {number} stamp
   * @param {boolean} deleted @param {number} valueAt @param {number} valueEnd @param {number} arrival
   * @returns {boolean} whether what is visible changed
   */
  put (bytes, idAt, idEnd, ts, seq, stamp, deleted, valueAt, valueEnd, arrival) {
    const id = Buffer.from(bytes.subarray(idAt, idEnd))
    const version = { id, ts, seq, stamp, deleted, value: Buffer.from(bytes.subarray(valueAt, deleted ? valueAt : valueEnd)), arrival }
    if (ts < this.#windowStart || arrival <= this.#arrivalLimit) return false
    if (this.#setFloor && compareOrder(version, this.#setFloor) <= 0) return false
    if (this.#floor && compareOrder(version, this.#floor) <= 0) {
      this.#evictedArrival = Math.max(this.#evictedArrival, arrival)
      return false
    }
    const key = id.toString('latin1')
    const before = this.#versions.get(key)
    if (before) {
      const order = compareOrder(version, before) || stamp - before.stamp || arrival - before.arrival
      if (order < 0) return false
      this.#drop(key, before)
    }
    this.#versions.set(key, version)
    this.#bytes += costOf(version)
    this.#sorted = null
    const isSame = before && before.ts === ts && before.seq === seq && before.deleted === deleted && before.value.equals(version.value)
    const isChanged = !isSame && (!deleted || (before !== undefined && !before.deleted))
    if (isChanged) this.revision++
    while (this.#versions.size > this.#boundItems || this.#bytes > this.#boundBytes) {
      const oldest = /** @type {Version} */ (this.#all().at(-1))
      this.#floor = placeOf(oldest)
      this.#evictedArrival = Math.max(this.#evictedArrival, oldest.arrival)
      this.#remove(oldest)
    }
    return isChanged
  }

  /** @param {Uint8Array} bytes @param {number} idAt @param {number} idEnd @returns {boolean} whether what is visible changed */
  forget (bytes, idAt, idEnd) {
    const before = this.#versions.get(Buffer.from(bytes.subarray(idAt, idEnd)).toString('latin1'))
    if (before) this.#remove(before)
    return before !== undefined && !before.deleted
  }

  /** @param {number} nowMs @param {number} [newestArrival] */
  advance (nowMs, newestArrival = -Infinity) {
    if (this.#windowMs) this.#windowStart = nowMs - this.#windowMs
    if (this.#maxItems) this.#arrivalLimit = Math.max(this.#arrivalLimit, newestArrival - this.#maxItems)
    for (const version of this.#all()) {
      if (version.ts < this.#windowStart || version.arrival <= this.#arrivalLimit || (this.#setFloor && compareOrder(version, this.#setFloor) <= 0)) this.#remove(version)
    }
    if (this.#floor && (this.#floor.ts < this.#windowStart || this.#evictedArrival <= this.#arrivalLimit ||
        (this.#setFloor && compareOrder(this.#floor, this.#setFloor) <= 0))) {
      this.#floor = null
      this.#evictedArrival = -Infinity
    }
  }

  /** @param {Place | null} place nothing at or below it is live */
  setFloor (place) {
    this.#setFloor = place
    for (const version of this.#all()) if (place && compareOrder(version, place) <= 0) this.#remove(version)
  }

  /** @param {{ windowMs: number, maxItems: number }} retention */
  setRetention ({ windowMs, maxItems }) {
    this.#windowMs = windowMs
    this.#maxItems = maxItems
    if (!windowMs) this.#windowStart = -Infinity
    if (!maxItems) this.#arrivalLimit = -Infinity
  }

  /**
   * @param {{ limit: number, after: Place | null, sinceMs: number | null, nowMs: number }} question
   * @param {(bytes: Buffer, idAt: number, idEnd: number, ts: number, seq: number, valueAt: number, valueEnd: number) => boolean | void} visit
   *   false: the page ends behind this item
   * @returns {{ next: Place | null, count: number }}
   */
  latest ({ limit, after, sinceMs, nowMs }, visit) {
    const minTs = Math.max(sinceMs ?? 0, this.#windowMs ? nowMs - this.#windowMs : 0)
    let count = 0
    let last = null
    let isFull = limit <= 0
    for (const version of this.#all()) {
      if (version.deleted || version.ts < minTs || (after && compareOrder(version, after) >= 0)) continue
      if (isFull) return { next: last && placeOf(last), count }
      const { id, ts, seq, value } = version
      const bytes = Buffer.concat([id, value])
      count++
      last = version
      isFull = visit(bytes, 0, id.length, ts, seq, id.length, bytes.length) === false || count === limit
    }
    return { next: null, count }
  }

  /** @param {Buffer} id @param {number} nowMs @returns {Item | null} */
  get (id, nowMs) {
    const version = this.#versions.get(id.toString('latin1'))
    if (!version || version.deleted || (this.#windowMs && version.ts < nowMs - this.#windowMs)) return null
    return { ...placeOf(version), value: version.value }
  }

  /** @param {Buffer} id @returns {{ ts: number, seq: number, stamp: number, deleted: boolean } | null} */
  versionOf (id) {
    const version = this.#versions.get(id.toString('latin1'))
    return version ? { ts: version.ts, seq: version.seq, stamp: version.stamp, deleted: version.deleted } : null
  }

  /** @param {number} nowMs @returns {number} live ids */
  count (nowMs) {
    const minTs = this.#windowMs ? nowMs - this.#windowMs : 0
    let count = 0
    for (const { deleted, ts } of this.#versions.values()) if (!deleted && ts >= minTs) count++
    return count
  }

  /** @returns {{ items: number, tombstones: number, bytes: number, floor: Place | null }} */
  stats () {
    const items = this.count(-Infinity)
    return { items, tombstones: this.#versions.size - items, bytes: this.#bytes, floor: this.#floor }
  }

  clear () {
    for (const version of this.#all()) this.#remove(version)
    this.#floor = this.#setFloor = null
    this.#evictedArrival = this.#arrivalLimit = this.#windowStart = -Infinity
  }

  #all () {
    this.#sorted ??= [...this.#versions.values()].sort(newestFirst)
    return this.#sorted
  }

  /** @param {string} key @param {Version} version */
  #drop (key, version) {
    this.#versions.delete(key)
    this.#bytes -= costOf(version)
    this.#sorted = null
  }

  /** @param {Version} version */
  #remove (version) {
    this.#drop(version.id.toString('latin1'), version)
    if (!version.deleted) this.revision++
  }
}

/** @param {Version} version */
const costOf = ({ id, value }) => 100 + id.length + value.length

/** @param {Version} version @returns {Place} */
const placeOf = ({ ts, seq, id }) => ({ ts, seq, id })
