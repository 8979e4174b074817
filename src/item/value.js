/**
 * A value is up to 1 MiB of any bytes; text is stored as UTF-8, other values of JavaScript as JSON if the caller asks for it.
 */
import { isUtf8 } from 'node:buffer'
import { types } from 'node:util'
import { FreshetError } from '../errors.js'

/** @typedef {string | ArrayBufferView | ArrayBuffer} Value */

/**
 * @param {Value} value
 * @returns {Buffer} shares the memory of the value, except for text
 * @throws {FreshetError} ITEM_VALUE_INVALID
 */
export function valueBytes (value) {
  if (Buffer.isBuffer(value)) return value
  if (typeof value === 'string') {
    const bytes = Buffer.from(value)
    // one byte per character is ASCII; a lone surrogate would be stored as another character
    if (bytes.length !== value.length && !value.isWellFormed()) throw invalid('text with half of a surrogate pair, which is not UTF-8')
    return bytes
  }
  const bytes = viewOf(value)
  if (bytes === null) throw invalid(`a value of type ${value === null ? 'null' : typeof value}`)
  return bytes
}

/** @param {any} value @returns {Buffer | null} null = no bytes, for example after a transfer to a worker */
function viewOf (value) {
  try {
    if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    return types.isAnyArrayBuffer(value) ? Buffer.from(value) : null
  } catch {
    return null
  }
}

/**
 * @param {unknown} value
 * @returns {Buffer} its JSON
 * @throws {FreshetError} ITEM_VALUE_INVALID
 */
export function jsonBytes (value) {
  let text
  try {
    text = JSON.stringify(value)
  } catch (error) {
    throw withoutJson(error instanceof Error ? error.message : 'its toJSON throws', error)
  }
  if (text === undefined) throw withoutJson(`a value of type ${typeof value}`)
  return Buffer.from(text)
}

/** @param {Buffer} bytes @returns {{ value: any } | null} null = not JSON */
export function parsedJson (bytes) {
  if (!isUtf8(bytes)) return null
  try {
    return { value: JSON.parse(bytes.toString()) }
  } catch {
    return null
  }
}

/** @param {string} why @param {unknown} [cause] */
const withoutJson = (why, cause) =>
  new FreshetError('ITEM_VALUE_INVALID', `${why}; expected a value that JSON.stringify accepts`, { cause })

/** @param {string} received */
const invalid = (received) => new FreshetError('ITEM_VALUE_INVALID', `${received}; expected text in UTF-8 or bytes (Buffer, ArrayBuffer ` +
  'or a view of one); encode other values, for example with JSON.stringify')
