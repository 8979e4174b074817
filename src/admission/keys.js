/**
 * The keys of a system, such as `auctions`. `@` cannot occur in the name of a feed, and ids come after the hash tag.
 *
 *     fr:{@auctions}:system           number of partitions
 *     fr:{@auctions}:system:rules     versions of its rules: a hash
 *     fr:{@auctions:3}:outbox         events of partition 3: a stream
 *     fr:{@auctions:3}:tasks          scheduled tasks by due time: a sorted set
 *     fr:{@auctions:3}:generation     lineage, number, replication id of their primary, last time, versions of rules: a hash
 *     fr:{@auctions:3}:state:<key>    a hash
 *     fr:{@auctions:3}:events:<key>   a stream, whose entry ids are the sequence numbers
 *     fr:{@auctions:3}:members:<key>  what the rule remembers of users and claims: a hash; :holds:<key> ends of holds: a sorted set
 *     fr:{@auctions:3}:waiting:<key>  the waiting room: users by position, a sorted set
 *     fr:{@auctions:3}:request:<digest>    the decision of an accepted command: a string that expires
 *
 * With several partitions the tag of partition 3 is `{@auctions:3.12}`, so that they spread over the primaries of a cluster
 * (store/slots.js). Systems of format 1 have tags like `{@auctions:3}`.
 */
import { createHmac } from 'node:crypto'
import { spreadTag } from '../store/index.js'

/**
 * Keyed hashes with the secret of a system. Ids are derived from what a client sends: a repeated request names the same thing, and its id
 * cannot be computed from what is known of the client. Masks show the public which events are of the same user, and name none.
 *
 * @typedef {(userId: string) => string} Mask
 */

const ID_CHARS = 22
const MASK_CHARS = 10
const SEPARATOR = '\0'

/** @param {string} secret @param {string} text */
const hashOf = (secret, text) => createHmac('sha256', secret).update(text).digest('base64url')

/** @param {string} secret of the system @param {string[]} parts the first says what the id is of @returns {string} */
export const idWith = (secret, ...parts) => hashOf(secret, parts.join(SEPARATOR)).slice(0, ID_CHARS)

/** @param {string} secret of the system @returns {Mask} */
export const maskWith = (secret) => (userId) => hashOf(secret, userId).slice(0, MASK_CHARS)

/** The format that is stored with several partitions; without one it is 1. */
export const SPREAD_FORMAT = 2

/** @param {string} prefix @param {string} system */
export const systemKey = (prefix, system) => `${prefix}{@${system}}:system`

/** @param {string} prefix @param {string} system */
export const rulesKey = (prefix, system) => `${systemKey(prefix, system)}:rules`

/**
 * @param {string} prefix @param {string} system @param {number} partition
 * @param {number} [spread] partitions that spread; 1 = one, or format 1 @returns {(part: string) => string}
 */
export function admissionKey (prefix, system, partition, spread = 1) {
  const tag = spread > 1 ? spreadTag(`@${system}`, partition, spread) : `@${system}:${partition}`
  return (part) => `${prefix}{${tag}}:${part}`
}

/**
 * The keys of the partitions of a stored system.
 * @param {string} prefix @param {string} system @param {Pick<import('./system.js').System, 'partitions' | 'format'>} stored
 */
export const partitionKeys = (prefix, system, { partitions, format }) => (/** @type {number} */ partition) =>
  admissionKey(prefix, system, partition, format === SPREAD_FORMAT ? partitions : 1)
