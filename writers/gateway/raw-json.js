/**
 * Where values lie in JSON text, for keeping them as they were sent: 1.10 stays 1.10, 12345678901234567890 keeps its
 * digits, keys their order.
 *
 * JSON.parse has taken the text before; of valid text a few rules are enough. A string ends at the first quote that no
 * backslash stands before, an object or array where as many brackets have closed as opened outside of strings, anything
 * else at the next mark or white space. All marks are ASCII, so bytes are looked at, not characters; depth is a number,
 * so deep nesting costs no stack. Text that is not valid is cut somewhere, but every loop ends.
 *
 * Rejected: JSON.stringify of what was parsed (it rounds numbers), a tokenizer (a call for each token).
 */

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const OPEN = Object.freeze({ array: 0x5b, object: 0x7b })
const CLOSE = Object.freeze({ array: 0x5d, object: 0x7d })
const SPACE = 0x20

/** @typedef {{ end: number, members: number, from: number, to: number }} Cut
 * `end`: behind the object; `members`: how many it has, doubles too; `from`, `to`: the value asked for, -1 without it */

/** @param {Buffer} bytes @param {number} at @returns {number} the next byte that is not white space */
export function skipSpace (bytes, at) {
  while (at < bytes.length && bytes[at] <= SPACE) at++
  return at
}

/** @param {Buffer} bytes @param {number} at its opening quote @returns {number} behind its closing quote */
function endOfString (bytes, at) {
  for (at++; at < bytes.length; at++) {
    if (bytes[at] === QUOTE) return at + 1
    if (bytes[at] === BACKSLASH) at++
  }
  return bytes.length
}

/** @param {Buffer} bytes @param {number} at its opening bracket @returns {number} behind its closing bracket */
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

/** @param {Buffer} bytes @param {number} at its first byte @returns {number} behind its last */
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
 * @param {(at: number) => number} take is given where an element begins and answers where it ends
 */
export function eachElement (bytes, at, take) {
  at = skipSpace(bytes, at + 1)
  while (at < bytes.length && bytes[at] !== CLOSE.array) {
    at = skipSpace(bytes, take(at))
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1)
  }
}

/**
 * Cuts the value of one member out of an object; of several of that name, the last.
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
