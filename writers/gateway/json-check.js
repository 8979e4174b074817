/**
 * Whether bytes are JSON, said without an error: JSON.parse throws one for each text that is not, which for a body of
 * very many faulty lines holds up everybody else. Where the text is wanted, or what is wrong with it, JSON.parse says so.
 *
 * Bytes are UTF-8 already. What is open is a list, so deep nesting costs no stack.
 */

const CODE = Object.freeze({ quote: 0x22, comma: 0x2c, colon: 0x3a, backslash: 0x5c, unicode: 0x75, space: 0x20 })
const OPEN = Object.freeze({ array: 0x5b, object: 0x7b })
const CLOSE = Object.freeze({ array: 0x5d, object: 0x7d })
const HEX_DIGITS = 4
const NOWHERE = -1

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const WORDS = ['true', 'false', 'null']

/** @param {string} chars */
const setOf = (chars) => new Uint8Array(256).map((_, code) => Number(chars.includes(String.fromCharCode(code))))
const SPACES = setOf(' \t\r\n')
const ESCAPES = setOf('"\\/bfnrtu')
const HEX = setOf('0123456789abcdefABCDEF')
const PLAIN = setOf('-+.0123456789abcdefghijklmnopqrstuvwxyzE')

/** @param {Buffer} bytes @param {number} at @param {Uint8Array} set @returns {number} the first byte that is not in the set */
function skip (bytes, at, set) {
  while (at < bytes.length && set[bytes[at]] === 1) at++
  return at
}

/** @param {Buffer} bytes @param {number} at @returns {number} behind the string that begins there, or NOWHERE */
function endOfString (bytes, at) {
  if (bytes[at] !== CODE.quote) return NOWHERE
  for (at++; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === CODE.quote) return at + 1
    if (byte < CODE.space) return NOWHERE
    if (byte !== CODE.backslash) continue
    const escaped = bytes[++at]
    if (ESCAPES[escaped] !== 1) return NOWHERE
    if (escaped !== CODE.unicode) continue
    for (let i = 0; i < HEX_DIGITS; i++) if (HEX[bytes[++at]] !== 1) return NOWHERE
  }
  return NOWHERE
}

/** @param {Buffer} bytes @param {number} at @returns {number} where the value of the member that begins there begins, or NOWHERE */
function valueOfMember (bytes, at) {
  const end = endOfString(bytes, skip(bytes, at, SPACES))
  if (end === NOWHERE) return NOWHERE
  at = skip(bytes, end, SPACES)
  return bytes[at] === CODE.colon ? at + 1 : NOWHERE
}

/** @param {Buffer} bytes @param {number} at @returns {number} behind the string, number or word that begins there, or NOWHERE */
function endOfPlain (bytes, at) {
  if (bytes[at] === CODE.quote) return endOfString(bytes, at)
  const end = skip(bytes, at, PLAIN)
  const text = bytes.toString('latin1', at, end)
  return NUMBER.test(text) || WORDS.includes(text) ? end : NOWHERE
}

/**
 * Behind a value: closes what ends there, and steps over a comma.
 * @param {Buffer} bytes @param {number} at @param {number[]} open closing brackets, the innermost last
 * @returns {number} where the next value begins, the end of the bytes, or NOWHERE
 */
function nextValue (bytes, at, open) {
  for (at = skip(bytes, at, SPACES); open.length > 0; at = skip(bytes, at + 1, SPACES)) {
    const close = open[open.length - 1]
    if (bytes[at] === CODE.comma) return close === CLOSE.object ? valueOfMember(bytes, at + 1) : at + 1
    if (bytes[at] !== close) return NOWHERE
    open.pop()
  }
  return at === bytes.length ? at : NOWHERE
}

/** @param {Buffer} bytes @returns {boolean} what JSON.parse takes */
export function isJson (bytes) {
  /** @type {number[]} */
  const open = []
  let at = 0
  do {
    at = skip(bytes, at, SPACES)
    const isObject = bytes[at] === OPEN.object
    if (isObject || bytes[at] === OPEN.array) {
      const close = isObject ? CLOSE.object : CLOSE.array
      const inside = skip(bytes, at + 1, SPACES)
      if (bytes[inside] === close) at = nextValue(bytes, inside + 1, open)
      else {
        open.push(close)
        at = isObject ? valueOfMember(bytes, inside) : inside
      }
    } else {
      const end = endOfPlain(bytes, at)
      at = end === NOWHERE ? NOWHERE : nextValue(bytes, end, open)
    }
  } while (at !== NOWHERE && (at < bytes.length || open.length > 0))
  return at !== NOWHERE
}
