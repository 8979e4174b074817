/**
 * Whether items of an answer are what the load has written: src/synthetic.js makes a value tell which item it is, so that an
 * answer can be held against the count of what was acknowledged.
 *
 *     each     the value has its size, and its number belongs to the id beside it
 *     order    the numbers of a writer go down, as its times do; no id comes twice
 *     whole    nothing between them is missing: they go down by one. Not where an id's version is overwritten in place,
 *              and may be so between two looks of one answer
 */
import { readValue } from '../../synthetic.js'
import { createWriter } from '../acknowledged.js'

/**
 * @typedef {{ ids: number, writers: number, valueBytes: number, isWhole: boolean }} Workload `ids` of all writers together;
 *   `isWhole`: answers are held to that, too
 * @typedef {{ id: string, ts: number, value: string }} Item as the reader writes it, values in base64
 */

/** @param {string} value base64 @returns {{ writer: number, number: number } | null} null: nobody has written that */
export function numberIn (value) {
  const read = readValue(Buffer.from(value, 'base64'))
  return read && { writer: read.writer ?? 0, number: read.number }
}

/** @param {Workload} workload */
export function createChecker ({ ids, writers, valueBytes, isWhole }) {
  const each = Array.from({ length: writers }, (_, index) => createWriter(0, index, writers, ids))
  /** the greatest number of each writer in any answer */
  const newest = each.map(() => 0)

  return {
    newest,

    /**
     * @param {Item[]} items newest first
     * @param {(number: number) => void} [onNumber] of each item that is right
     * @returns {string | null} what is wrong with them
     */
    faultOf (items, onNumber = () => {}) {
      const last = each.map(() => 0)
      const there = new Set()
      for (const [i, { id, value }] of items.entries()) {
        const bytes = Buffer.from(String(value), 'base64')
        const read = readValue(bytes)
        const writer = read && each[read.writer ?? 0]
        if (bytes.length !== valueBytes || !read || !writer) return `item ${i + 1} (${id}): no value that was written`
        const { number } = read
        const { index } = writer
        if (id !== writer.nameOf((number - 1) % writer.ids)) return `item ${i + 1} (${id}): number ${number} was written for ${writer.nameOf((number - 1) % writer.ids)}`
        if (there.has(id)) return `item ${i + 1} (${id}) comes twice`
        if (last[index] > 0 && number >= last[index]) return `item ${i + 1} (${id}): number ${number} lies behind number ${last[index]}`
        if (isWhole && last[index] > 0 && number !== last[index] - 1) return `item ${i + 1} (${id}): number ${number} follows ${last[index]}: what lies between is missing`
        there.add(id)
        last[index] = number
        newest[index] = Math.max(newest[index], number)
        onNumber(number)
      }
      return null
    }
  }
}
