/**
 * The keys of a system, such as `auctions`. `@` cannot occur in the name of a feed, and ids come after the hash tag.
 *
 *     fr:{@auctions}:system           number of partitions
 *     fr:{@auctions:3}:outbox         events of partition 3: a stream
 *     fr:{@auctions:3}:tasks          scheduled tasks by due time: a sorted set
 *     fr:{@auctions:3}:generation     lineage, number, replication id of their primary, last time: a hash
 *     fr:{@auctions:3}:state:<key>    a hash
 *     fr:{@auctions:3}:events:<key>   a stream, whose entry ids are the sequence numbers
 *     fr:{@auctions:3}:members:<key>  what the rule remembers of users and claims: a hash; :holds:<key> ends of holds: a sorted set
 *     fr:{@auctions:3}:waiting:<key>  the waiting room: users by place, a sorted set
 *     fr:{@auctions:3}:request:<digest>    the decision of an accepted command: a string that expires
 */

/** @param {string} prefix @param {string} system */
export const systemKey = (prefix, system) => `${prefix}{@${system}}:system`

/** @param {string} prefix @param {string} system @param {number} partition @returns {(part: string) => string} */
export const admissionKey = (prefix, system, partition) => (part) => `${prefix}{@${system}:${partition}}:${part}`
