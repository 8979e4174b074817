/**
 * A position is opaque text for a place in the arrival of a feed: where a subscription goes on.
 *
 *     version 1 | crc32 of feed name and rest, 4 bytes | for each partition: 48 bit, the newest ts delivered      as base64url
 *
 * For layouts that are followed by event time (`ids`, `values`). The checksum is no secret, as with cursors.
 */
import { crc32 } from 'node:zlib'
import { FreshetError } from '../errors.js'
import { MAX_TS } from './order.js'

const VERSION = 1
const SUM_AT = 1
const TIMES_AT = 5
const TIME_BYTES = 6

/** @param {string} feed @param {number[]} times newest ts delivered, ms, by partition @returns {string} */
export function encodePosition (feed, times) {
  const bytes = Buffer.alloc(TIMES_AT + times.length * TIME_BYTES)
  bytes[0] = VERSION
  times.forEach((ts, i) => bytes.writeUIntBE(ts, TIMES_AT + i * TIME_BYTES, TIME_BYTES))
  bytes.writeUInt32BE(checksum(feed, bytes), SUM_AT)
  return bytes.toString('base64url')
}

/**
 * @param {string} feed
 * @param {string} text
 * @param {number} partitions of the feed
 * @returns {number[]} by partition
 * @throws {FreshetError} POSITION_INVALID
 */
export function decodePosition (feed, text, partitions) {
  const bytes = Buffer.from(String(text), 'base64url')
  const fits = bytes.length === TIMES_AT + partitions * TIME_BYTES && bytes[0] === VERSION &&
    bytes.toString('base64url') === text && bytes.readUInt32BE(SUM_AT) === checksum(feed, bytes)
  if (fits) {
    const times = Array.from({ length: partitions }, (_, i) => bytes.readUIntBE(TIMES_AT + i * TIME_BYTES, TIME_BYTES))
    if (times.every((ts) => ts <= MAX_TS)) return times
  }
  throw new FreshetError('POSITION_INVALID', `not a position of feed ${feed}; expected the "position" of an earlier change, unchanged`)
}

/** @param {string} feed @param {Buffer} bytes */
const checksum = (feed, bytes) => crc32(bytes.subarray(TIMES_AT), crc32(feed))
