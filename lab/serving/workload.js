/**
 * Whether the items of a response were written by the load: values of src/synthetic.js identify their item.
 *
 *     each     the value has the right size, and its number belongs to the id beside it
 *     order    the numbers of a writer go down, as its times do; no id appears twice
 *     whole    no number between them is missing. Not checked where a new version overwrites the old one in place, which can
 *              happen while one response is built
 */
import { readValue } from '../../src/synthetic.js'
import { createWriter } from '../content/acknowledged.js'

/**
 * @typedef {{ ids: number, writers: number, valueBytes: number, isWhole: boolean }} Workload `ids` of all writers together;
 *   `isWhole`: whether `whole` is checked
 * @typedef {{ id: string, ts: number, value: string }} Item as the reader writes it, values in base64
 */

/** @param {string} value base64 @returns {{ writer: number, number: number } | null} null: not a value of the load */
export function numberIn (value) {
  const read = readValue(Buffer.from(value, 'base64'))
  return read && { writer: read.writer ?? 0, number: read.number }
}

/** @param {Workload} workload */
export function createChecker ({ ids, writers, valueBytes, isWhole }) {
  const each = Array.from({ length: writers }, (_, index) => createWriter(0, index, writers, ids))
  /** the greatest number of each writer in any response */
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
        if (bytes.length !== valueBytes || !read || !writer) return `item ${i + 1} (${id}): not a value that was written`
        const { number } = read
        const { index } = writer
        if (id !== writer.nameOf((number - 1) % writer.ids)) {
          return `item ${i + 1} (${id}): number ${number} was written for ${writer.nameOf((number - 1) % writer.ids)}`
        }
        if (there.has(id)) return `item ${i + 1} (${id}) appears twice`
        if (last[index] > 0 && number >= last[index]) {
          return `item ${i + 1} (${id}): number ${number} follows the older number ${last[index]}`
        }
        if (isWhole && last[index] > 0 && number !== last[index] - 1) {
          return `item ${i + 1} (${id}): number ${number} follows ${last[index]}; the numbers between them are missing`
        }
        there.add(id)
        last[index] = number
        newest[index] = Math.max(newest[index], number)
        onNumber(number)
      }
      return null
    }
  }
}
