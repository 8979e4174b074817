/**
 * Rendezvous hashing with bounded loads: a partition belongs to the process with the highest hash of both names that has not got its share
 * yet. So no process is idle while another has two partitions, and few move when a process comes or goes (Thaler and Ravishankar, 1998;
 * Mirrokni, Thorup and Zadimoghaddam, 2018).
 */
import { createHash } from 'node:crypto'

/** @param {string} id @param {number} partition @returns {number} 0 to 2^32 - 1 */
const weightOf = (id, partition) => createHash('sha1').update(`${id} ${partition}`).digest().readUInt32LE(0)

/**
 * @param {readonly string[]} ids of the processes that live, in any order @param {number} partitions
 * @returns {string[]} the id of the owner of each partition; empty without a process. Shares differ by one at most
 */
export function ownersOf (ids, partitions) {
  if (ids.length === 0) return []
  const share = Math.floor(partitions / ids.length)
  /** processes that may have one more */
  let more = partitions % ids.length
  /** @type {Map<string, number>} */
  const loads = new Map(ids.map((id) => [id, 0]))
  return Array.from({ length: partitions }, (_, partition) => {
    let [best, bestWeight] = ['', -1]
    for (const [id, load] of loads) {
      if (load > share || (load === share && more === 0)) continue
      const weight = weightOf(id, partition)
      if (weight > bestWeight || (weight === bestWeight && id > best)) [best, bestWeight] = [id, weight]
    }
    const load = /** @type {number} */ (loads.get(best))
    if (load === share) more--
    loads.set(best, load + 1)
    return best
  })
}
