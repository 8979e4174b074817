/**
 * Keyed hashes with the secret of a system. Ids are derived from what a client sends: a repeated request names the same thing, and its id
 * cannot be computed from what is known of the client. Masks show the public which events are of the same user, and name none.
 *
 * @typedef {(userId: string) => string} Mask
 */
import { createHmac } from 'node:crypto'

const ID_CHARS = 22
const MASK_CHARS = 10
const SEPARATOR = '\0'

/** @param {string} secret @param {string} text */
const hashOf = (secret, text) => createHmac('sha256', secret).update(text).digest('base64url')

/** @param {string} secret of the system @param {string[]} parts the first says what the id is of @returns {string} */
export const idWith = (secret, ...parts) => hashOf(secret, parts.join(SEPARATOR)).slice(0, ID_CHARS)

/** @param {string} secret of the system @returns {Mask} */
export const maskWith = (secret) => (userId) => hashOf(secret, userId).slice(0, MASK_CHARS)
