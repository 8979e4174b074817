/**
 * A naive model of the view store: it keeps every version and scans all of them for each query.
 * It has no bounds.
 */
import { compareOrder, newestFirst } from '../../../src/item/order.js'

/** @typedef {import('../../../src/item/order.js').OrderKey} OrderKey */
/** @typedef {OrderKey & { stamp: number, deleted: boolean, value: Buffer, arrival: number }} Version */

export class Model {
  /** @type {Version[]} */
  versions = []
  /** @type {OrderKey | null} */
  floor = null
  windowStart = -Infinity
  arrivalLimit = -Infinity
  newestArrival = -Infinity

  /** @param {{ windowMs: number, maxItems: number }} retention */
  constructor (retention) {
    this.retention = retention
  }

  /** @param {Version} version */
  put (version) {
    if (this.#isLive(version)) this.versions.push(version)
  }

  /** @param {Buffer} id */
  forget (id) {
    this.versions = this.versions.filter((version) => !version.id.equals(id))
  }

  /** @param {number} nowMs @param {number} newestArrival */
  advance (nowMs, newestArrival) {
    const { windowMs, maxItems } = this.retention
    this.windowStart = windowMs ? nowMs - windowMs : -Infinity
    this.newestArrival = Math.max(this.newestArrival, newestArrival)
    this.arrivalLimit = maxItems ? this.newestArrival - maxItems : -Infinity
    this.versions = this.versions.filter((version) => this.#isLive(version))
  }

  /** @param {OrderKey | null} floor */
  setFloor (floor) {
    this.floor = floor
    this.versions = this.versions.filter((version) => this.#isLive(version))
  }

  /** @param {number} nowMs @returns {Version[]} newest first, deletions too */
  newest (nowMs) {
    const minTs = this.retention.windowMs ? nowMs - this.retention.windowMs : 0
    /** @type {Map<string, Version>} */
    const newest = new Map()
    for (const version of this.versions) {
      const key = version.id.toString('latin1')
      const before = newest.get(key)
      if (!before || (version.ts - before.ts || version.seq - before.seq || version.stamp - before.stamp ||
        version.arrival - before.arrival) >= 0) newest.set(key, version)
    }
    return [...newest.values()].filter((version) => version.ts >= minTs).sort(newestFirst)
  }

  /** @param {Version} version */
  #isLive (version) {
    return version.ts >= this.windowStart && version.arrival > this.arrivalLimit && (!this.floor || compareOrder(version, this.floor) > 0)
  }
}
