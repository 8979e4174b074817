/**
 * Which versions a node has, of storage that keeps every version, and which it must have. Versions of a writer are numbers
 * from 1 on (src/synthetic.js), so this is a bit a version, however many millions there were.
 *
 *     maxItems 0     every version that was acknowledged
 *     maxItems n     of each partition at least the newest n; what is there goes without a gap up to the last one, and
 *                    whatever n is, the newest version of each id is there. Older ones may be there or not: they were let go
 */
import { partitionOf } from '../item/partition.js'

/**
 * @param {ReturnType<typeof import('./acknowledged.js').createWriter>[]} writers
 * @param {{ partitions: number, maxItems: number }} feed
 */
export function createPresence (writers, { partitions, maxItems }) {
  const bits = writers.map(({ count }) => new Uint8Array((count >> 3) + 1))
  const placed = writers.map(({ ids, nameOf }) => partitions > 1 ? Uint16Array.from({ length: ids }, (_, at) => partitionOf(Buffer.from(nameOf(at)), partitions)) : null)

  return {
    /**
     * @param {number} index of the writer @param {number} number 1 to its count
     * @returns {boolean} false: it was there already
     */
    take (index, number) {
      const of = bits[index]
      const bit = 1 << (number & 7)
      if (of[number >> 3] & bit) return false
      of[number >> 3] |= bit
      return true
    },

    /** @param {(what: 'missing', why: () => string) => void} add @returns {number} how many were let go */
    end (add) {
      const [there, acknowledged, released] = [0, 0, 0].map(() => new Float64Array(partitions))
      writers.forEach(({ count, ids, nameOf }, w) => {
        const hasBegun = new Uint8Array(partitions)
        for (let number = 1; number <= count; number++) {
          const at = (number - 1) % ids
          const partition = placed[w]?.[at] ?? 0
          acknowledged[partition]++
          if (bits[w][number >> 3] & 1 << (number & 7)) {
            hasBegun[partition] = 1
            there[partition]++
          } else if (maxItems === 0 || hasBegun[partition] || number > count - ids) add('missing', () => `${nameOf(at)}, number ${number}, is not there`)
          else released[partition]++
        }
      })
      let letGo = 0
      for (let partition = 0; partition < partitions; partition++) {
        const short = Math.max(0, Math.min(maxItems, acknowledged[partition]) - there[partition])
        const tooMany = Math.min(short, released[partition])
        for (let i = 0; i < tooMany; i++) add('missing', () => `partition ${partition} has ${there[partition]} versions; expected the newest ${maxItems} at least`)
        letGo += released[partition] - tooMany
      }
      return letGo
    }
  }
}
