/** How many members of a set were seen in each of the latest milliseconds, to find those that arrive late. */

/** more than is looked back */
const COUNTED_MS = 4096

export function createCounts () {
  const counts = new Int32Array(COUNTED_MS)
  /** of what is counted */
  let newestMs = 0

  return {
    clear () { counts.fill(0) },

    /** @param {number} ms */
    add (ms) {
      if (ms <= newestMs - COUNTED_MS) return
      if (ms > newestMs) {
        if (ms - newestMs >= COUNTED_MS) counts.fill(0)
        else for (let at = newestMs + 1; at <= ms; at++) counts[at % COUNTED_MS] = 0
        newestMs = ms
      }
      counts[ms % COUNTED_MS]++
    },

    /** They will be counted anew. @param {number} fromMs @param {number} untilMs itself not among them; both are of the latest */
    forget (fromMs, untilMs) {
      for (let at = Math.max(fromMs, newestMs - COUNTED_MS + 1); at < untilMs; at++) counts[at % COUNTED_MS] = 0
    },

    /** @param {number} fromMs @param {number} untilMs itself not among them; both are of the latest */
    between (fromMs, untilMs) {
      let sum = 0
      for (let at = Math.max(fromMs, newestMs - COUNTED_MS + 1); at < untilMs; at++) sum += counts[at % COUNTED_MS]
      return sum
    }
  }
}
