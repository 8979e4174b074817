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
function createPresence (writers, { partitions, maxItems }) {
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

/**
 * The same, for versions as they are read: one that was not acknowledged, or is there too often, is foreign. Where values do not tell
 * versions of an id apart, those that are there are its newest.
 * @param {Parameters<typeof createPresence>[0]} writers
 * @param {ReturnType<typeof import('./sums.js').createSums>} sums
 * @param {{ isNumbered: boolean, tells: boolean, isNewestFirst?: boolean, partitions: number, maxItems: number }} feed `isNumbered`,
 *   `tells`: as in ledger.js; `isNewestFirst`: the order in which they are read
 */
export function createVersions (writers, sums, { isNumbered, tells, isNewestFirst = false, ...feed }) {
  const presence = createPresence(writers, feed)
  const found = tells ? [] : writers.map(({ ids }) => new Uint32Array(ids))
  return {
    /**
     * @param {typeof writers[0]} writer @param {number} at index of the id @param {number} number in the value
     * @returns {number} of the version, 0 = does not count
     */
    take ({ index, ids, count, nameOf, newest }, at, number) {
      if (isNumbered && (tells ? number < 1 || number > count || (number - 1) % ids !== at : number !== at + 1)) {
        sums.add('foreign', () => `${nameOf(at)} holds number ${number}, which was never acknowledged for it`)
        return 0
      }
      if (!tells) {
        const nth = ids * found[index][at]++
        const version = isNewestFirst ? newest(at) - nth : at + 1 + nth
        if (version >= 1 && version <= newest(at)) return version
      } else if (presence.take(index, number)) return number
      sums.add('foreign', () => `${nameOf(at)}, number ${number}, is there twice`)
      return 0
    },

    /** @returns {number} how many were dropped */
    end () {
      found.forEach((of, w) => of.forEach((there, at) => {
        const { index, ids, newest } = writers[w]
        for (let number = newest(at), n = 0; n < there && number > 0; n++, number -= ids) presence.take(index, number)
      }))
      return presence.end((what, why) => sums.add(what, why))
    }
  }
}
