/**
 * Ids that are derived from what a client sends, by a keyed hash with the secret of the system: a repeated request names the same thing,
 * and its id cannot be computed from what is known of the client.
 */
import { createHmac } from 'node:crypto'

const CHARS = 22
const SEPARATOR = '\0'

/** @param {string} secret of the system @param {string[]} parts the first says what the id is of @returns {string} */
export const idWith = (secret, ...parts) =>
  createHmac('sha256', secret).update(parts.join(SEPARATOR)).digest('base64url').slice(0, CHARS)
