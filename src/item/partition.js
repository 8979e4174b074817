/**
 * Which partition an id belongs to: FNV-1a (32 bit) of its bytes, mod the number of partitions.
 * Source: http://www.isthe.com/chongo/tech/comp/fnv/
 * @param {Buffer} id
 * @param {number} partitions
 * @returns {number} 0 <= partition < partitions
 */
export function partitionOf (id, partitions) {
  if (partitions === 1) return 0
  let hash = 0x811c9dc5
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id[i], 0x01000193)
  return (hash >>> 0) % partitions
}
