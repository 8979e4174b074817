/**
 * Cuts the fields of an item out of its text (raw-json.js). `id` and `ts` are parsed; the value is not. A string or number made by
 * node costs as much as all the rest, so usual names, ids and times are read as bytes.
 */
import { MAX_ID_BYTES } from '../../src/item/index.js'
import { eachMember, endOfValue, scalarOf } from './raw-json.js'

export const FIELDS = Object.freeze(['id', 'ts', 'value'])

const CODES = FIELDS.map((name) => ({ name, codes: [...Buffer.from(name)] }))
const QUOTE = 0x22
const BACKSLASH = 0x5c
const SPACE = 0x20
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
    if (byte < SPACE || byte > TILDE || byte === BACKSLASH) return null
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
