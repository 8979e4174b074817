/**
 * What a member of layout `values` is: one version of an item as a whole; its score is its order.
 *
 *     0         n   n+1           n+8     n+9
 *     +---------+---+-------------+-------+---------------
 *     | id      | 0 | stamp, us   | flags | value
 *     | n bytes |   | 56 bit      | 8 bit |
 *     +---------+---+-------------+-------+---------------
 *     big-endian; flag bit 0: this version is a deletion (a tombstone) and has no value
 *
 * The stamp says when the version was appended, in microseconds since 1970. A sorted set keeps members of one score by
 * their bytes, and an id holds no control character, so there they lie by id, then by append: the order of the feed, and
 * of two versions that compare equal the later append is the newer. Appending the same value again is a member of its
 * own; sending the same bytes again is not.
 */
import { FreshetError } from '../errors.js'
import { MAX_ID_BYTES } from './id.js'
import { compareOrder } from './order.js'

/** between id and value */
export const MEMBER_HEAD_BYTES = 9

const STAMP_BYTES = 7
const DELETED = 1

/** @typedef {import('./order.js').Place & { stamp?: number }} VersionPlace without a stamp: of all versions there */
/** @typedef {{ id: Buffer, stamp: number, deleted: boolean, value: Buffer, text: string }} Member `text`: see placeText */

/**
 * Writes what stands between id and value.
 * @param {Buffer} target
 * @param {number} offset
 * @param {number} stamp microseconds, below 2^53
 * @param {boolean} deleted
 * @returns {number} offset behind it
 */
export function writeMemberHead (target, offset, stamp, deleted) {
  // by hand, as in record.js
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
    throw new FreshetError('KEY_HOLDS_OTHER', `a member of ${bytes.length} bytes; expected an id, a zero byte, ${MEMBER_HEAD_BYTES - 1} bytes of stamp and flags, and the value. Was it written by another program?`)
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
 * Where the members of that place begin, or where those behind it do, among the members of one score.
 * @param {VersionPlace} place
 * @param {'begin' | 'behind'} edge
 * @returns {Buffer}
 */
export function memberBound ({ id, stamp }, edge) {
  const head = Buffer.alloc(MEMBER_HEAD_BYTES, edge === 'begin' ? 0 : 0xff)
  if (stamp !== undefined) writeMemberHead(head, 0, stamp, false)
  head[0] = 0
  head[MEMBER_HEAD_BYTES - 1] = edge === 'begin' ? 0 : 0xff
  return Buffer.concat([id, head])
}

/**
 * What tells a version from others of its score: id and stamp, byte for character, so that texts compare as members do.
 * @param {VersionPlace} place
 */
export const placeText = (place) => memberBound(place, 'begin').toString('latin1', 0, place.id.length + 1 + STAMP_BYTES)

/** By order, then by append. @param {Required<VersionPlace>} a @param {Required<VersionPlace>} b */
export const compareVersions = (a, b) => compareOrder(a, b) || a.stamp - b.stamp
