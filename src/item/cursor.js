/**
 * A cursor is opaque text for a place in the order of one feed.
 *
 *     version 1 | crc32 of feed name and rest, 4 bytes | ts 48 bit, seq 12 bit, 4 bits 0 | id bytes      as base64url
 *
 * The checksum detects cursors that are cut, mistyped or of another feed. It is not a secret: a cursor grants no access. Clients that may
 * see some ids only get cursors that are sealed (seal.js), because the place may be that of another id.
 *
 * @typedef {object} Cursors of a feed
 * @property {(place: import('./order.js').Place) => string} encode
 * @property {(text: string) => import('./order.js').Place} decode throws CURSOR_INVALID
 * @property {boolean} isSealed
 */
import { crc32 } from 'node:zlib'
import { FreshetError } from '../errors.js'
import { MAX_ID_BYTES } from './id.js'
import { MAX_TS } from './order.js'
import { RECORD_HEAD_BYTES, readRecord, writeRecordHead } from './record.js'
import { createSeal, sealedLength } from './seal.js'

const VERSION = 1
const SUM_AT = 1
const PLACE_AT = 5
const ID_AT = PLACE_AT + RECORD_HEAD_BYTES

/** Characters of so many bytes as base64url. @param {number} bytes */
const base64Length = (bytes) => Math.ceil(bytes * 4 / 3)

/** JSON schema of a cursor. */
export const CURSOR_SCHEMA = Object.freeze({
  type: 'string',
  format: 'cursor',
  minLength: base64Length(ID_AT + 1),
  maxLength: sealedLength(ID_AT + MAX_ID_BYTES),
  pattern: '^[A-Za-z0-9_-]+$',
  description: 'a place in the order of a feed; opaque, to be sent back unchanged'
})
/** A cursor in a query. */
export const CURSOR_FIELD = Object.freeze({
  schema: CURSOR_SCHEMA, expects: 'the text of "next" in an earlier response', code: 'CURSOR_INVALID'
})

/** @param {string} feed @param {import('./order.js').Place} place @returns {string} */
export function encodeCursor (feed, { ts, seq, id }) {
  const bytes = Buffer.alloc(ID_AT + id.length)
  bytes[0] = VERSION
  writeRecordHead(bytes, PLACE_AT, ts, seq)
  id.copy(bytes, ID_AT)
  bytes.writeUInt32BE(checksum(feed, bytes), SUM_AT)
  return bytes.toString('base64url')
}

/**
 * @param {string} feed
 * @param {string} text
 * @returns {import('./order.js').Place}
 * @throws {FreshetError} CURSOR_INVALID
 */
export function decodeCursor (feed, text) {
  const bytes = Buffer.from(text, 'base64url')
  const fits = bytes.length > ID_AT && bytes.length <= ID_AT + MAX_ID_BYTES && bytes[0] === VERSION &&
    bytes.toString('base64url') === text && bytes.readUInt32BE(SUM_AT) === checksum(feed, bytes)
  if (fits) {
    const { ts, seq, value } = readRecord(bytes, bytes.subarray(PLACE_AT))
    if (ts <= MAX_TS) return { ts, seq, id: value }
  }
  throw invalid(feed)
}

/** @param {string} feed */
const invalid = (feed) =>
  new FreshetError('CURSOR_INVALID', `not a cursor of feed ${feed}; expected the "next" of an earlier answer, unchanged`)

/** @param {string} feed @returns {Cursors} */
export const plainCursors = (feed) => ({
  encode: (place) => encodeCursor(feed, place),
  decode: (text) => decodeCursor(feed, text),
  isSealed: false
})

/**
 * Only those that were given to a client with the same ids are valid, so no client chooses where a scan begins.
 * @param {string} feed @param {string} secret of the feed @param {import('./id-filter.js').IdFilter} filter
 * @returns {Cursors}
 */
export function sealedCursors (feed, secret, filter) {
  const { seal, open } = createSeal(secret, `cursor ${feed} ${filter.of}`, ID_AT + MAX_ID_BYTES)
  return {
    encode: (place) => seal(encodeCursor(feed, place)),
    decode (text) {
      const opened = open(text)
      if (opened === null) throw invalid(feed)
      return decodeCursor(feed, opened)
    },
    isSealed: true
  }
}

/** @param {string} feed @param {Buffer} bytes */
const checksum = (feed, bytes) => crc32(bytes.subarray(PLACE_AT), crc32(feed))
