/** What is in a segment, and a segment made to fit its checksums, for tests. */
import { crc32 } from 'node:zlib'
import { SEGMENT_HEAD_BYTES, eachVersion } from '../../src/item/segment.js'

/** @typedef {{ id: Buffer, ts: number, seq: number, value: Buffer, deleted: boolean }} Version */

/** @param {Buffer} bytes @returns {Version[]} */
export function versionsOf (bytes) {
  /** @type {Version[]} */
  const found = []
  eachVersion(bytes, (from, idAt, idEnd, ts, seq, deleted, valueAt, valueEnd) => {
    found.push({ id: Buffer.from(from.subarray(idAt, idEnd)), ts, seq, value: Buffer.from(from.subarray(valueAt, valueEnd)), deleted })
  })
  return found
}

/** Gives it the checksums that fit. @param {Buffer} bytes */
export function sealed (bytes) {
  bytes.writeUInt32BE(crc32(bytes.subarray(SEGMENT_HEAD_BYTES)), 8)
  bytes.writeUInt32BE(crc32(bytes.subarray(8, SEGMENT_HEAD_BYTES)), 4)
  return bytes
}
