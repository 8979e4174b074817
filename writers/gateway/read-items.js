/**
 * A body -> its items, or their faults. The whole body is read before anything is appended, and read again to append: items in
 * memory would take many times the bytes of the body.
 *
 *     [{"id":"a","ts":1,"value":{"price":1.10}}]        application/json; one item may stand without the brackets
 *     {"id":"a","ts":1,"value":{"price":1.10}}          application/x-ndjson, application/jsonl: one a line
 *
 * The bytes of a value are cut out of the body (raw-json.js), so that the text is stored as it was sent.
 *
 * @typedef {{ id: Buffer, ts: number, value: Buffer }} Item
 * @typedef {{ base64: boolean, nowMs: number, refusalOf?: (item: { ts: number, value: Buffer }) => string | null,
 *   ageAdvice?: string }} Reading
 *   `nowMs`: for items without ts; `refusalOf`: the code with which the feed would refuse an item now, or null; `ageAdvice`: what
 *   to do about items that are too old for it
 * @typedef {{ code: string, reason: () => string }} Fault of one item
 * @typedef {(item: Item) => void} Take
 */
import { ERRORS } from '../../src/errors.js'
import { EXPECTED_ID, MAX_ID_BYTES, readId, readTs } from '../../src/item/index.js'
import { FreshetError } from './errors.js'
import { eachElement, eachMember, endOfValue, expectEnd, JsonFault, MAX_DEPTH, scalarOf, skipSpace } from './raw-json.js'

/**
 * Cuts the fields of an item out of its text (raw-json.js). `id` and `ts` are parsed; the value is not. A string or number made by
 * node costs as much as all the rest, so usual names, ids and times are read as bytes.
 */

const FIELDS = Object.freeze(['id', 'ts', 'value'])

const CODES = FIELDS.map((name) => ({ name, codes: [...Buffer.from(name)] }))
const QUOTE = 0x22
const BACKSLASH = 0x5c
const FIRST_PRINTABLE = 0x20
const TILDE = 0x7e
const ZERO = 0x30
const NINE = 0x39
/** integers of so many digits are exact */
const MAX_DIGITS = 15
/** of the longest name, each of its characters as an escape, with quotes */
const MAX_NAME_BYTES = 2 + 6 * Math.max(...FIELDS.map((name) => name.length))

/**
 * @typedef {object} Cut
 * @property {number} end after the object
 * @property {any} id a view of its bytes when they are a valid id as they are; undefined = none
 * @property {any} ts undefined = none
 * @property {number} from of the value, -1 = none
 * @property {number} to
 * @property {string | null} twice the name of a field that occurs twice
 * @property {string | null} unknown the first name that is not of a field
 */

/**
 * @param {Buffer} bytes
 * @param {number} at the opening bracket of an object
 * @returns {Cut}
 * @throws {import('./raw-json.js').JsonFault}
 */
export function cutItem (bytes, at) {
  /** @type {Cut} */
  const cut = { end: 0, id: undefined, ts: undefined, from: -1, to: -1, twice: null, unknown: null }
  cut.end = eachMember(bytes, at, (_bytes, from, depth, keyAt, keyEnd) => {
    const to = endOfValue(bytes, from, depth)
    const name = nameOf(bytes, keyAt, keyEnd)
    if (name === 'value') {
      if (cut.from !== -1) cut.twice = name
      cut.from = from
      cut.to = to
    } else if (name === 'id' || name === 'ts') {
      if (cut[name] !== undefined) cut.twice = name
      cut[name] = (name === 'id' ? plainId(bytes, from, to) : plainNumber(bytes, from, to)) ?? scalarOf(bytes, from, to)
    } else cut.unknown ??= scalarOf(bytes, keyAt, keyEnd)
    return to
  })
  return cut
}

/** @param {Buffer} bytes @param {number} from @param {number} to of a key, with its quotes @returns {string | null} null: of no field */
function nameOf (bytes, from, to) {
  for (const { name, codes } of CODES) if (isEqual(bytes, from + 1, to - 1, codes)) return name
  if (to - from > MAX_NAME_BYTES || !bytes.subarray(from, to).includes(BACKSLASH)) return null
  const name = scalarOf(bytes, from, to)
  return FIELDS.includes(name) ? name : null
}

/** @param {Buffer} bytes @param {number} from @param {number} to @param {number[]} codes */
function isEqual (bytes, from, to, codes) {
  if (to - from !== codes.length) return false
  for (let i = 0; i < codes.length; i++) if (bytes[from + i] !== codes[i]) return false
  return true
}

/** Of 1-128 printable ASCII characters without escapes. @param {Buffer} bytes @param {number} from @param {number} to */
function plainId (bytes, from, to) {
  const length = to - from - 2
  if (bytes[from] !== QUOTE || length < 1 || length > MAX_ID_BYTES) return null
  for (let at = from + 1; at < to - 1; at++) {
    const byte = bytes[at]
    if (byte < FIRST_PRINTABLE || byte > TILDE || byte === BACKSLASH) return null
  }
  return bytes.subarray(from + 1, to - 1)
}

/** @param {Buffer} bytes @param {number} from @param {number} to @returns {number | null} of digits only */
function plainNumber (bytes, from, to) {
  if (to - from > MAX_DIGITS) return null
  let n = 0
  for (let at = from; at < to; at++) {
    const byte = bytes[at]
    if (byte < ZERO || byte > NINE) return null
    n = n * 10 + byte - ZERO
  }
  return n
}

/**
 * Faults of the items of a request: one entry per faulty item. The first ten are listed; those found after them are counted.
 *
 * @typedef {{ index: number } | { line: number }} At where the item stands: from 0 in an array, from 1 in lines
 * @typedef {At & { code: string, reason: string }} ListedFault
 */

const MAX_LISTED = 10

/** @typedef {ReturnType<typeof createFaults>} Faults */

/** @param {string} noun of one entry: item, line */
function createFaults (noun) {
  /** @type {ListedFault[]} */
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
      const summary = count === 1 ? `1 ${noun} has a fault` : `${count} ${noun}s have faults`
      const detail = `${summary}, so nothing was taken; ${count === 1 ? '' : 'the first, '}${where}: ${first.reason}`
      return new FreshetError('REQUEST_INVALID', detail, { faultCount: count, faults: listed })
    }
  }
}

export const JSON_TYPE = 'application/json'
export const LINES_TYPES = Object.freeze(['application/x-ndjson', 'application/jsonl'])

/** some programs write it before UTF-8 */
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])
const NEWLINE = 0x0a
const CARRIAGE_RETURN = 0x0d
const SPACE = 0x20
const TAB = 0x09
const OBJECT = 0x7b
const ARRAY = 0x5b
const EXPECTED_BODY = 'expected an array of items, one item, or application/x-ndjson with one item per line'
const EXPECTED_LINE = 'expected one item, all of it in one line'
const EXPECTED_DEPTH = `expected at most ${MAX_DEPTH} arrays and objects within each other in a value`
const MAX_SHOWN_CHARS = 64

/**
 * @param {import('../../src/http/index.js').Body} body
 * @param {Reading} reading
 * @param {Take} take called with each item that has no fault; its value is a view of the body
 * @returns {Faults} the items are all of the body when `count` is 0
 * @throws {FreshetError} REQUEST_INVALID a body of application/json is neither an array nor an object
 */
export function readItems ({ type, bytes }, reading, take) {
  const isMarked = bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
  const text = isMarked ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes
  return type === JSON_TYPE ? readArray(text, reading, take) : readLines(text, reading, take)
}

/** @param {Buffer} bytes @param {Reading} reading @param {Take} take */
function readArray (bytes, reading, take) {
  const faults = createFaults('item')
  let index = -1
  try {
    const begin = skipSpace(bytes, 0)
    const readOne = (/** @type {unknown} */ _bytes, /** @type {number} */ at) =>
      readItem(bytes, at, { index: ++index }, reading, take, faults)
    const first = bytes[begin]
    const end = first === ARRAY ? eachElement(bytes, begin, readOne) : first === OBJECT ? readOne(bytes, begin) : endOfValue(bytes, begin)
    expectEnd(bytes, end)
    if (first === ARRAY || first === OBJECT) return faults
    throw new FreshetError('REQUEST_INVALID', `the body is ${kindOf(scalarOf(bytes, begin, end))}; ${EXPECTED_BODY}`)
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error
    const where = index < 0 ? '' : `, in item ${index}`
    throw new FreshetError('REQUEST_INVALID', `the body is ${error.message}${where}; ${error.isDepth ? EXPECTED_DEPTH : EXPECTED_BODY}`)
  }
}

/** Blank lines are skipped. @param {Buffer} bytes @param {Reading} reading @param {Take} take */
function readLines (bytes, reading, take) {
  const faults = createFaults('line')
  for (let line = 1, from = 0, next = 0; from < bytes.length; line++, from = next) {
    const newline = bytes.indexOf(NEWLINE, from)
    const end = newline === -1 ? bytes.length : newline
    next = end + 1
    const to = end > from && bytes[end - 1] === CARRIAGE_RETURN ? end - 1 : end
    if (isBlank(bytes, from, to)) continue
    try {
      const text = bytes.subarray(from, to)
      expectEnd(text, readItem(text, skipSpace(text, 0), { line }, reading, take, faults))
    } catch (error) {
      if (!(error instanceof JsonFault)) throw error
      faults.add({ line }, 'REQUEST_INVALID', () => `${error.message}; ${error.isDepth ? EXPECTED_DEPTH : EXPECTED_LINE}`)
      // each error takes microseconds, and a body may have half a million lines
      if (!faults.isListing) break
    }
  }
  return faults
}

/**
 * @param {Buffer} bytes
 * @param {number} at where it begins
 * @param {At} where
 * @param {Reading} reading
 * @param {Take} take @param {Faults} faults one of them gets it
 * @returns {number} where it ends
 */
function readItem (bytes, at, where, { base64, nowMs, refusalOf, ageAdvice }, take, faults) {
  if (bytes[at] !== OBJECT) {
    const end = endOfValue(bytes, at)
    faults.add(where, 'REQUEST_INVALID', () => `${kindOf(scalarOf(bytes, at, end))}; expected an object with ${FIELDS.join(', ')}`)
    return end
  }
  const cut = cutItem(bytes, at)
  const ts = cut.ts === undefined ? nowMs : readTs(cut.ts)
  const value = cut.from === -1 ? null : base64 ? bytesOf(scalarOf(bytes, cut.from, cut.to)) : bytes.subarray(cut.from, cut.to)
  const id = Buffer.isBuffer(cut.id) ? cut.id : readId(cut.id)
  /** @type {Fault[]} */
  const itemFaults = []
  if (cut.twice !== null) {
    itemFaults.push({ code: 'REQUEST_INVALID', reason: () => `${cut.twice} is given twice; expected each field once` })
  }
  if (cut.unknown !== null) {
    itemFaults.push({ code: 'REQUEST_INVALID', reason: () => `unknown field ${shown(cut.unknown)}; expected ${FIELDS.join(', ')}` })
  }
  if (typeof id === 'string') itemFaults.push({ code: 'ITEM_ID_INVALID', reason: () => `${id}; expected ${EXPECTED_ID}` })
  if (typeof ts === 'string') itemFaults.push({ code: 'ITEM_TS_INVALID', reason: () => `ts ${ts}` })
  if (value === null) {
    itemFaults.push({
      code: 'REQUEST_INVALID',
      reason: () => `value is ${cut.from === -1 ? 'missing' : kindOf(scalarOf(bytes, cut.from, cut.to))}; ` +
        `expected ${base64 ? 'text in base64, padded' : 'any JSON value'}`
    })
  }
  const item = /** @type {Item} */ ({ id, ts, value })
  if (itemFaults.length === 0 && refusalOf) checkTime(refusalOf, item, ageAdvice, itemFaults)
  if (itemFaults.length === 0) take(item)
  else faults.add(where, itemFaults[0].code, () => itemFaults.map(({ reason }) => reason()).join('. '))
  return cut.end
}

/**
 * @param {NonNullable<Reading['refusalOf']>} refusalOf @param {Item} item @param {string | undefined} advice
 * @param {Fault[]} itemFaults
 */
function checkTime (refusalOf, item, advice, itemFaults) {
  const code = refusalOf(item)
  if (code === null) return
  const rest = code === 'ITEM_TOO_OLD' && advice ? `; ${advice}` : ''
  itemFaults.push({ code, reason: () => `ts ${item.ts}: ${ERRORS[code].meaning}${rest}` })
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

/** @param {any} record */
const kindOf = (record) => record === undefined
  ? 'missing'
  : record === null ? 'null' : Array.isArray(record) ? 'an array' : typeof record === 'object' ? 'an object' : `a ${typeof record}`

/** @param {any} received @returns {string} as JSON, cut */
function shown (received) {
  const text = typeof received === 'object' && received !== null ? kindOf(received) : JSON.stringify(received)
  return text.length > MAX_SHOWN_CHARS ? text.slice(0, MAX_SHOWN_CHARS) + '...' : text
}
