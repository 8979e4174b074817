/**
 * Seals bytes for clients that may see some ids only: they keep them and send them back, and can neither read nor make them.
 *
 *     nonce, 12 bytes | AES-256-GCM of: length, 2 bytes | the bytes | zeros | tag, 16 bytes      as base64url
 *
 * The key comes from a secret of the feed (feeds/definitions.js) and from what it is for: a cursor or a position, of one feed and one
 * filter. So it opens on every reader, and not after the ids of a token were changed.
 */
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const LENGTH_BYTES = 2

/** @typedef {ReturnType<typeof createSeal>} Seal */

/** @returns {string} a new secret */
export const newSecret = () => randomBytes(KEY_BYTES).toString('base64url')

/** Characters of sealed bytes. @param {number} bytes */
export const sealedLength = (bytes) => Math.ceil((NONCE_BYTES + LENGTH_BYTES + bytes + TAG_BYTES) * 4 / 3)

/**
 * @param {string} secret @param {string} about what it is for
 * @param {number} [atLeast] bytes: shorter ones are as long, so that the length of an id does not show
 */
export function createSeal (secret, about, atLeast = 0) {
  const key = createHmac('sha256', secret).update(about).digest()
  return {
    /** @param {string} text base64url @returns {string} the same */
    seal (text) {
      const bytes = Buffer.from(text, 'base64url')
      const plain = Buffer.alloc(LENGTH_BYTES + Math.max(bytes.length, atLeast))
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
