/**
 * The origin of a log entry: its writer and its sequence number. Two entries of one origin are the same batch, sent twice
 * because its outcome was unknown; they count once.
 *
 *     0       7        15      19         25
 *     +-------+--------+-------+----------+
 *     | stamp | writer | epoch | sequence |
 *     | 56 bit| 8 bytes| 32 bit| 48 bit   |
 *     +-------+--------+-------+----------+
 *     big-endian; stamp: microseconds since 1970 of the first append; writer: hash of a name unique to one opening of the feed;
 *     epoch: rises with every opening, unless a failover lost one; sequence: rises with every entry of a writer
 *
 * @typedef {{ stamp: number, writer: Buffer, epoch: number, sequence: number }} Origin
 */

export const ORIGIN_BYTES = 25
export const WRITER_BYTES = 8
const STAMP_BYTES = 7
const EPOCH_BYTES = 4
const HIGH = 0x100000000

/**
 * @param {Buffer} target @param {number} offset
 * @param {number} stamp below 2^53 @param {Buffer} writer 8 bytes @param {number} epoch below 2^32 @param {number} sequence below 2^48
 * @returns {number} offset after it
 */
export function writeOrigin (target, offset, stamp, writer, epoch, sequence) {
  // by hand: see record.js
  const stampHigh = Math.floor(stamp / HIGH)
  target[offset] = stampHigh >>> 16
  target[offset + 1] = stampHigh >>> 8
  target[offset + 2] = stampHigh
  writeWord(target, offset + 3, stamp)
  for (let i = 0; i < WRITER_BYTES; i++) target[offset + 7 + i] = writer[i]
  writeWord(target, offset + 15, epoch)
  const sequenceHigh = Math.floor(sequence / HIGH)
  target[offset + 19] = sequenceHigh >>> 8
  target[offset + 20] = sequenceHigh
  writeWord(target, offset + 21, sequence)
  return offset + ORIGIN_BYTES
}

/** The lowest 32 bits. @param {Buffer} target @param {number} offset @param {number} word */
export function writeWord (target, offset, word) {
  target[offset] = word >>> 24
  target[offset + 1] = word >>> 16
  target[offset + 2] = word >>> 8
  target[offset + 3] = word
}

/** @param {Buffer} bytes @param {number} offset @returns {number} the stamp */
export const readStamp = (bytes, offset) => bytes.readUIntBE(offset, 3) * HIGH + bytes.readUInt32BE(offset + 3)

/**
 * Identifies an origin: writer, epoch and sequence as latin1, without the stamp. Texts of one writer compare in the order of
 * its entries.
 * @param {Buffer} bytes @param {number} offset where the origin begins
 * @returns {string}
 */
export const originText = (bytes, offset) => bytes.toString('latin1', offset + STAMP_BYTES, offset + ORIGIN_BYTES)

/** part of an origin's text before its sequence: the same for all entries of an epoch */
export const WRITER_TEXT_LENGTH = WRITER_BYTES + EPOCH_BYTES

/** @param {string} text of an origin @returns {number} */
export function sequenceOf (text) {
  let high = 0
  let low = 0
  for (let i = 0; i < 2; i++) high = high * 256 + text.charCodeAt(WRITER_TEXT_LENGTH + i)
  for (let i = 2; i < 6; i++) low = low * 256 + text.charCodeAt(WRITER_TEXT_LENGTH + i)
  return high * HIGH + low
}
