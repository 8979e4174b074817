/**
 * Replication lag as a time: now minus the newest time at which the primary's offset was not above the replica's. It needs
 * no writes.
 */

const SAMPLES = 600
/** without a sample for so long the lag is not known */
const MAX_AGE_MS = 1000

export function createLagClock () {
  /** @type {{ atMs: number, offset: number }[]} */
  const samples = []
  return {
    /** @param {number} atMs when the reply came, performance.now() @param {number} offset of the primary */
    add (atMs, offset) {
      samples.push({ atMs, offset })
      if (samples.length > SAMPLES) samples.shift()
    },

    /**
     * @param {number} offset of a replica
     * @param {number} askedMs when the replica was asked, so that reading its reply late does not count as lag
     * @returns {number | null} null = not known
     */
    lagMs (offset, askedMs) {
      const last = samples.at(-1)
      // -1 without a link to a primary, NaN of a node that is a primary itself
      if (!(offset >= 0)) return null
      if (!last || askedMs - last.atMs > MAX_AGE_MS) return null
      const reached = samples.findLast((sample) => sample.offset <= offset) ?? samples[0]
      // the primary's reply may have come after the replica was asked
      return Math.max(0, Math.round(askedMs - reached.atMs))
    }
  }
}
