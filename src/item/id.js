/**
 * An id is 1-128 bytes of UTF-8 without control characters.
 */
import { isUtf8 } from 'node:buffer'
import { FreshetError } from '../errors.js'

export const MAX_ID_BYTES = 128

// ASCII control characters, DEL and the C1 block (Unicode's category Cc)
const CONTROL_CHARS = '\\u0000-\\u001f\\u007f-\\u009f'
const CONTROL = new RegExp(`[${CONTROL_CHARS}]`)

export const EXPECTED_ID = `1-${MAX_ID_BYTES} bytes of UTF-8 without control characters`

/** JSON schema of an id. */
export const ID_SCHEMA = Object.freeze({
  type: 'string',
  minLength: 1,
  maxLength: MAX_ID_BYTES,
  maxBytes: MAX_ID_BYTES,
  pattern: `^[^${CONTROL_CHARS}]+$`,
  description: `id of an item: ${EXPECTED_ID}`
})
/** An id in a request. */
export const ID_FIELD = Object.freeze({ schema: ID_SCHEMA, expects: EXPECTED_ID, code: 'ITEM_ID_INVALID' })

/**
 * @param {string | Uint8Array} id text, or its bytes
 * @returns {Buffer}
 * @throws {FreshetError} ITEM_ID_INVALID
 */
export function checkedId (id) {
  if (!(id instanceof Uint8Array)) return idBytes(id)
  const bytes = Buffer.isBuffer(id) ? id : Buffer.from(id.buffer, id.byteOffset, id.byteLength)
  if (bytes.length === 0 || bytes.length > MAX_ID_BYTES) throw invalid(`an id of ${bytes.length} bytes`)
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]
    // printable ASCII needs no further check
    if (byte < 0x20 || byte > 0x7e) return checkedBytes(bytes)
  }
  return bytes
}

/** @param {Buffer} bytes */
function checkedBytes (bytes) {
  if (!isUtf8(bytes)) throw invalid('an id that is not UTF-8')
  idBytes(bytes.toString())
  return bytes
}

/**
 * @param {string} text
 * @returns {Buffer} its UTF-8 bytes
 * @throws {FreshetError} ITEM_ID_INVALID
 */
export function idBytes (text) {
  const bytes = readId(text)
  if (typeof bytes === 'string') throw invalid(bytes)
  return bytes
}

/**
 * For many ids, where an error object for each would be expensive.
 * @param {any} text
 * @returns {Buffer | string} its UTF-8 bytes, or what is wrong
 */
export function readId (text) {
  if (typeof text !== 'string') return `an id of type ${text === null ? 'null' : typeof text}`
  if (!text.isWellFormed()) return 'an id with half of a surrogate pair, which is not UTF-8'
  if (CONTROL.test(text)) return 'an id with a control character'
  const bytes = Buffer.from(text)
  return bytes.length === 0 || bytes.length > MAX_ID_BYTES ? `an id of ${bytes.length} bytes` : bytes
}

/** @param {string} received */
const invalid = (received) => new FreshetError('ITEM_ID_INVALID', `${received}; expected ${EXPECTED_ID}`)

/**
 * The partition of an id: FNV-1a (32 bit) of its bytes, mod the number of partitions.
 * Source: http://www.isthe.com/chongo/tech/comp/fnv/
 *
 * A writer spreads ids over stripes (connections) by the same hash; a bucket is a partition on a stripe.
 */

/** @param {Buffer} id */
function hashOf (id) {
  let hash = 0x811c9dc5
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id[i], 0x01000193)
  return hash >>> 0
}

/**
 * @param {Buffer} id
 * @param {number} partitions
 * @returns {number} 0 <= partition < partitions
 */
export const partitionOf = (id, partitions) => partitions === 1 ? 0 : hashOf(id) % partitions

/**
 * @param {Buffer} id
 * @param {number} partitions
 * @param {number} stripes
 * @returns {number} stripe * partitions + partition
 */
export function bucketOf (id, partitions, stripes) {
  if (stripes === 1) return partitionOf(id, partitions)
  const hash = hashOf(id)
  // not hash % stripes: with as many partitions, each would use one stripe only
  return Math.floor(hash / partitions) % stripes * partitions + hash % partitions
}
