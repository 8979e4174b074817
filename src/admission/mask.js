/**
 * User ids as the public sees them: by a keyed hash, so that users can be distinguished and none is named.
 *
 * @typedef {(userId: string) => string} Mask
 */
import { createHmac } from 'node:crypto'

const MASK_CHARS = 10

/** @param {string} secret of the system @returns {Mask} */
export const maskWith = (secret) => (userId) => createHmac('sha256', secret).update(userId).digest('base64url').slice(0, MASK_CHARS)
