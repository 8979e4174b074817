/**
 * Which versions a node has, for storage that keeps every version, and which it must have. Versions of a writer are numbered
 * from 1 (src/synthetic.js), so one bit for each is enough.
 *
 *     maxItems 0     every acknowledged version
 *     maxItems n     at least the newest n of each partition, without a gap from the first one present to the last, and the
 *                    newest version of each id. Older ones may be present or dropped
 */
import { partitionOf } from '../../src/item/index.js'

/**
 * @param {ReturnType<typeof import('./acknowledged.js').createWriter>[]} writers
 * @param {{ partitions: number, maxItems: number }} feed
 */
export function createPresence (writers, { partitions, maxItems }) {
  const bits = writers.map(({ count }) => new Uint8Array((count >> 3) + 1))
  const placed = writers.map(({ ids, nameOf }) =>
    partitions > 1 ? Uint16Array.from({ length: ids }, (_, at) => partitionOf(Buffer.from(nameOf(at)), partitions)) : null)

  return {
    /**
     * @param {number} index of the writer @param {number} number 1 to its count
     * @returns {boolean} false: a duplicate
     */
    take (index, number) {
      const of = bits[index]
      const bit = 1 << (number & 7)
      if (of[number >> 3] & bit) return false
      of[number >> 3] |= bit
      return true
    },

    /** @param {(what: 'missing', why: () => string) => void} add @returns {number} how many were dropped */
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
          } else if (maxItems === 0 || hasBegun[partition] || number > count - ids) {
            add('missing', () => `${nameOf(at)}, number ${number}, is missing`)
          } else released[partition]++
        }
      })
      let dropped = 0
      for (let partition = 0; partition < partitions; partition++) {
        const short = Math.max(0, Math.min(maxItems, acknowledged[partition]) - there[partition])
        const tooMany = Math.min(short, released[partition])
        for (let i = 0; i < tooMany; i++) {
          add('missing', () => `partition ${partition} has ${there[partition]} versions; expected at least the newest ${maxItems}`)
        }
        dropped += released[partition] - tooMany
      }
      return dropped
    }
  }
}
