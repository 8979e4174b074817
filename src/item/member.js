/**
 * A member of layout `values`: one whole version of an item; its score is its order.
 *
 *     0         n   n+1           n+8     n+9
 *     +---------+---+-------------+-------+---------------
 *     | id      | 0 | stamp, us   | flags | value
 *     | n bytes |   | 56 bit      | 8 bit |
 *     +---------+---+-------------+-------+---------------
 *     big-endian; flag bit 0: this version is a deletion (a tombstone) and has no value
 *
 * The stamp is the time of the append, in microseconds since 1970. A sorted set orders members of one score by their bytes,
 * and an id holds no control character. So they are ordered by id, then by append, as the feed is, and of two versions that
 * compare equal the later append is newer. Appending the same value again adds a member; sending the same bytes again does
 * not.
 */
import { FreshetError } from '../errors.js'
import { MAX_ID_BYTES } from './id.js'

/** between id and value */
export const MEMBER_HEAD_BYTES = 9

const STAMP_BYTES = 7
const DELETED = 1

/** @typedef {import('./order.js').Place & { stamp?: number }} VersionPlace without a stamp: all versions at that place */
/** @typedef {{ id: Buffer, stamp: number, deleted: boolean, value: Buffer, text: string }} Member `text`: see placeText */

/**
 * Writes the bytes between id and value.
 * @param {Buffer} target
 * @param {number} offset
 * @param {number} stamp microseconds, below 2^53
 * @param {boolean} deleted
 * @returns {number} offset after it
 */
export function writeMemberHead (target, offset, stamp, deleted) {
  // by hand: see record.js
  const high = Math.floor(stamp / 0x100000000)
  target[offset] = 0
  target[offset + 1] = high >>> 16
  target[offset + 2] = high >>> 8
  target[offset + 3] = high
  target[offset + 4] = stamp >>> 24
  target[offset + 5] = stamp >>> 16
  target[offset + 6] = stamp >>> 8
  target[offset + 7] = stamp
  target[offset + 8] = deleted ? DELETED : 0
  return offset + MEMBER_HEAD_BYTES
}

/**
 * @param {Buffer} bytes
 * @returns {Member}
 * @throws {FreshetError} KEY_HOLDS_OTHER
 */
export function readMember (bytes) {
  const end = bytes.indexOf(0)
  if (end < 1 || end > MAX_ID_BYTES || bytes.length < end + MEMBER_HEAD_BYTES) {
    throw new FreshetError('KEY_HOLDS_OTHER', `a member of ${bytes.length} bytes; expected an id, a zero byte, ${MEMBER_HEAD_BYTES - 1} ` +
      'bytes of stamp and flags, and the value. Was it written by another program?')
  }
  return {
    id: bytes.subarray(0, end),
    stamp: bytes.readUIntBE(end + 1, 6) * 256 + bytes[end + STAMP_BYTES],
    deleted: (bytes[end + MEMBER_HEAD_BYTES - 1] & DELETED) !== 0,
    value: bytes.subarray(end + MEMBER_HEAD_BYTES),
    text: bytes.toString('latin1', 0, end + 1 + STAMP_BYTES)
  }
}

/**
 * Behind all members of an id, among the members of one score.
 * @param {Buffer} id
 * @returns {Buffer}
 */
export const memberEnd = (id) => Buffer.concat([id, Buffer.from([0]), Buffer.alloc(MEMBER_HEAD_BYTES, 0xff)])

/**
 * Where the members of a place begin, among the members of one score.
 * @param {VersionPlace} place
 * @returns {Buffer}
 */
export function memberBound ({ id, stamp = 0 }) {
  const head = Buffer.alloc(MEMBER_HEAD_BYTES)
  writeMemberHead(head, 0, stamp, false)
  return Buffer.concat([id, head])
}

/**
 * Identifies a version among those of its score: id and stamp as latin1, so that texts compare as members do.
 * @param {VersionPlace} place
 */
export const placeText = (place) => memberBound(place).toString('latin1', 0, place.id.length + 1 + STAMP_BYTES)
