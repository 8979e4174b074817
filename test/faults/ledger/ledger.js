/**
 * What a writer intended, what was acknowledged to it, and what a server holds in the end: one bit an item each, kept
 * outside the writer's process, so that neither its death nor its mistakes reach the ledger.
 *
 *     item n    0  1  2  3  4  5 ...
 *     intent    1  1  1  1  1  0      recorded before the item is appended
 *     acked     1  1  1  0  0  0      recorded when the pipeline acknowledges it
 *     there     1  1  0  1  0  0      read from the server
 *                     ^  ^ may be     acked and not there is lost
 *
 * In a run with few ids, item n is a version of id n mod `ids`. Where a layout keeps the newest version only, an older
 * one that is not there is no loss; an id whose version is older than the newest acknowledged one is.
 *
 * @typedef {ReturnType<typeof createLedger>} Ledger
 * @typedef {{ id: number, n: number }} Found a version on the server
 * @typedef {{ intended: number, acknowledged: number, there: number, lost: number, doubled: number, foreign: number,
 *   examples: string[] }} Sums
 */

/** writer w of a run takes the numbers from w * SPAN on */
export const SPAN = 2_000_000
const EXAMPLES = 5

export function createLedger () {
  const intent = createBits()
  const acked = createBits()

  return {
    intend: intent.add,
    acknowledge: acked.add,
    get intended () { return intent.count },
    get acknowledged () { return acked.count },

    /**
     * @param {Iterable<Found>} found every version on the server
     * @param {{ ids?: number, keepsAll?: boolean }} [run] `ids` 0 = every item has an id of its own; `keepsAll`: every
     *   version of an id has to be there, not only the newest
     * @returns {Sums}
     */
    compare (found, { ids = 0, keepsAll = ids === 0 } = {}) {
      const there = createBits()
      const sums = {
        intended: intent.count, acknowledged: acked.count, there: 0, lost: 0, doubled: 0, foreign: 0, examples: /** @type {string[]} */ ([])
      }
      /** @param {'lost' | 'doubled' | 'foreign'} what @param {number} n */
      const count = (what, n) => { if (++sums[what] <= EXAMPLES) sums.examples.push(`${what} ${n}`) }
      for (const { id, n } of found) {
        sums.there++
        if (!intent.has(n) || id !== (ids ? n % ids : n)) count('foreign', n)
        else if (there.has(n)) count('doubled', n)
        else there.add(n, n + 1)
      }
      if (keepsAll) {
        for (let n = 0; n < acked.end; n++) if (acked.has(n) && !there.has(n)) count('lost', n)
      } else {
        for (let id = 0; id < ids; id++) {
          const newest = acked.newest(id, ids)
          if (newest !== null && (there.newest(id, ids) ?? -1) < newest) count('lost', newest)
        }
      }
      return sums
    }
  }
}

function createBits () {
  let bytes = new Uint8Array(1 << 16)
  let count = 0
  let end = 0
  const has = (/** @type {number} */ n) => n < end && (bytes[n >> 3] & (1 << (n & 7))) !== 0

  return {
    has,
    get count () { return count },
    /** behind the highest */
    get end () { return end },
    /** @param {number} from @param {number} to not included */
    add (from, to) {
      while (to > bytes.length * 8) {
        const grown = new Uint8Array(bytes.length * 2)
        grown.set(bytes)
        bytes = grown
      }
      for (let n = from; n < to; n++) {
        if (!(bytes[n >> 3] & (1 << (n & 7)))) count++
        bytes[n >> 3] |= 1 << (n & 7)
      }
      end = Math.max(end, to)
    },
    /** The highest that is `rest` mod `step`. @param {number} rest @param {number} step @returns {number | null} */
    newest (rest, step) {
      for (let n = rest + step * Math.floor((end - 1 - rest) / step); n >= 0; n -= step) if (has(n)) return n
      return null
    }
  }
}
