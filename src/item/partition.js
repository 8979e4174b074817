/**
 * The partition of an id: FNV-1a (32 bit) of its bytes, mod the number of partitions.
 * Source: http://www.isthe.com/chongo/tech/comp/fnv/
 *
 * A writer spreads ids over stripes (connections) by the same hash; a bucket is a partition on a stripe.
 */

/** @param {Buffer} id */
function hashOf (id) {
  let hash = 0x811c9dc5
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id[i], 0x01000193)
  return hash >>> 0
}

/**
 * @param {Buffer} id
 * @param {number} partitions
 * @returns {number} 0 <= partition < partitions
 */
export const partitionOf = (id, partitions) => partitions === 1 ? 0 : hashOf(id) % partitions

/**
 * @param {Buffer} id
 * @param {number} partitions
 * @param {number} stripes
 * @returns {number} stripe * partitions + partition
 */
export function bucketOf (id, partitions, stripes) {
  if (stripes === 1) return partitionOf(id, partitions)
  const hash = hashOf(id)
  // not hash % stripes: with as many partitions, each would use one stripe only
  return Math.floor(hash / partitions) % stripes * partitions + hash % partitions
}
