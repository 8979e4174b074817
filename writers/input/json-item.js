/**
 * Prints the tokens of each item as JSON text within the size limit, and parses it.
 */
import { stringer } from 'stream-json/core/stringer.js'
import { RAW_BYTES, refused } from './cut.js'
import { KINDS } from './json-array.js'

/** @typedef {import('./records.js').Entry} Entry */

const ENDS = new Set(['endObject', 'endArray', 'endString', 'endNumber', 'nullValue', 'trueValue', 'falseValue'])

/** @param {number} maxRecordBytes of the text without white space */
export function createItemPrinter (maxRecordBytes) {
  let print = stringer()
  let count = 0 // complete items
  let begun = false
  let text = ''
  /** @type {string | null} */
  let fault = null

  /** @param {string} first name of the item's first token */
  function begin (first) {
    begun = true
    text = ''
    print = stringer()
    fault = first === 'startObject' ? null : `${KINDS[first]}; expected an object`
  }

  /** @param {Entry[]} into */
  function finish (into) {
    const bytes = Buffer.from(text)
    if (bytes.length > maxRecordBytes) fault ??= tooLong
    into.push(fault === null
      ? { place: count + 1, record: JSON.parse(text), text: bytes, raw: bytes, fault }
      : refused(count + 1, fault, bytes))
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
      if (!begun) begin(token.name)
      // of a refused item only the beginning is of use
      const piece = fault === null || text.length <= RAW_BYTES ? print(token) : ''
      if (typeof piece === 'string') text += piece
      if (fault === null && text.length > maxRecordBytes) {
        fault = tooLong
        text = text.slice(0, RAW_BYTES + 1)
      }
      if (outermost && ENDS.has(token.name)) finish(into)
    }
  }
}
