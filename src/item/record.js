/**
 * The value of an item key of layout `ids`: order of this version, flags, then the item's value.
 *
 *     0            6       8
 *     +------------+-------+---------------
 *     | ts, ms     | seq:12| value
 *     | 48 bit     |flags:4|
 *     +------------+-------+---------------
 *     big-endian; flag bit 0: this version is a deletion (a tombstone) and has no value
 *
 * Readers take the order from the key, so they never pair one version's time with another version's value.
 */
import { FreshetError } from '../errors.js'
import { MAX_ID_BYTES } from './id.js'

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

/** between id and value */
export const MEMBER_HEAD_BYTES = 9

const STAMP_BYTES = 7
const MEMBER_DELETED = 1

/** @typedef {import('./order.js').OrderKey & { stamp?: number }} VersionKey without a stamp: all versions of that order key */
/** @typedef {{ id: Buffer, stamp: number, deleted: boolean, value: Buffer, text: string }} Member `text`: see versionKeyText */

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
  target[offset + 8] = deleted ? MEMBER_DELETED : 0
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
    deleted: (bytes[end + MEMBER_HEAD_BYTES - 1] & MEMBER_DELETED) !== 0,
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
 * Where the members of an order key begin, among the members of one score.
 * @param {VersionKey} versionKey
 * @returns {Buffer}
 */
export function memberBound ({ id, stamp = 0 }) {
  const head = Buffer.alloc(MEMBER_HEAD_BYTES)
  writeMemberHead(head, 0, stamp, false)
  return Buffer.concat([id, head])
}

/**
 * Identifies a version among those of its score: id and stamp as latin1, so that texts compare as members do.
 * @param {VersionKey} versionKey
 */
export const versionKeyText = (versionKey) => memberBound(versionKey).toString('latin1', 0, versionKey.id.length + 1 + STAMP_BYTES)

export const RECORD_HEAD_BYTES = 8
export const MAX_VALUE_BYTES = 1024 * 1024

const DELETED = 1

/**
 * @param {Buffer} target
 * @param {number} offset
 * @param {number} ts
 * @param {number} seq
 * @param {boolean} [deleted]
 * @returns {number} offset after the head
 */
export function writeRecordHead (target, offset, ts, seq, deleted = false) {
  // by hand: writeUIntBE checks its arguments and costs three times as much here
  const high = Math.floor(ts / 0x100000000)
  target[offset] = high >>> 8
  target[offset + 1] = high
  target[offset + 2] = ts >>> 24
  target[offset + 3] = ts >>> 16
  target[offset + 4] = ts >>> 8
  target[offset + 5] = ts
  target[offset + 6] = seq >>> 4
  target[offset + 7] = seq << 4 | (deleted ? DELETED : 0)
  return offset + RECORD_HEAD_BYTES
}

/**
 * @param {Buffer} id
 * @param {Buffer} bytes the stored value
 * @returns {{ id: Buffer, ts: number, seq: number, value: Buffer, deleted: boolean }}
 * @throws {FreshetError} KEY_HOLDS_OTHER
 */
export function readRecord (id, bytes) {
  if (bytes.length < RECORD_HEAD_BYTES) {
    throw new FreshetError('KEY_HOLDS_OTHER', `the key of item ${id} holds ${bytes.length} bytes; expected ${RECORD_HEAD_BYTES} of order ` +
      'and the value. Was it written by another program?')
  }
  return {
    id,
    ts: bytes.readUIntBE(0, 6),
    seq: bytes.readUInt16BE(6) >>> 4,
    value: bytes.subarray(RECORD_HEAD_BYTES),
    deleted: (bytes[RECORD_HEAD_BYTES - 1] & DELETED) !== 0
  }
}
