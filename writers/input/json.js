/**
 * One JSON document with an array of items: the document is the array, or an object with the array in a field.
 *
 * stream-json's tokenizer turns text into tokens; the tokens of an item are printed as JSON text, which is parsed. Digits of numbers
 * thus reach the text unchanged, `__proto__` is a plain key, and the size is known at every token. Keys, strings and numbers come in
 * pieces, because whole ones would be unbounded.
 *
 * A call of the tokenizer that throws loses its tokens. It is therefore called for each piece of text up to a `}`, where items end:
 * all items before a fault are delivered.
 *
 * Rejected: stream-json's streams, which cost a promise or an event per token, and its Assembler, which is unbounded and rounds
 * numbers.
 */
import { isUtf8 } from 'node:buffer'
import { jsonParser } from 'stream-json/core/parser.js'
import { stringer } from 'stream-json/core/stringer.js'
import { FreshetError } from '../../src/errors.js'
import { RAW_BYTES, refused } from './cut.js'
import { createArrayFinder, KINDS } from './json-array.js'

const MAX_DEPTH = 1000

/**
 * @typedef {import('stream-json/core/parser.js').Token} Token
 * @typedef {import('./records.js').Entry} Entry
 */

/**
 * @param {{ itemsField: string | null, maxRecordBytes: number }} options
 * @returns {import('./records.js').Reader}
 */
export function createJsonReader ({ itemsField, maxRecordBytes }) {
  const tokenize = jsonParser({ packValues: false })
  const decode = createDecoder()
  const finder = createArrayFinder(itemsField)
  const printer = createItemPrinter(maxRecordBytes)
  let depth = 0
  let itemsDepth = 0 // depth of items, while inside their array
  let offsetBytes = 0
  let begun = false

  /** @param {Token} token @param {Entry[]} into */
  function consume (token, into) {
    if (token.name === 'endObject' || token.name === 'endArray') depth--
    if (depth < itemsDepth) itemsDepth = 0
    if (itemsDepth > 0) printer.take(token, depth === itemsDepth, into)
    else if (finder.take(token)) itemsDepth = depth + 1
    if (token.name === 'startObject' || token.name === 'startArray') depth++
    if (depth > MAX_DEPTH) throw invalid(`nested more than ${MAX_DEPTH.toLocaleString('en')} deep`)
    begun = true
  }

  /** @param {string} text @param {Entry[]} into */
  function read (text, into) {
    for (let from = 0, to = 0; from < text.length; from = to) {
      to = text.indexOf('}', from) + 1 || text.length
      const piece = text.slice(from, to)
      for (const token of tokensOf(piece)) consume(token, into)
      offsetBytes += Buffer.byteLength(piece)
    }
  }

  /** @param {string} text @returns {Token[]} */
  function tokensOf (text) {
    try {
      const result = tokenize(text)
      return typeof result === 'symbol' ? [] : result.values
    } catch (cause) {
      throw invalid(`not JSON (${cause.message.replace(/^.*: /, '')})`, cause)
    }
  }

  /** @param {string} received @param {unknown} [cause] */
  const invalid = (received, cause) => new FreshetError('INPUT_INVALID',
    `the JSON input is ${received} near byte ${offsetBytes.toLocaleString('en')}, after ${printer.count} complete items; ` +
    'expected one well-formed UTF-8 document', { offsetBytes, items: printer.count, cause })

  return {
    take (chunk, into) {
      const { text, broken } = decode(chunk)
      read(text, into)
      if (broken) throw invalid('not valid UTF-8')
    },
    end () {
      if (depth > 0 || !begun) throw invalid('cut off or not JSON')
      if (decode(Buffer.from('\n')).broken) throw invalid('not valid UTF-8')
      finder.end()
    }
  }
}

/** Decodes UTF-8 with characters across chunks; stops at the first invalid byte. */
function createDecoder () {
  /** @type {Buffer} */
  let tail = Buffer.alloc(0)

  /** @param {Buffer} chunk */
  return (chunk) => {
    const bytes = tail.length > 0 ? Buffer.concat([tail, chunk]) : chunk
    const whole = bytes.subarray(0, bytes.length - unfinishedBytes(bytes))
    tail = bytes.subarray(whole.length)
    const text = whole.toString()
    if (isUtf8(whole)) return { text, broken: false }
    const replaced = Buffer.from(text)
    return { text: whole.toString('utf8', 0, whole.findIndex((byte, at) => byte !== replaced[at])), broken: true }
  }
}

/** @param {Buffer} bytes @returns {number} length of an incomplete character at the end */
function unfinishedBytes (bytes) {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 0
    if (length > 0) return back < length ? back : 0
  }
  return 0
}

// Prints the tokens of each item as JSON text within the size limit, and parses it.

const ENDS = new Set(['endObject', 'endArray', 'endString', 'endNumber', 'nullValue', 'trueValue', 'falseValue'])

/** @param {number} maxRecordBytes of the text without white space */
function createItemPrinter (maxRecordBytes) {
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
