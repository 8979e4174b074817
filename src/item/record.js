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
