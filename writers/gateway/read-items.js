/**
 * A body -> its items, or their faults. The whole body is read before anything is appended.
 *
 *     [{"id":"a","ts":1,"value":{"price":1.10}}]        application/json
 *     {"id":"a","ts":1,"value":{"price":1.10}}          application/x-ndjson, application/jsonl: one a line
 *
 * JSON.parse gives id and ts. The bytes of a value are cut out of the body (raw-json.js), so that the text is stored as it
 * was sent; until they are appended they are views of the body.
 *
 * @typedef {{ id: Buffer, ts: number, value: Buffer }} Item
 * @typedef {{ base64: boolean, nowMs: number, refusalOf?: (item: { ts: number, value: Buffer }) => string | null,
 *   ageAdvice?: string }} Reading
 *   `nowMs`: for items without ts; `refusalOf`: the code with which the feed would refuse an item now, or null; `ageAdvice`: what
 *   to do about items that are too old for it
 * @typedef {{ code: string, reason: () => string }} Fault of one item
 * @typedef {{ items: Item[], faults: import('./faults.js').Faults }} Read
 */
import { FreshetError } from './errors.js'
import { ERRORS } from '../../src/errors.js'
import { EXPECTED_ID, readId, readTs } from '../../src/item/index.js'
import { createFaults } from './faults.js'
import { cutMember, eachElement, endOfValue, skipSpace } from './raw-json.js'

export const JSON_TYPE = 'application/json'
export const LINES_TYPES = Object.freeze(['application/x-ndjson', 'application/jsonl'])

/** some programs write it before UTF-8 */
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])
const NEWLINE = 0x0a
const CARRIAGE_RETURN = 0x0d
const SPACE = 0x20
const TAB = 0x09
const FIELDS = Object.freeze(['id', 'ts', 'value'])
const EXPECTED_BODY = 'expected an array of items, or application/x-ndjson with one item per line'
const MAX_SHOWN_CHARS = 64

/**
 * @param {import('../../src/http/index.js').Body} body
 * @param {Reading} reading
 * @returns {Read} all items, when `faults.count` is 0
 * @throws {FreshetError} REQUEST_INVALID a body of application/json is not an array
 */
export function readItems ({ type, bytes }, reading) {
  const isMarked = bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
  const text = isMarked ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes
  return type === JSON_TYPE ? readArray(text, reading) : readLines(text, reading)
}

/** @param {Buffer} bytes @param {Reading} reading @returns {Read} */
function readArray (bytes, reading) {
  const faults = createFaults('item')
  /** @type {Item[]} */
  const items = []
  const records = parse(bytes)
  if (records instanceof SyntaxError) {
    throw new FreshetError('REQUEST_INVALID', `the body is not JSON (${records.message}); ${EXPECTED_BODY}`)
  }
  if (!Array.isArray(records)) throw new FreshetError('REQUEST_INVALID', `the body is ${kindOf(records)}; ${EXPECTED_BODY}`)
  let index = 0
  eachElement(bytes, skipSpace(bytes, 0), (at) => {
    const record = records[index]
    return readItem(record, bytes, at, { index: index++ }, reading, items, faults)
  })
  return { items, faults }
}

/** @param {Buffer} bytes @param {Reading} reading @returns {Read} blank lines are skipped */
function readLines (bytes, reading) {
  const faults = createFaults('line')
  /** @type {Item[]} */
  const items = []
  for (let line = 1, from = 0, next = 0; from < bytes.length; line++, from = next) {
    const newline = bytes.indexOf(NEWLINE, from)
    const end = newline === -1 ? bytes.length : newline
    next = end + 1
    const to = end > from && bytes[end - 1] === CARRIAGE_RETURN ? end - 1 : end
    if (isBlank(bytes, from, to)) continue
    const text = bytes.subarray(from, to)
    const record = parse(text)
    if (!(record instanceof SyntaxError)) {
      readItem(record, text, skipSpace(text, 0), { line }, reading, items, faults)
      continue
    }
    faults.add({ line }, 'REQUEST_INVALID', () => `not JSON (${record.message}); expected one item, all of it in one line`)
    // each error of JSON.parse takes microseconds, and a body may have half a million lines
    if (!faults.isListing) break
  }
  return { items, faults }
}

/**
 * @param {any} record as JSON.parse read it
 * @param {Buffer} bytes @param {number} at where it begins
 * @param {import('./faults.js').At} where
 * @param {Reading} reading
 * @param {Item[]} items @param {import('./faults.js').Faults} faults one of them gets it
 * @returns {number} where it ends
 */
function readItem (record, bytes, at, where, { base64, nowMs, refusalOf, ageAdvice }, items, faults) {
  if (kindOf(record) !== 'an object') {
    faults.add(where, 'REQUEST_INVALID', () => `${kindOf(record)}; expected an object with ${FIELDS.join(', ')}`)
    return endOfValue(bytes, at)
  }
  const cut = cutMember(bytes, at, 'value')
  const ts = record.ts === undefined ? nowMs : readTs(record.ts)
  const value = base64 ? bytesOf(record.value) : cut.from === -1 ? null : bytes.subarray(cut.from, cut.to)
  const id = readId(record.id)
  /** @type {Fault[]} */
  const found = []
  checkFields(Object.keys(record), cut.members, found)
  if (typeof id === 'string') found.push({ code: 'ITEM_ID_INVALID', reason: () => `${id}; expected ${EXPECTED_ID}` })
  if (typeof ts === 'string') found.push({ code: 'ITEM_TS_INVALID', reason: () => `ts ${ts}` })
  if (value === null) {
    found.push({
      code: 'REQUEST_INVALID',
      reason: () => `value is ${kindOf(record.value)}; expected ${base64 ? 'text in base64, padded' : 'any JSON value'}`
    })
  }
  const item = /** @type {Item} */ ({ id, ts, value })
  if (found.length === 0 && refusalOf) checkTime(refusalOf, item, ageAdvice, found)
  if (found.length === 0) items.push(item)
  else faults.add(where, found[0].code, () => found.map(({ reason }) => reason()).join('. '))
  return cut.end
}

/** @param {string[]} names @param {number} members as many as were sent, duplicates included @param {Fault[]} found */
function checkFields (names, members, found) {
  if (members > names.length) found.push({ code: 'REQUEST_INVALID', reason: () => 'a field is given twice; expected each once' })
  const unknown = names.find((name) => !FIELDS.includes(name))
  if (unknown !== undefined) {
    found.push({ code: 'REQUEST_INVALID', reason: () => `unknown field ${shown(unknown)}; expected ${FIELDS.join(', ')}` })
  }
}

/** @param {NonNullable<Reading['refusalOf']>} refusalOf @param {Item} item @param {string | undefined} advice @param {Fault[]} found */
function checkTime (refusalOf, item, advice, found) {
  const code = refusalOf(item)
  if (code === null) return
  const rest = code === 'ITEM_TOO_OLD' && advice ? `; ${advice}` : ''
  found.push({ code, reason: () => `ts ${item.ts}: ${ERRORS[code].meaning}${rest}` })
}

/** @param {Buffer} bytes @param {number} from @param {number} to */
function isBlank (bytes, from, to) {
  while (from < to && (bytes[from] === SPACE || bytes[from] === TAB)) from++
  return from === to
}

/** @param {any} text @returns {Buffer | null} null: not base64 as an encoder writes it */
function bytesOf (text) {
  if (typeof text !== 'string') return null
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : null
}

/** @param {Buffer} bytes UTF-8 @returns {any} the value, or the SyntaxError */
function parse (bytes) {
  try {
    return JSON.parse(bytes.toString())
  } catch (error) {
    return error
  }
}

/** @param {any} record */
const kindOf = (record) => record === undefined
  ? 'missing'
  : record === null ? 'null' : Array.isArray(record) ? 'an array' : typeof record === 'object' ? 'an object' : `a ${typeof record}`

/** @param {any} received @returns {string} as JSON, cut */
function shown (received) {
  const text = typeof received === 'object' && received !== null ? kindOf(received) : JSON.stringify(received)
  return text.length > MAX_SHOWN_CHARS ? text.slice(0, MAX_SHOWN_CHARS) + '...' : text
}
