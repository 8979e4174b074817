/**
 * What is wrong with the items of a request: one entry a faulty item, the first few kept, all of them counted.
 *
 * @typedef {{ index: number } | { line: number }} At where the item stands: from 0 in an array, from 1 in lines
 * @typedef {At & { code: string, reason: string }} Fault
 */
import { HttpError } from '../../src/http/problem.js'

const MOST_LISTED = 10

/** @typedef {ReturnType<typeof createFaults>} Faults */

/** @param {string} noun what the entries are: item, line */
export function createFaults (noun) {
  /** @type {Fault[]} */
  const listed = []
  /** @type {Record<string, number>} */
  const byCode = {}
  let count = 0
  return {
    get count () { return count },
    /** How many of each code. */
    byCode,
    /** Whether reasons are still wanted; the rest is only counted. */
    get listing () { return count < MOST_LISTED },

    /** @param {At} at @param {string} code @param {() => string} reason asked for only while it is listed: of very many it would be dear */
    add (at, code, reason) {
      if (count < MOST_LISTED) listed.push({ ...at, code, reason: reason() })
      byCode[code] = (byCode[code] ?? 0) + 1
      count++
    },

    /** @returns {HttpError} REQUEST_INVALID with `faults` (the first of them) and `faultCount` (all) */
    error () {
      const [first] = listed
      const where = 'line' in first ? `line ${first.line}` : `item ${first.index}`
      const many = count === 1 ? `1 ${noun} has a fault` : `${count} ${noun}s have faults`
      return new HttpError('REQUEST_INVALID', `${many}, so nothing was taken; ${count === 1 ? '' : 'the first, '}${where}: ${first.reason}`, { faultCount: count, faults: listed })
    }
  }
}
