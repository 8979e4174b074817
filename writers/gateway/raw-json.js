/**
 * Finds values in JSON text, so that they are stored as they were sent: 1.10 stays 1.10, 12345678901234567890 keeps its
 * digits, keys keep their order. JSON.stringify of the parsed value would change all three.
 *
 * The text is known to be valid, so a few rules suffice. A string ends at the first quote without a backslash before it, an
 * object or array where as many brackets have closed as opened outside of strings, anything else at the next delimiter.
 * Delimiters are ASCII, so bytes suffice; depth is a number, so nesting needs no stack. On invalid text every loop ends.
 */

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const OPEN = Object.freeze({ array: 0x5b, object: 0x7b })
const CLOSE = Object.freeze({ array: 0x5d, object: 0x7d })
const SPACE = 0x20

/** @typedef {{ end: number, members: number, from: number, to: number }} Cut
 * `end`: after the object; `members`: their number, duplicates included; `from`, `to`: of the value, -1 = no such member */

/** @param {Buffer} bytes @param {number} at @returns {number} the next byte that is not white space */
export function skipSpace (bytes, at) {
  while (at < bytes.length && bytes[at] <= SPACE) at++
  return at
}

/** @param {Buffer} bytes @param {number} at its opening quote @returns {number} after its closing quote */
function endOfString (bytes, at) {
  for (at++; at < bytes.length; at++) {
    if (bytes[at] === QUOTE) return at + 1
    if (bytes[at] === BACKSLASH) at++
  }
  return bytes.length
}

/** @param {Buffer} bytes @param {number} at its opening bracket @returns {number} after its closing bracket */
function endOfNested (bytes, at) {
  let depth = 0
  while (at < bytes.length) {
    const byte = bytes[at]
    if (byte === QUOTE) {
      at = endOfString(bytes, at)
      continue
    }
    at++
    if (byte === OPEN.object || byte === OPEN.array) depth++
    else if ((byte === CLOSE.object || byte === CLOSE.array) && --depth === 0) return at
  }
  return at
}

/** @param {Buffer} bytes @param {number} at its first byte @returns {number} after its last */
export function endOfValue (bytes, at) {
  const first = bytes[at]
  if (first === QUOTE) return endOfString(bytes, at)
  if (first === OPEN.object || first === OPEN.array) return endOfNested(bytes, at)
  for (at++; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === COMMA || byte === CLOSE.object || byte === CLOSE.array || byte <= SPACE) return at
  }
  return at
}

/**
 * Walks the elements of an array.
 * @param {Buffer} bytes
 * @param {number} at its opening bracket
 * @param {(at: number) => number} take where an element begins -> where it ends
 */
export function eachElement (bytes, at, take) {
  at = skipSpace(bytes, at + 1)
  while (at < bytes.length && bytes[at] !== CLOSE.array) {
    at = skipSpace(bytes, take(at))
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1)
  }
}

/**
 * Finds the value of one member of an object; of several with that name, the last.
 * @param {Buffer} bytes
 * @param {number} at its opening bracket
 * @param {string} name ASCII, without quotes and backslashes
 * @returns {Cut}
 */
export function cutMember (bytes, at, name) {
  const cut = { end: 0, members: 0, from: -1, to: -1 }
  at = skipSpace(bytes, at + 1)
  while (at < bytes.length && bytes[at] !== CLOSE.object) {
    const keyEnd = endOfString(bytes, at)
    const from = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1)
    const to = endOfValue(bytes, from)
    cut.members++
    if (isKey(bytes, at, keyEnd, name)) {
      cut.from = from
      cut.to = to
    }
    at = skipSpace(bytes, to)
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1)
  }
  cut.end = at + 1
  return cut
}

/** @param {Buffer} bytes @param {number} from @param {number} to @param {string} name */
function isKey (bytes, from, to, name) {
  const key = bytes.subarray(from + 1, to - 1)
  if (key.length === name.length) return key.toString('latin1') === name
  return key.includes(BACKSLASH) && JSON.parse(bytes.toString('utf8', from, to)) === name
}
