/** Counts the members of a set seen in each of the latest milliseconds, to detect those that arrive late. */

/** more than set-late.js looks back */
const COUNTED_MS = 4096

export function createCountsByMs () {
  const counts = new Int32Array(COUNTED_MS)
  /** the newest millisecond counted */
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

    /** Sets counts to 0. @param {number} fromMs @param {number} untilMs exclusive, not past the newest + 1 */
    forget (fromMs, untilMs) {
      for (let at = Math.max(fromMs, newestMs - COUNTED_MS + 1); at < untilMs; at++) counts[at % COUNTED_MS] = 0
    },

    /** @param {number} fromMs @param {number} untilMs exclusive, not past the newest + 1 */
    between (fromMs, untilMs) {
      let sum = 0
      for (let at = Math.max(fromMs, newestMs - COUNTED_MS + 1); at < untilMs; at++) sum += counts[at % COUNTED_MS]
      return sum
    }
  }
}
