/**
 * A position is opaque text for a place in order of arrival, where a subscription resumes.
 *
 *     kind 2 | crc32 of feed name and all that follows, 4 bytes | 48 bit, creation of the feed, ms | rest      as base64url
 *
 *     48 bit, ms, then for each partition: 48 bit and 32 bit, an entry's id | 1 bit, read to its end | 31 bit, versions
 *
 * It names the last entry delivered, or, with versions above 0, how many versions of that entry were delivered.
 * `ms` is the reader's time at which partitions marked "read to its end" were read.
 *
 * The checksum is not a secret, as with cursors. A position of another kind, for example after a change of layout, is
 * invalid. A position of a feed that was dropped and created again is expired.
 */
import { crc32 } from 'node:zlib'
import { FreshetError } from '../errors.js'

const BY_OFFSET = 2
const SUM_AT = 1
const CREATED_AT = 5
const REST_AT = 11
const TIME_BYTES = 6
const OFFSET_BYTES = 14
const IS_END = 0x80000000
const MAX_VERSIONS = 0x7fffffff

/**
 * @typedef {{ ms: number, n: number, versions: number, isEnd: boolean }} LogOffset `ms` and `n`: of the entry `<ms>-<n>`, both 0
 *   = before all entries; `versions`: delivered versions of that entry, 0 = all; `isEnd`: it was the last entry at `readMs`
 * @typedef {{ readMs: number, offsets: LogOffset[] }} LogPosition
 */

/** @param {string} feed @param {LogPosition} position @param {number} [createdMs] of the feed @returns {string} */
export function encodeOffsets (feed, { readMs, offsets }, createdMs = 0) {
  const bytes = Buffer.alloc(REST_AT + TIME_BYTES + offsets.length * OFFSET_BYTES)
  let at = bytes.writeUIntBE(readMs, REST_AT, TIME_BYTES)
  for (const { ms, n, versions, isEnd } of offsets) {
    at = bytes.writeUIntBE(ms, at, TIME_BYTES)
    at = bytes.writeUInt32BE(n, at)
    at = bytes.writeUInt32BE(versions + (isEnd ? IS_END : 0), at)
  }
  return encoded(feed, BY_OFFSET, bytes, createdMs)
}

/**
 * @param {string} feed
 * @param {string} text
 * @param {number} partitions of the feed
 * @returns {LogPosition}
 * @throws {FreshetError} POSITION_INVALID
 */
export const decodeOffsets = (feed, text, partitions) =>
  offsetsIn(decoded(feed, BY_OFFSET, text, TIME_BYTES + partitions * OFFSET_BYTES), partitions)

/** @param {Buffer} bytes @param {number} partitions @returns {LogPosition} */
function offsetsIn (bytes, partitions) {
  const offsets = Array.from({ length: partitions }, (_, i) => {
    const at = REST_AT + TIME_BYTES + i * OFFSET_BYTES
    const last = bytes.readUInt32BE(at + 10)
    return {
      ms: bytes.readUIntBE(at, TIME_BYTES), n: bytes.readUInt32BE(at + TIME_BYTES), versions: last & MAX_VERSIONS, isEnd: last >= IS_END
    }
  })
  return { readMs: bytes.readUIntBE(REST_AT, TIME_BYTES), offsets }
}

/** Of the feed of a position that was encoded here. @param {string} text */
export const partitionsIn = (text) => (Math.floor(text.length * 3 / 4) - REST_AT - TIME_BYTES) / OFFSET_BYTES

/**
 * A position that was encoded here, of any feed.
 * @param {string} text @returns {LogPosition & { createdMs: number }}
 */
export function readOffsets (text) {
  const bytes = Buffer.from(text, 'base64url')
  return { createdMs: bytes.readUIntBE(CREATED_AT, TIME_BYTES), ...offsetsIn(bytes, partitionsIn(text)) }
}

/**
 * Whether it is a position of a feed of that name, perhaps with another layout or number of partitions than now.
 * @param {string} feed @param {string} text
 */
export function isPositionOf (feed, text) {
  const bytes = Buffer.from(String(text), 'base64url')
  return bytes.length > REST_AT && bytes[0] === BY_OFFSET &&
    bytes.toString('base64url') === text && bytes.readUInt32BE(SUM_AT) === checksum(feed, bytes)
}

/** Creation time of a feed, for its positions. @param {{ createdAt: string }} definition @returns {number} ms since 1970 */
export const createdMsOf = ({ createdAt }) => Math.max(0, Date.parse(createdAt)) || 0

/**
 * @param {import('../feeds/index.js').Definition} definition @param {string} text a position of a feed of that name
 * @throws {FreshetError} POSITION_EXPIRED
 */
export function checkCreation (definition, text) {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.readUIntBE(CREATED_AT, TIME_BYTES) === createdMsOf(definition)) return
  throw new FreshetError('POSITION_EXPIRED',
    `the position in feed ${definition.feed} is expired: the feed was dropped and created again; start without a position`)
}

/** @param {string} feed @param {number} kind @param {Buffer} bytes with room for the head @param {number} createdMs @returns {string} */
function encoded (feed, kind, bytes, createdMs) {
  bytes[0] = kind
  bytes.writeUIntBE(createdMs, CREATED_AT, TIME_BYTES)
  bytes.writeUInt32BE(checksum(feed, bytes), SUM_AT)
  return bytes.toString('base64url')
}

/** @param {string} feed @param {number} kind @param {string} text @param {number} length of the rest @returns {Buffer} */
function decoded (feed, kind, text, length) {
  const bytes = Buffer.from(String(text), 'base64url')
  if (bytes.length !== REST_AT + length || bytes[0] !== kind || !isPositionOf(feed, text)) throw invalid(feed)
  return bytes
}

/** @param {string} feed */
const invalid = (feed) =>
  new FreshetError('POSITION_INVALID', `not a position of feed ${feed}; expected the "position" of an earlier change, unchanged`)

/** @param {string} feed @param {Buffer} bytes */
const checksum = (feed, bytes) => crc32(bytes.subarray(CREATED_AT), crc32(feed))
