/**
 * Reads JSON text without building its values. A value is stored as it was sent: 1.10 stays 1.10, 12345678901234567890 keeps its
 * digits, keys keep their order. And a body costs its bytes only: a MiB of `[[],[],...` built by JSON.parse takes a hundred times
 * as much.
 *
 * Accepts what JSON.parse accepts, nested at most 64 deep, of bytes that are known to be UTF-8.
 */

export const MAX_DEPTH = 64

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c
const MINUS = 0x2d
const PLUS = 0x2b
const POINT = 0x2e
const ZERO = 0x30
const NINE = 0x39
const OPEN = Object.freeze({ array: 0x5b, object: 0x7b })
const CLOSE = Object.freeze({ array: 0x5d, object: 0x7d })
const FIRST_PRINTABLE = 0x20
const LAST_PRINTABLE = 0x7e
const LOWER_CASE = 0x20

const codesOf = (/** @type {string} */ text) => Object.freeze([...Buffer.from(text)])
const SPACES = Object.freeze({ blank: 0x20, tab: 0x09, newline: 0x0a, carriageReturn: 0x0d })
const ESCAPES = codesOf('"\\/bfnrt')
const UNICODE = 0x75
const HEX_DIGITS = 4
/** @type {Readonly<Record<number, readonly number[]>>} by first byte */
const WORDS = Object.freeze(Object.fromEntries(['true', 'false', 'null'].map((word) => [word.charCodeAt(0), codesOf(word)])))

/** @typedef {(bytes: Buffer, at: number, depth: number, keyAt: number, keyEnd: number) => number} Take
 * `at`: where the value of an element or member begins; `depth` of arrays and objects around it; `keyAt`, `keyEnd`: of a member, with
 * its quotes. Returns where the value ends */

/** What is wrong with the text. `isDepth`: nothing but its depth. */
export class JsonFault extends Error {
  /** @param {string} message @param {boolean} [isDepth] */
  constructor (message, isDepth = false) {
    super(message)
    this.isDepth = isDepth
  }
}

/** @param {Buffer} bytes @param {number} at @returns {JsonFault} */
function unexpected (bytes, at) {
  if (at >= bytes.length) return new JsonFault(`not JSON (it ends early, at byte ${bytes.length.toLocaleString('en')})`)
  const byte = bytes[at]
  const isShown = byte > FIRST_PRINTABLE && byte <= LAST_PRINTABLE
  const shown = isShown ? String.fromCharCode(byte) : `byte 0x${byte.toString(16).padStart(2, '0')}`
  return new JsonFault(`not JSON (unexpected ${shown} at byte ${at.toLocaleString('en')})`)
}

/** @param {Buffer} bytes @param {number} at @returns {number} the next byte that is not white space */
export function skipSpace (bytes, at) {
  for (; ; at++) {
    const byte = bytes[at]
    if (byte !== SPACES.blank && byte !== SPACES.newline && byte !== SPACES.carriageReturn && byte !== SPACES.tab) return at
  }
}

/**
 * @param {Buffer} bytes
 * @param {number} at its first byte
 * @param {number} [depth] of arrays and objects around it
 * @returns {number} after its last byte
 * @throws {JsonFault}
 */
export function endOfValue (bytes, at, depth = 0) {
  const first = bytes[at]
  if (first === QUOTE) return endOfString(bytes, at)
  if (first === OPEN.object || first === OPEN.array) {
    if (depth === MAX_DEPTH) {
      throw new JsonFault(`nested more than ${MAX_DEPTH} deep at byte ${at.toLocaleString('en')}`, true)
    }
    return first === OPEN.object ? eachMember(bytes, at, endOfValue, depth + 1) : eachElement(bytes, at, endOfValue, depth + 1)
  }
  if (first === MINUS || isDigit(first)) return endOfNumber(bytes, at)
  const word = WORDS[first]
  if (!word) throw unexpected(bytes, at)
  for (let i = 1; i < word.length; i++) if (bytes[at + i] !== word[i]) throw unexpected(bytes, at + i)
  return at + word.length
}

/** @param {Buffer} bytes @param {number} at its opening quote @returns {number} after its closing quote */
function endOfString (bytes, at) {
  for (at++; ; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) return at + 1
    if (byte === BACKSLASH) at = endOfEscape(bytes, at + 1)
    else if (byte === undefined || byte < FIRST_PRINTABLE) throw unexpected(bytes, at)
  }
}

/** @param {Buffer} bytes @param {number} at after its backslash @returns {number} its last byte */
function endOfEscape (bytes, at) {
  if (ESCAPES.includes(bytes[at])) return at
  if (bytes[at] !== UNICODE) throw unexpected(bytes, at)
  const end = at + HEX_DIGITS
  while (at < end) if (!isHexDigit(bytes[++at])) throw unexpected(bytes, at)
  return end
}

/** @param {Buffer} bytes @param {number} at its first byte @returns {number} after its last */
function endOfNumber (bytes, at) {
  if (bytes[at] === MINUS) at++
  at = bytes[at] === ZERO ? at + 1 : endOfDigits(bytes, at)
  if (bytes[at] === POINT) at = endOfDigits(bytes, at + 1)
  if ((bytes[at] | LOWER_CASE) !== 0x65) return at
  at++
  return endOfDigits(bytes, bytes[at] === PLUS || bytes[at] === MINUS ? at + 1 : at)
}

/** @param {Buffer} bytes @param {number} at @returns {number} after one digit or more */
function endOfDigits (bytes, at) {
  if (!isDigit(bytes[at])) throw unexpected(bytes, at)
  while (isDigit(bytes[at])) at++
  return at
}

/** @param {number} byte */
const isDigit = (byte) => byte >= ZERO && byte <= NINE

/** @param {number} byte */
const isHexDigit = (byte) => isDigit(byte) || ((byte | LOWER_CASE) >= 0x61 && (byte | LOWER_CASE) <= 0x66)

/** @param {Buffer} bytes @param {number} at after a value @throws {JsonFault} something other than white space follows */
export function expectEnd (bytes, at) {
  const end = skipSpace(bytes, at)
  if (end < bytes.length) throw unexpected(bytes, end)
}

/**
 * Walks the elements of an array.
 * @param {Buffer} bytes
 * @param {number} at its opening bracket
 * @param {Take} take
 * @param {number} [depth] of the elements
 * @returns {number} after its closing bracket
 * @throws {JsonFault}
 */
export function eachElement (bytes, at, take, depth = 0) {
  at = skipSpace(bytes, at + 1)
  if (bytes[at] === CLOSE.array) return at + 1
  for (; ; at = skipSpace(bytes, at + 1)) {
    at = skipSpace(bytes, take(bytes, at, depth, -1, -1))
    if (bytes[at] === CLOSE.array) return at + 1
    if (bytes[at] !== COMMA) throw unexpected(bytes, at)
  }
}

/**
 * Walks the members of an object.
 * @param {Buffer} bytes
 * @param {number} at its opening bracket
 * @param {Take} take
 * @param {number} [depth] of the values
 * @returns {number} after its closing bracket
 * @throws {JsonFault}
 */
export function eachMember (bytes, at, take, depth = 0) {
  at = skipSpace(bytes, at + 1)
  if (bytes[at] === CLOSE.object) return at + 1
  for (; ; at = skipSpace(bytes, at + 1)) {
    if (bytes[at] !== QUOTE) throw unexpected(bytes, at)
    const keyEnd = endOfString(bytes, at)
    const colon = skipSpace(bytes, keyEnd)
    if (bytes[colon] !== COLON) throw unexpected(bytes, colon)
    at = skipSpace(bytes, take(bytes, skipSpace(bytes, colon + 1), depth, at, keyEnd))
    if (bytes[at] === CLOSE.object) return at + 1
    if (bytes[at] !== COMMA) throw unexpected(bytes, at)
  }
}

/**
 * @param {Buffer} bytes @param {number} from @param {number} to of a value
 * @returns {any} what JSON.parse makes of it; of an array or object an empty one
 */
export function scalarOf (bytes, from, to) {
  if (bytes[from] === OPEN.object) return {}
  return bytes[from] === OPEN.array ? [] : JSON.parse(bytes.toString('utf8', from, to))
}
