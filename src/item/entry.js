/**
 * An entry of layout `stream`: one version of an item.
 *
 *     0         1          5        30        38          39
 *     +---------+----------+--------+---------+-----------+----+-------
 *     | format  | checksum | origin | order   | id length | id | value
 *     | version | crc32    | 25     | flags 8 | 8 bit     |    |
 *     +---------+----------+--------+---------+-----------+----+-------
 *     big-endian; format version 1; the checksum is that of bytes 5 to the end; origin: item/origin.js; order and flags:
 *     item/record.js, flag bit 0: this version is a deletion and has no value
 */
import { crc32 } from 'node:zlib'
import { FreshetError } from '../errors.js'
import { MAX_ID_BYTES } from './id.js'
import { originText, readStamp, writeOrigin, writeWord } from './origin.js'
import { MAX_VALUE_BYTES, writeRecordHead } from './record.js'

const ENTRY_VERSION = 1
/** before the id */
export const ENTRY_HEAD_BYTES = 39

const SUM_AT = 1
const ORIGIN_AT = 5
const ORDER_AT = 30
const ID_LENGTH_AT = 38

/**
 * @param {Buffer} target @param {number} offset there must be room for ENTRY_HEAD_BYTES, id and value
 * @param {Buffer} id @param {number} ts @param {number} seq @param {Buffer} value @param {boolean} deleted
 * @param {import('./origin.js').Origin} origin
 * @returns {number} offset after it
 */
export function writeEntry (target, offset, id, ts, seq, value, deleted, { stamp, writer, epoch, sequence }) {
  target[offset] = ENTRY_VERSION
  writeOrigin(target, offset + ORIGIN_AT, stamp, writer, epoch, sequence)
  writeRecordHead(target, offset + ORDER_AT, ts, seq, deleted)
  target[offset + ID_LENGTH_AT] = id.length
  const idAt = offset + ENTRY_HEAD_BYTES
  const valueAt = idAt + id.length
  // for short ids a loop is faster than a call into C++
  for (let i = 0; i < id.length; i++) target[idAt + i] = id[i]
  value.copy(target, valueAt)
  const end = valueAt + value.length
  writeWord(target, offset + SUM_AT, crc32(target.subarray(offset + ORIGIN_AT, end)))
  return end
}

/**
 * @param {Buffer} bytes
 * @returns {import('./segment.js').EntryHead}
 * @throws {FreshetError} SEGMENT_INVALID, SEGMENT_VERSION
 */
export function entryHead (bytes) {
  check(bytes)
  const ts = tsOf(bytes)
  return { count: 1, firstTs: ts, lastTs: ts, stamp: readStamp(bytes, ORIGIN_AT), origin: originText(bytes, ORIGIN_AT) }
}

/**
 * Visits the one version of an entry.
 * @param {Buffer} bytes @param {import('./segment.js').Visit} visit
 * @throws {FreshetError} SEGMENT_INVALID, SEGMENT_VERSION
 */
export function visitEntry (bytes, visit) {
  check(bytes)
  const idEnd = ENTRY_HEAD_BYTES + bytes[ID_LENGTH_AT]
  const flags = bytes[ORDER_AT + 7]
  visit(bytes, ENTRY_HEAD_BYTES, idEnd, tsOf(bytes), bytes[ORDER_AT + 6] << 4 | flags >>> 4, (flags & 1) === 1, idEnd, bytes.length)
}

/** @param {Buffer} bytes */
const tsOf = (bytes) => bytes.readUIntBE(ORDER_AT, 6)

/** @param {Buffer} bytes */
function check (bytes) {
  if (bytes.length <= ENTRY_HEAD_BYTES) {
    throw invalid(`${bytes.length} bytes; an item has more than ${ENTRY_HEAD_BYTES}. Was it written by another program?`)
  }
  if (bytes[0] !== ENTRY_VERSION) {
    throw new FreshetError('SEGMENT_VERSION',
      `an entry of format version ${bytes[0]}; this version of Freshet reads ${ENTRY_VERSION}: use the version that wrote it`,
      { version: bytes[0] })
  }
  if (crc32(bytes.subarray(ORIGIN_AT)) !== bytes.readUInt32BE(SUM_AT)) throw invalid('bytes that do not match their checksum')
  const idBytes = bytes[ID_LENGTH_AT]
  const valueBytes = bytes.length - ENTRY_HEAD_BYTES - idBytes
  if (idBytes < 1 || idBytes > MAX_ID_BYTES || valueBytes < 0 || valueBytes > MAX_VALUE_BYTES) {
    throw invalid(`an impossible item: an id of ${idBytes} bytes and a value of ${valueBytes}`)
  }
}

/** @param {string} received */
const invalid = (received) => new FreshetError('SEGMENT_INVALID', `an entry of ${received}`)
