/**
 * Prints the tokens of each item as JSON text within the size limit, and parses it.
 */
import { stringer } from 'stream-json/core/stringer.js'
import { refused } from './cut.js'
import { KINDS } from './json-array.js'

/** @typedef {import('./records.js').Entry} Entry */

const ENDS = new Set(['endObject', 'endArray', 'endString', 'endNumber', 'nullValue', 'trueValue', 'falseValue'])

/** @param {number} maxRecordBytes of the text without white space */
export function createItemPrinter (maxRecordBytes) {
  let print = stringer()
  let count = 0 // complete items
  let begun = false
  let text = ''
  let wanted = true // false after a fault: the rest of the item is skipped

  /** @param {string} fault @param {Entry[]} into */
  function refuse (fault, into) {
    into.push(refused(count + 1, fault))
    wanted = false
    text = ''
  }

  /** @param {string} first name of the item's first token @param {Entry[]} into */
  function begin (first, into) {
    begun = wanted = true
    text = ''
    print = stringer()
    if (first !== 'startObject') refuse(`${KINDS[first]}; expected an object`, into)
  }

  /** @param {Entry[]} into */
  function finish (into) {
    if (wanted && Buffer.byteLength(text) > maxRecordBytes) refuse(tooLong, into)
    if (wanted) into.push({ place: count + 1, record: JSON.parse(text), text: Buffer.from(text), fault: null })
    begun = false
    count++
  }

  const tooLong = `longer than ${maxRecordBytes.toLocaleString('en')} bytes`

  return {
    get count () {
      return count
    },

    /** @param {import('stream-json/core/parser.js').Token} token @param {boolean} outermost @param {Entry[]} into */
    take (token, outermost, into) {
      if (!begun) begin(token.name, into)
      const piece = wanted && print(token)
      if (typeof piece === 'string') text += piece
      if (text.length > maxRecordBytes) refuse(tooLong, into)
      if (outermost && ENDS.has(token.name)) finish(into)
    }
  }
}
