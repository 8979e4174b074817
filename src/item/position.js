/**
 * A position is opaque text for a place in the arrival of a feed: where a subscription goes on.
 *
 *     kind 1 or 2 | crc32 of feed name and rest, 4 bytes | rest      as base64url
 *
 *     1, of layouts that are followed by event time (`ids`, `values`):
 *         for each partition: 48 bit, the newest ts delivered
 *     2, of logs:
 *         48 bit, ms, then for each partition: 48 bit and 32 bit, an entry's id | 1 bit, read to its end | 31 bit, versions
 *
 * Of a log it says by which entry everything was delivered, or, with versions above 0, how many of that entry's; and when
 * (on the clock of whoever read) the partitions were read whose entry was the last one then.
 *
 * The checksum is no secret, as with cursors. A position of another kind, or of a feed that has another layout by now, is
 * none.
 */
import { crc32 } from 'node:zlib'
import { FreshetError } from '../errors.js'
import { MAX_TS } from './order.js'

const BY_TIME = 1
const BY_PLACE = 2
const SUM_AT = 1
const REST_AT = 5
const TIME_BYTES = 6
const PLACE_BYTES = 14
const IS_END = 0x80000000
const MAX_VERSIONS = 0x7fffffff

/**
 * @typedef {{ ms: number, n: number, versions: number, isEnd: boolean }} LogPlace `ms` and `n`: of the entry `<ms>-<n>`, both 0
 *   = in front of all; `versions`: how many of that entry were delivered, 0 = all of them; `isEnd`: there was none behind it at `readMs`
 * @typedef {{ readMs: number, places: LogPlace[] }} LogPosition
 */

/** @param {string} feed @param {number[]} times newest ts delivered, ms, by partition @returns {string} */
export function encodeTimes (feed, times) {
  const bytes = Buffer.alloc(REST_AT + times.length * TIME_BYTES)
  times.forEach((ts, i) => bytes.writeUIntBE(ts, REST_AT + i * TIME_BYTES, TIME_BYTES))
  return encoded(feed, BY_TIME, bytes)
}

/**
 * @param {string} feed
 * @param {string} text
 * @param {number} partitions of the feed
 * @returns {number[]} by partition
 * @throws {FreshetError} POSITION_INVALID
 */
export function decodeTimes (feed, text, partitions) {
  const bytes = decoded(feed, BY_TIME, text, partitions * TIME_BYTES)
  const times = Array.from({ length: partitions }, (_, i) => bytes.readUIntBE(REST_AT + i * TIME_BYTES, TIME_BYTES))
  if (times.some((ts) => ts > MAX_TS)) throw invalid(feed)
  return times
}

/** @param {string} feed @param {LogPosition} position @returns {string} */
export function encodePlaces (feed, { readMs, places }) {
  const bytes = Buffer.alloc(REST_AT + TIME_BYTES + places.length * PLACE_BYTES)
  let at = bytes.writeUIntBE(readMs, REST_AT, TIME_BYTES)
  for (const { ms, n, versions, isEnd } of places) {
    at = bytes.writeUIntBE(ms, at, TIME_BYTES)
    at = bytes.writeUInt32BE(n, at)
    at = bytes.writeUInt32BE(versions + (isEnd ? IS_END : 0), at)
  }
  return encoded(feed, BY_PLACE, bytes)
}

/**
 * @param {string} feed
 * @param {string} text
 * @param {number} partitions of the feed
 * @returns {LogPosition}
 * @throws {FreshetError} POSITION_INVALID
 */
export function decodePlaces (feed, text, partitions) {
  const bytes = decoded(feed, BY_PLACE, text, TIME_BYTES + partitions * PLACE_BYTES)
  const places = Array.from({ length: partitions }, (_, i) => {
    const at = REST_AT + TIME_BYTES + i * PLACE_BYTES
    const last = bytes.readUInt32BE(at + 10)
    return { ms: bytes.readUIntBE(at, TIME_BYTES), n: bytes.readUInt32BE(at + TIME_BYTES), versions: last & MAX_VERSIONS, isEnd: last >= IS_END }
  })
  return { readMs: bytes.readUIntBE(REST_AT, TIME_BYTES), places }
}

/**
 * Whether a feed of that name handed it out once, perhaps with another layout or other partitions than it has now.
 * @param {string} feed @param {string} text
 */
export function isPositionOf (feed, text) {
  const bytes = Buffer.from(String(text), 'base64url')
  return bytes.length > REST_AT && bytes.toString('base64url') === text && bytes.readUInt32BE(SUM_AT) === checksum(feed, bytes)
}

/** @param {string} feed @param {number} kind @param {Buffer} bytes room for both in front @returns {string} */
function encoded (feed, kind, bytes) {
  bytes[0] = kind
  bytes.writeUInt32BE(checksum(feed, bytes), SUM_AT)
  return bytes.toString('base64url')
}

/** @param {string} feed @param {number} kind @param {string} text @param {number} length of what is behind the checksum @returns {Buffer} */
function decoded (feed, kind, text, length) {
  const bytes = Buffer.from(String(text), 'base64url')
  if (bytes.length !== REST_AT + length || bytes[0] !== kind || !isPositionOf(feed, text)) throw invalid(feed)
  return bytes
}

/** @param {string} feed */
const invalid = (feed) => new FreshetError('POSITION_INVALID', `not a position of feed ${feed}; expected the "position" of an earlier change, unchanged`)

/** @param {string} feed @param {Buffer} bytes */
const checksum = (feed, bytes) => crc32(bytes.subarray(REST_AT), crc32(feed))
