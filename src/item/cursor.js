/**
 * A cursor is opaque text for a place in the order of one feed.
 *
 *     version 1 | crc32 of feed name and rest, 4 bytes | ts 48 bit, seq 12 bit, 4 bits 0 | id bytes      as base64url
 *
 * The checksum detects cursors that are cut, mistyped or of another feed. It is not a secret: a cursor grants no access. Clients that may
 * see some ids only get cursors that are sealed, because the place may be that of another id.
 *
 * @typedef {object} Cursors of a feed
 * @property {(place: import('./order.js').Place) => string} encode
 * @property {(text: string) => import('./order.js').Place} decode throws CURSOR_INVALID
 * @property {boolean} isSealed
 */
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { FreshetError } from '../errors.js'
import { MAX_ID_BYTES } from './id.js'
import { MAX_TS } from './order.js'
import { readRecord, RECORD_HEAD_BYTES, writeRecordHead } from './record.js'

/**
 * Seals bytes for clients that may see some ids only: they keep them and send them back, and can neither read nor make them.
 *
 *     nonce, 12 bytes | AES-256-GCM of: length, 2 bytes | the bytes | zeros | tag, 16 bytes      as base64url
 *
 * The key comes from a secret of the feed (feeds/definitions.js) and from what it is for: a cursor or a position, of one feed and one
 * filter. So it opens on every reader, and not after the ids of a token were changed.
 */

const CIPHER = 'aes-256-gcm'
/** of a secret, and of a key that is made of it */
export const SECRET_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const LENGTH_BYTES = 2

/** @typedef {ReturnType<typeof createSeal>} Seal */

/** @returns {string} a new secret */
export const newSecret = () => randomBytes(SECRET_BYTES).toString('base64url')

/** Characters of sealed bytes. @param {number} bytes */
export const sealedLength = (bytes) => Math.ceil((NONCE_BYTES + LENGTH_BYTES + bytes + TAG_BYTES) * 4 / 3)

/**
 * @param {string} secret @param {string} about what it is for
 * @param {number} [atLeast] bytes: shorter ones are as long, so that the length of an id does not show
 */
export function createSeal (secret, about, atLeast = 0) {
  const key = createHmac('sha256', secret).update(about).digest()
  return {
    /** @param {string} text base64url @param {number} [bytesAtLeast] as `atLeast` @returns {string} the same */
    seal (text, bytesAtLeast = atLeast) {
      const bytes = Buffer.from(text, 'base64url')
      const plain = Buffer.alloc(LENGTH_BYTES + Math.max(bytes.length, bytesAtLeast))
      bytes.copy(plain, plain.writeUInt16BE(bytes.length))
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, key, nonce)
      return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString('base64url')
    },

    /** @param {string} text @returns {string | null} what was sealed; null: it was not sealed with this key */
    open (text) {
      const bytes = Buffer.from(text, 'base64url')
      if (bytes.length < NONCE_BYTES + LENGTH_BYTES + TAG_BYTES || bytes.toString('base64url') !== text) return null
      const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
      try {
        const plain = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()])
        return plain.subarray(LENGTH_BYTES, LENGTH_BYTES + plain.readUInt16BE(0)).toString('base64url')
      } catch {
        return null
      }
    }
  }
}

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
