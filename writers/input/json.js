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

/** @type {Record<string, string>} */
const KINDS = {
  startObject: 'an object',
  startArray: 'an array',
  startString: 'a string',
  startNumber: 'a number',
  nullValue: 'null',
  trueValue: 'true',
  falseValue: 'false'
}

/**
 * Finds the array of items among the tokens of a document: the document itself, or the field at a dotted path.
 *
 * `path` has the current key of every open container, '' for an array and before the first key. No part of the dotted path is empty,
 * so the joined path matches only keys of nested objects, and keys with dots. A key longer than the path is not kept whole.
 * @param {string | null} itemsField null = the document is the array
 */
function createArrayFinder (itemsField) {
  const maxKeys = itemsField === null ? 0 : itemsField.split('.').length
  /** @type {string[]} */
  const path = []
  let inKey = false
  let hasItems = false

  /** @param {string} received */
  const invalid = (received) => new FreshetError('INPUT_INVALID', `the JSON input ${received}; ` + (itemsField === null
    ? 'expected an array of items; if an object holds the array, name its field with --items-field'
    : `expected an object with one array of items in field ${itemsField}; change --items-field, or omit it if the document is the array`),
  { itemsField })

  /** @param {string} kind @returns {boolean} whether this value is the array of items */
  function beginsItems (kind) {
    if (path.length > maxKeys) return false
    const atTop = path.length === 0
    if (atTop && kind !== KINDS.startObject && itemsField !== null) throw invalid(`is ${kind}`)
    if (path.join('.') !== (itemsField ?? '')) return false
    if (kind !== KINDS.startArray) throw invalid(atTop ? `is ${kind}` : `has ${kind} in field ${itemsField}`)
    if (hasItems) throw invalid(`has field ${itemsField} twice`)
    hasItems = true
    return true
  }

  /** @param {string} piece */
  function addToKey (piece) {
    const key = path[path.length - 1]
    if (itemsField !== null && key.length <= itemsField.length) path[path.length - 1] = key + piece
  }

  return {
    /** @param {Token} token outside of the items @returns {boolean} whether it starts their array */
    take (token) {
      const begins = Object.hasOwn(KINDS, token.name) && beginsItems(KINDS[token.name])
      if (token.name === 'startObject' || token.name === 'startArray') path.push('')
      else if (token.name === 'endObject' || token.name === 'endArray') path.pop()
      else if (token.name === 'startKey') path[path.length - 1] = ''
      else if (token.name === 'stringChunk' && inKey) addToKey(token.value)
      inKey = token.name === 'startKey' || (inKey && token.name === 'stringChunk')
      return begins
    },

    /** The document has ended. @throws {FreshetError} INPUT_INVALID there was no array of items */
    end () {
      if (!hasItems) throw invalid(`has no field ${itemsField}`)
    }
  }
}

const ENDS = new Set(['endObject', 'endArray', 'endString', 'endNumber', 'nullValue', 'trueValue', 'falseValue'])

/**
 * Prints the tokens of each item as JSON text within the size limit, and parses it.
 * @param {number} maxRecordBytes of the text without white space
 */
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

    /** @param {Token} token @param {boolean} outermost @param {Entry[]} into */
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
