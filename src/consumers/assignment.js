/**
 * Rendezvous hashing: each partition belongs to the process with the highest hash of both names. When a process comes or goes, only its
 * partitions move (Thaler and Ravishankar, 1998).
 */
import { createHash } from 'node:crypto'

/** @param {string} id @param {number} partition @returns {number} 0 to 2^32 - 1 */
const weightOf = (id, partition) => createHash('sha1').update(`${id} ${partition}`).digest().readUInt32LE(0)

/**
 * @param {readonly string[]} ids of the processes that live @param {number} partition
 * @returns {string | undefined} the id of its owner
 */
export function ownerOf (ids, partition) {
  /** @type {{ id: string | undefined, weight: number }} */
  let best = { id: undefined, weight: -1 }
  for (const id of ids) {
    const weight = weightOf(id, partition)
    if (weight > best.weight || (weight === best.weight && id > /** @type {string} */ (best.id))) best = { id, weight }
  }
  return best.id
}
