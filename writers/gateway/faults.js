/**
 * Faults of the items of a request: one entry per faulty item. The first ten are listed; those found after them are counted.
 *
 * @typedef {{ index: number } | { line: number }} At where the item stands: from 0 in an array, from 1 in lines
 * @typedef {At & { code: string, reason: string }} Fault
 */
import { FreshetError } from './errors.js'

const MAX_LISTED = 10

/** @typedef {ReturnType<typeof createFaults>} Faults */

/** @param {string} noun of one entry: item, line */
export function createFaults (noun) {
  /** @type {Fault[]} */
  const listed = []
  /** @type {Record<string, number>} */
  const byCode = {}
  let count = 0
  return {
    get count () { return count },
    /** The number of faults per code. */
    byCode,
    /** Whether the next fault is listed. */
    get isListing () { return count < MAX_LISTED },

    /** @param {At} at @param {string} code @param {() => string} reason called only if the fault is listed */
    add (at, code, reason) {
      if (count < MAX_LISTED) listed.push({ ...at, code, reason: reason() })
      byCode[code] = (byCode[code] ?? 0) + 1
      count++
    },

    /** @returns {FreshetError} REQUEST_INVALID with `faults` (the listed ones) and `faultCount` (those found) */
    error () {
      const [first] = listed
      const where = 'line' in first ? `line ${first.line}` : `item ${first.index}`
      const found = count === 1 ? `1 ${noun} has a fault` : `${count} ${noun}s have faults`
      const detail = `${found}, so nothing was taken; ${count === 1 ? '' : 'the first, '}${where}: ${first.reason}`
      return new FreshetError('REQUEST_INVALID', detail, { faultCount: count, faults: listed })
    }
  }
}
