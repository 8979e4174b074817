/**
 * A segment: a batch of versions as one byte string, an entry of layout `segments`.
 *
 *     0       3         4          8          12       13      14      18      22         28        34       59
 *     +-------+---------+----------+----------+--------+-------+-------+-------+----------+---------+--------+-------
 *     | "FSG" | format  | checksum | checksum | method | flags | count | bytes | first ts | last ts | origin | items
 *     |       | version | of head  | of items | 8 bit  | 8 bit | 32 bit| 32 bit| 48 bit   | 48 bit  | 25     |
 *     +-------+---------+----------+----------+--------+-------+-------+-------+----------+---------+--------+-------
 *     big-endian; format version 1; checksums: crc32, of the head over bytes 8 to 58, of the items as stored; method: compression
 *     of the items, 0 = none, 1 = brotli, all items as one stream, 2 = items without values; flags: none yet; bytes: size of the
 *     items, uncompressed; first and last ts: minimum and maximum; origin: item/origin.js
 *
 * An item, in order of append, uncompressed:
 *
 *     0            8           9            12
 *     +------------+-----------+--------------+----+-------
 *     | order and  | id length | value length | id | value
 *     | flags      | 8 bit     | 24 bit       |    |
 *     +------------+-----------+--------------+----+-------
 *     order and flags: item/record.js; flag bit 0: this version is a deletion and has no value
 *
 * An item without a value, in a log of arrivals (layouts/arrivals.js):
 *
 *     0            8           9
 *     +------------+-----------+----
 *     | order and  | id length | id
 *     | flags      | 8 bit     |
 *     +------------+-----------+----
 *
 * All items of a segment share one stamp: of two versions that compare equal, the later one in the segment is newer.
 *
 * A reader checks the whole segment before it uses any item, because another process, perhaps of another version, wrote it.
 * An unreadable segment is skipped as a whole.
 */
import { brotliCompressSync, brotliDecompressSync, constants, crc32 } from 'node:zlib'
import { FreshetError } from '../errors.js'
import { MAX_ID_BYTES } from './id.js'
import { originText, readStamp, writeOrigin, writeWord } from './origin.js'
import { MAX_VALUE_BYTES, writeRecordHead } from './record.js'

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

const ENTRY_VERSION = 1
/** before the id */
export const ENTRY_HEAD_BYTES = 39

const SUM_AT = 1
const ENTRY_ORIGIN_AT = 5
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
  writeOrigin(target, offset + ENTRY_ORIGIN_AT, stamp, writer, epoch, sequence)
  writeRecordHead(target, offset + ORDER_AT, ts, seq, deleted)
  target[offset + ID_LENGTH_AT] = id.length
  const idAt = offset + ENTRY_HEAD_BYTES
  const valueAt = idAt + id.length
  // for short ids a loop is faster than a call into C++
  for (let i = 0; i < id.length; i++) target[idAt + i] = id[i]
  value.copy(target, valueAt)
  const end = valueAt + value.length
  writeWord(target, offset + SUM_AT, crc32(target.subarray(offset + ENTRY_ORIGIN_AT, end)))
  return end
}

/**
 * @param {Buffer} bytes
 * @returns {EntryHead}
 * @throws {FreshetError} SEGMENT_INVALID, SEGMENT_VERSION
 */
export function entryHead (bytes) {
  check(bytes)
  const ts = tsOf(bytes)
  return { count: 1, firstTs: ts, lastTs: ts, stamp: readStamp(bytes, ENTRY_ORIGIN_AT), origin: originText(bytes, ENTRY_ORIGIN_AT) }
}

/**
 * Visits the one version of an entry.
 * @param {Buffer} bytes @param {Visit} visit
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
    throw invalidEntry(`${bytes.length} bytes; an item has more than ${ENTRY_HEAD_BYTES}. Was it written by another program?`)
  }
  if (bytes[0] !== ENTRY_VERSION) {
    throw new FreshetError('SEGMENT_VERSION',
      `an entry of format version ${bytes[0]}; this version of Freshet reads ${ENTRY_VERSION}: use the version that wrote it`,
      { version: bytes[0] })
  }
  if (crc32(bytes.subarray(ENTRY_ORIGIN_AT)) !== bytes.readUInt32BE(SUM_AT)) throw invalidEntry('bytes that do not match their checksum')
  const idBytes = bytes[ID_LENGTH_AT]
  const valueBytes = bytes.length - ENTRY_HEAD_BYTES - idBytes
  if (idBytes < 1 || idBytes > MAX_ID_BYTES || valueBytes < 0 || valueBytes > MAX_VALUE_BYTES) {
    throw invalidEntry(`an impossible item: an id of ${idBytes} bytes and a value of ${valueBytes}`)
  }
}

/** @param {string} received */
const invalidEntry = (received) => new FreshetError('SEGMENT_INVALID', `an entry of ${received}`)

export const SEGMENT_VERSION = 1
export const SEGMENT_HEAD_BYTES = 59
/** of an item, before its id */
export const ITEM_HEAD_BYTES = 12

const MAGIC = Buffer.from('FSG')
/** by number @type {Readonly<Record<'none' | 'brotli' | 'arrivals', number>>} */
export const METHODS = Object.freeze({ none: 0, brotli: 1, arrivals: 2 })
const KNOWN_METHODS = Object.freeze(Object.values(METHODS))
/** of an item without a value, before its id */
export const ARRIVAL_HEAD_BYTES = 9
const HEAD_SUM_AT = 4
const ITEMS_SUM_AT = 8
const METHOD_AT = 12
const COUNT_AT = 14
const BYTES_AT = 18
const FIRST_TS_AT = 22
const LAST_TS_AT = 28
const ORIGIN_AT = 34
/** of the items of one segment; the server's limit of a value */
const MAX_ITEMS_BYTES = 512 * 1024 * 1024
/** the fastest, because it runs in the event loop of the writer */
const BROTLI_QUALITY = 0
/** below it a loop is faster than a call into C++ */
const SHORT_BYTES = 32

/** @typedef {{ count: number, firstTs: number, lastTs: number, stamp: number, origin: string }} EntryHead `origin`: equal = a duplicate */
/**
 * @typedef {(bytes: Buffer, idAt: number, idEnd: number, ts: number, seq: number, deleted: boolean, valueAt: number,
 *   valueEnd: number) => void} Visit
 *   of a version: where its id and its value lie in `bytes`, which are valid during the call
 */

/**
 * Writes an item. There must be room for ITEM_HEAD_BYTES, id and value.
 * @param {Buffer} target @param {number} offset
 * @param {Buffer} id @param {number} ts @param {number} seq @param {Buffer} value @param {boolean} deleted
 * @returns {number} offset after it
 */
export function writeItem (target, offset, id, ts, seq, value, deleted) {
  let at = writeRecordHead(target, offset, ts, seq, deleted)
  const idBytes = id.length
  const valueBytes = value.length
  target[at++] = idBytes
  target[at++] = valueBytes >>> 16
  target[at++] = valueBytes >>> 8
  target[at++] = valueBytes
  for (let i = 0; i < idBytes; i++) target[at + i] = id[i]
  at += idBytes
  if (valueBytes < SHORT_BYTES) for (let i = 0; i < valueBytes; i++) target[at + i] = value[i]
  else value.copy(target, at)
  return at + valueBytes
}

/**
 * Writes an item without its value. There must be room for ARRIVAL_HEAD_BYTES and id.
 * @param {Buffer} target @param {number} offset
 * @param {Buffer} id @param {number} ts @param {number} seq @param {boolean} deleted
 * @returns {number} offset after it
 */
export function writeArrival (target, offset, id, ts, seq, deleted) {
  let at = writeRecordHead(target, offset, ts, seq, deleted)
  target[at++] = id.length
  for (let i = 0; i < id.length; i++) target[at + i] = id[i]
  return at + id.length
}

/**
 * Compresses the items of a segment in place, if that makes them smaller.
 * @param {Buffer} target @param {number} itemsAt @param {number} end after the last item
 * @returns {{ end: number, method: number }} the new end
 */
export function packItems (target, itemsAt, end) {
  const packed = brotliCompressSync(target.subarray(itemsAt, end), {
    params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY, [constants.BROTLI_PARAM_SIZE_HINT]: end - itemsAt }
  })
  if (packed.length >= end - itemsAt) return { end, method: METHODS.none }
  packed.copy(target, itemsAt)
  return { end: itemsAt + packed.length, method: METHODS.brotli }
}

/**
 * Writes the head before the items, which are written already.
 * @param {Buffer} target @param {number} offset where the segment begins @param {number} end after its last item
 * @param {{ count: number, firstTs: number, lastTs: number, method?: number, itemsBytes?: number } & import('./origin.js').Origin} head
 *   `itemsBytes`: of the items, uncompressed
 */
export function writeSegmentHead (target, offset, end,
  { count, firstTs, lastTs, stamp, writer, epoch, sequence, method = METHODS.none, itemsBytes = end - offset - SEGMENT_HEAD_BYTES }) {
  const itemsAt = offset + SEGMENT_HEAD_BYTES
  MAGIC.copy(target, offset)
  target[offset + MAGIC.length] = SEGMENT_VERSION
  writeWord(target, offset + ITEMS_SUM_AT, crc32(target.subarray(itemsAt, end)))
  target[offset + METHOD_AT] = method
  target[offset + METHOD_AT + 1] = 0
  writeWord(target, offset + COUNT_AT, count)
  writeWord(target, offset + BYTES_AT, itemsBytes)
  target.writeUIntBE(firstTs, offset + FIRST_TS_AT, 6)
  target.writeUIntBE(lastTs, offset + LAST_TS_AT, 6)
  writeOrigin(target, offset + ORIGIN_AT, stamp, writer, epoch, sequence)
  writeWord(target, offset + HEAD_SUM_AT, crc32(target.subarray(offset + ITEMS_SUM_AT, itemsAt)))
}

/**
 * Reads the head of a segment. `eachVersion` checks its items.
 * @param {Buffer} bytes
 * @returns {EntryHead}
 * @throws {FreshetError} SEGMENT_INVALID, SEGMENT_VERSION
 */
export function segmentHead (bytes) {
  checkHead(bytes)
  return {
    count: bytes.readUInt32BE(COUNT_AT),
    firstTs: bytes.readUIntBE(FIRST_TS_AT, 6),
    lastTs: bytes.readUIntBE(LAST_TS_AT, 6),
    stamp: readStamp(bytes, ORIGIN_AT),
    origin: originText(bytes, ORIGIN_AT)
  }
}

/** @param {Buffer} bytes @throws {FreshetError} SEGMENT_INVALID, SEGMENT_VERSION */
function checkHead (bytes) {
  if (bytes.length < SEGMENT_HEAD_BYTES) throw invalid(`${bytes.length} bytes; a segment has at least ${SEGMENT_HEAD_BYTES}`)
  if (MAGIC.compare(bytes, 0, MAGIC.length) !== 0) throw invalid('bytes without the head of a segment; was it written by another program?')
  const version = bytes[MAGIC.length]
  if (version !== SEGMENT_VERSION) {
    throw new FreshetError('SEGMENT_VERSION',
      `a segment of format version ${version}; this version of Freshet reads ${SEGMENT_VERSION}: use the version that wrote it`,
      { version })
  }
  if (crc32(bytes.subarray(ITEMS_SUM_AT, SEGMENT_HEAD_BYTES)) !== bytes.readUInt32BE(HEAD_SUM_AT)) {
    throw invalid('a head that does not match its checksum')
  }
  const method = bytes[METHOD_AT]
  if (!KNOWN_METHODS.includes(method)) {
    throw new FreshetError('SEGMENT_VERSION', `a segment compressed by method ${method}; this version of Freshet reads ${METHODS.none} ` +
      `(not compressed), ${METHODS.brotli} (brotli) and ${METHODS.arrivals} (without values): use the version that wrote it`, { method })
  }
  if (method !== METHODS.brotli && bytes.length !== SEGMENT_HEAD_BYTES + bytes.readUInt32BE(BYTES_AT)) {
    throw invalid(`${bytes.length - SEGMENT_HEAD_BYTES} bytes of items; its head says ${bytes.readUInt32BE(BYTES_AT)}`)
  }
}

/**
 * Visits the versions of a segment in order of append, if the whole segment is valid.
 * @param {Buffer} bytes
 * @param {Visit} visit
 * @throws {FreshetError} SEGMENT_INVALID, SEGMENT_VERSION, before the first visit
 */
export function eachVersion (bytes, visit) {
  checkHead(bytes)
  if (crc32(bytes.subarray(SEGMENT_HEAD_BYTES)) !== bytes.readUInt32BE(ITEMS_SUM_AT)) {
    throw invalid('items that do not match their checksum')
  }
  const isPacked = bytes[METHOD_AT] === METHODS.brotli
  const hasValues = bytes[METHOD_AT] !== METHODS.arrivals
  const items = isPacked ? unpacked(bytes) : bytes
  const itemsAt = isPacked ? 0 : SEGMENT_HEAD_BYTES
  checkItems(items, itemsAt, {
    count: bytes.readUInt32BE(COUNT_AT), firstTs: bytes.readUIntBE(FIRST_TS_AT, 6), lastTs: bytes.readUIntBE(LAST_TS_AT, 6), hasValues
  })
  for (let at = itemsAt; at < items.length;) {
    const idAt = at + (hasValues ? ITEM_HEAD_BYTES : ARRIVAL_HEAD_BYTES)
    const idEnd = idAt + items[at + 8]
    const valueEnd = idEnd + (hasValues ? items[at + 9] << 16 | items[at + 10] << 8 | items[at + 11] : 0)
    visit(items, idAt, idEnd, tsAt(items, at), items[at + 6] << 4 | items[at + 7] >>> 4, (items[at + 7] & 1) === 1, idEnd, valueEnd)
    at = valueEnd
  }
}

/** Decompresses the items of a segment. @param {Buffer} bytes @returns {Buffer} */
function unpacked (bytes) {
  const itemsBytes = bytes.readUInt32BE(BYTES_AT)
  if (itemsBytes > MAX_ITEMS_BYTES) throw invalid(`${itemsBytes} bytes of items; expected at most ${MAX_ITEMS_BYTES}`)
  let items
  try {
    items = brotliDecompressSync(bytes.subarray(SEGMENT_HEAD_BYTES), { maxOutputLength: Math.max(1, itemsBytes) })
  } catch (error) {
    throw invalid(`items that cannot be decompressed: ${error.message}`)
  }
  if (items.length !== itemsBytes) throw invalid(`${items.length} bytes of items; its head says ${itemsBytes}`)
  return items
}

/** @param {Buffer} bytes @param {number} at */
const tsAt = (bytes, at) =>
  (bytes[at] << 8 | bytes[at + 1]) * 0x100000000 + ((bytes[at + 2] << 24 | bytes[at + 3] << 16 | bytes[at + 4] << 8 | bytes[at + 5]) >>> 0)

/**
 * A valid checksum does not exclude a faulty writer.
 * @param {Buffer} bytes
 * @param {number} at
 * @param {{ count: number, firstTs: number, lastTs: number, hasValues: boolean }} head
 */
function checkItems (bytes, at, { count, firstTs, lastTs, hasValues }) {
  const headBytes = hasValues ? ITEM_HEAD_BYTES : ARRIVAL_HEAD_BYTES
  let itemCount = 0
  while (at < bytes.length) {
    const idBytes = bytes[at + 8]
    const valueBytes = hasValues ? bytes[at + 9] << 16 | bytes[at + 10] << 8 | bytes[at + 11] : 0
    const ts = tsAt(bytes, at)
    // past the end the bytes are undefined, and every comparison is false
    const fits = idBytes >= 1 && idBytes <= MAX_ID_BYTES && valueBytes <= MAX_VALUE_BYTES && ts >= firstTs && ts <= lastTs
    at += headBytes + idBytes + valueBytes
    itemCount++
    if (!fits || at > bytes.length) throw invalid(`an impossible item, number ${itemCount}`)
  }
  if (itemCount !== count || itemCount === 0) throw invalid(`${itemCount} items; its head says ${count}`)
}

/** @param {string} received */
const invalid = (received) => new FreshetError('SEGMENT_INVALID', `a segment of ${received}`)

/** Encoded size of an item. @param {Buffer} id @param {Buffer} value */
export const itemBytes = (id, value) => ITEM_HEAD_BYTES + id.length + value.length
