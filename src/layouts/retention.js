/** What is live in a partition, and the expiry of its keys. */
import { MAX_ID_BYTES } from '../item/index.js'

/** Versions before it are not live. @param {import('./index.js').Retention} retention @param {number} nowMs @returns {number} ms */
export const windowStart = ({ windowMs }, nowMs) => windowMs ? nowMs - windowMs : 0

/** @param {number} count @param {import('./index.js').Retention} retention @returns {number} the count, at most maxItems */
export const atMost = (count, { maxItems }) => maxItems ? Math.min(count, maxItems) : count

/**
 * @param {string | Buffer} key @param {{ ttlMs: number, condition: 'GT' | 'NX' }} expiry as of Layout.extend
 * @returns {(string | Buffer | number)[]} the command that sets it
 */
export const expiryCommand = (key, { ttlMs, condition }) => ttlMs ? ['PEXPIRE', key, ttlMs, condition] : ['PERSIST', key]

/**
 * The floor of a set that is full and trimmed: nothing below its oldest member is live, although nothing is stored there. A view
 * may still hold what was.
 * @param {import('../item/index.js').OrderKey} oldest
 * @returns {import('../item/index.js').OrderKey} the order key just below it
 */
export const justBelow = ({ ts, seq, id }) => ({ ts, seq, id: bytesBelow(id) })

/** Above every lower id: an id is UTF-8 without control characters, so none has a byte 255 or ends in 0. @param {Buffer} id */
const bytesBelow = (id) =>
  Buffer.concat([id.subarray(0, -1), Buffer.from([id[id.length - 1] - 1, 255])]).subarray(0, MAX_ID_BYTES)
