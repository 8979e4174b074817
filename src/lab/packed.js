/**
 * Segments whose items are compressed, for question 019. The head stays as it is (item/segment.js); behind it
 * stand the items, by a method of node's zlib at its quickest. The format of segments has a byte for a
 * method and knows none but `none`: whether it should is the question.
 */
import { brotliCompressSync, brotliDecompressSync, constants, deflateRawSync, inflateRawSync } from 'node:zlib'
import { FreshetError } from '../errors.js'
import { SEGMENT_HEAD_BYTES, eachVersion, segmentHead } from '../item/segment.js'

/** of the items of one segment; what claims to be more is none of ours */
const MOST_BYTES = 256 * 1024 * 1024

/** @typedef {'plain' | 'deflate' | 'brotli'} Method */

/** @type {Readonly<Record<Method, { pack: (items: Buffer) => Buffer, unpack: (bytes: Buffer) => Buffer }>>} */
const METHODS = Object.freeze({
  plain: { pack: (items) => items, unpack: (bytes) => bytes },
  deflate: {
    pack: (items) => deflateRawSync(items, { level: 1 }),
    unpack: (bytes) => inflateRawSync(bytes, { maxOutputLength: MOST_BYTES })
  },
  brotli: {
    pack: (items) => brotliCompressSync(items, { params: { [constants.BROTLI_PARAM_QUALITY]: 0, [constants.BROTLI_PARAM_SIZE_HINT]: items.length } }),
    unpack: (bytes) => brotliDecompressSync(bytes, { maxOutputLength: MOST_BYTES })
  }
})
export const METHOD_NAMES = /** @type {Method[]} */ (Object.keys(METHODS))

/** @param {Method} method @param {Buffer} segment @returns {Buffer} */
export const packed = (method, segment) =>
  Buffer.concat([segment.subarray(0, SEGMENT_HEAD_BYTES), METHODS[method].pack(segment.subarray(SEGMENT_HEAD_BYTES))])

/**
 * @param {Method} method @param {Buffer} bytes
 * @returns {Buffer} the segment
 * @throws {FreshetError} SEGMENT_INVALID
 */
export function unpacked (method, bytes) {
  try {
    return Buffer.concat([bytes.subarray(0, SEGMENT_HEAD_BYTES), METHODS[method].unpack(bytes.subarray(SEGMENT_HEAD_BYTES))])
  } catch (error) {
    throw new FreshetError('SEGMENT_INVALID', `a segment that ${method} cannot unpack: ${error.message}`)
  }
}

/** How an entry is read. @param {Method} method @returns {Pick<import('./log-inventory.js').Log, 'head' | 'each'>} */
export const decoderFor = (method) => ({
  head: (bytes) => segmentHead(unpacked(method, bytes)),
  each: (bytes, visit) => eachVersion(unpacked(method, bytes), visit)
})
