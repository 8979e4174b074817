/**
 * A body -> its items, or what is wrong with them. The whole body is looked at before anything is done with it.
 *
 * JSON.parse says whether it is JSON and what id and ts are; the bytes of a value are cut out of the body as they were
 * sent (raw-json.js) and are views of it until they are appended.
 *
 *     [{"id":"a","ts":1,"value":{"price":1.10}}]        application/json
 *     {"id":"a","ts":1,"value":{"price":1.10}}          application/x-ndjson, application/jsonl: one a line
 *
 * @typedef {{ id: Buffer, ts: number, value: Buffer }} Item
 * @typedef {{ base64: boolean, nowMs: number, refusalOf?: (item: { ts: number, value: Buffer }) => string | null }} Reading
 *   `refusalOf`: what the feed would say now, a code or null
 * @typedef {{ code: string, reason: () => string }} Wrong
 * @typedef {{ items: Item[], faults: import('./faults.js').Faults }} Read
 */
import { ERRORS } from '../../src/errors.js'
import { HttpError } from '../../src/http/problem.js'
import { EXPECTED_ID, readId } from '../../src/item/id.js'
import { MAX_TS } from '../../src/item/order.js'
import { createFaults } from './faults.js'
import { isJson } from './json-check.js'
import { cutMember, eachElement, endOfValue, skipSpace } from './raw-json.js'

export const JSON_TYPE = 'application/json'
export const LINES_TYPES = Object.freeze(['application/x-ndjson', 'application/jsonl'])

/** some programs write it before UTF-8 */
const BYTE_ORDER_MARK = Object.freeze([0xef, 0xbb, 0xbf])
const NEWLINE = 0x0a
const CARRIAGE_RETURN = 0x0d
const SPACE = 0x20
const TAB = 0x09
const FIELDS = Object.freeze(['id', 'ts', 'value'])
/** nothing shorter is an item */
const SHORTEST = '{"id":"a","value":0}'.length
const MAX_SHOWN_CHARS = 64
const NOT_JSON = new SyntaxError()

/**
 * @param {import('../../src/http/body.js').Body} body
 * @param {Reading} reading
 * @returns {Read} all items, when `faults.count` is 0
 * @throws {HttpError} REQUEST_INVALID it is not an array, where one is expected
 */
export function readItems ({ type, bytes }, reading) {
  const text = bytes.length >= BYTE_ORDER_MARK.length && BYTE_ORDER_MARK.every((byte, i) => bytes[i] === byte) ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes
  return type === JSON_TYPE ? readArray(text, reading) : readLines(text, reading)
}

/** @param {Buffer} bytes @param {Reading} reading @returns {Read} */
function readArray (bytes, reading) {
  const faults = createFaults('item')
  /** @type {Item[]} */
  const items = []
  const records = parse(bytes)
  if (records instanceof SyntaxError) throw new HttpError('REQUEST_INVALID', `the body is not JSON (${records.message}); expected an array of items, or application/x-ndjson with one a line`)
  if (!Array.isArray(records)) throw new HttpError('REQUEST_INVALID', `the body is ${kindOf(records)}; expected an array of items, or application/x-ndjson with one a line`)
  let index = 0
  eachElement(bytes, skipSpace(bytes, 0), (at) => {
    const record = records[index]
    return readItem(record, bytes, at, { index: index++ }, reading, items, faults)
  })
  return { items, faults }
}

/** @param {Buffer} bytes @param {Reading} reading @returns {Read} lines with nothing but space are passed over */
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
    // a mistake that is thrown is dear, and a body may have a great many lines
    const record = faults.listing || (text.length >= SHORTEST && isJson(text)) ? parse(text) : NOT_JSON
    if (record instanceof SyntaxError) faults.add({ line }, 'REQUEST_INVALID', () => `not JSON (${record.message}); expected an item, all of it in one line`)
    else readItem(record, text, skipSpace(text, 0), { line }, reading, items, faults)
  }
  return { items, faults }
}

/**
 * @param {any} record what JSON.parse made of it
 * @param {Buffer} bytes @param {number} at where it begins
 * @param {import('./faults.js').At} place
 * @param {Reading} reading
 * @param {Item[]} items @param {import('./faults.js').Faults} faults get what it is
 * @returns {number} where it ends
 */
function readItem (record, bytes, at, place, { base64, nowMs, refusalOf }, items, faults) {
  if (kindOf(record) !== 'an object') {
    faults.add(place, 'REQUEST_INVALID', () => `${kindOf(record)}; expected an object with ${FIELDS.join(', ')}`)
    return endOfValue(bytes, at)
  }
  const cut = cutMember(bytes, at, 'value')
  const { ts = nowMs } = record
  const value = base64 ? bytesOf(record.value) : cut.from === -1 ? null : bytes.subarray(cut.from, cut.to)
  const id = readId(record.id)
  /** @type {Wrong[]} */
  const wrong = []
  checkFields(Object.keys(record), cut.members, wrong)
  if (typeof id === 'string') wrong.push({ code: 'ITEM_ID_INVALID', reason: () => `${id}; expected ${EXPECTED_ID}` })
  if (!isTs(ts)) wrong.push({ code: 'ITEM_TS_INVALID', reason: () => `ts ${shown(ts)}; expected an integer of milliseconds, 0 <= ts < 2^41` })
  if (value === null) wrong.push({ code: 'REQUEST_INVALID', reason: () => `value is ${kindOf(record.value)}; expected ${base64 ? 'text in base64, padded' : 'any JSON value'}` })
  if (wrong.length === 0 && refusalOf) checkTime(refusalOf, { ts, value: /** @type {Buffer} */ (value) }, wrong)
  if (wrong.length === 0) items.push({ id: /** @type {Buffer} */ (id), ts, value: /** @type {Buffer} */ (value) })
  else faults.add(place, wrong[0].code, () => wrong.map(({ reason }) => reason()).join('. '))
  return cut.end
}

/** @param {string[]} names @param {number} members as many as were sent, doubles too @param {Wrong[]} wrong */
function checkFields (names, members, wrong) {
  if (members > names.length) wrong.push({ code: 'REQUEST_INVALID', reason: () => 'a field is given twice; expected each once' })
  const unknown = names.find((name) => !FIELDS.includes(name))
  if (unknown !== undefined) wrong.push({ code: 'REQUEST_INVALID', reason: () => `unknown field ${shown(unknown)}; expected ${FIELDS.join(', ')}` })
}

/** @param {NonNullable<Reading['refusalOf']>} refusalOf @param {{ ts: number, value: Buffer }} item @param {Wrong[]} wrong */
function checkTime (refusalOf, item, wrong) {
  const code = refusalOf(item)
  if (code !== null) wrong.push({ code, reason: () => `ts ${item.ts}: ${ERRORS[code].meaning}` })
}

/** @param {Buffer} bytes @param {number} from @param {number} to */
function isBlank (bytes, from, to) {
  while (from < to && (bytes[from] === SPACE || bytes[from] === TAB)) from++
  return from === to
}

/** @param {any} ts */
const isTs = (ts) => Number.isInteger(ts) && ts >= 0 && ts <= MAX_TS

/** @param {any} text @returns {Buffer | null} null: it is not base64 in its one spelling */
function bytesOf (text) {
  if (typeof text !== 'string') return null
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : null
}

/** @param {Buffer} bytes UTF-8 @returns {any} what it is, or the SyntaxError */
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
