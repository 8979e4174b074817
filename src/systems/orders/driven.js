/** Orders that a process drives, by step: from its first attempt at one until the order is final or parked, also between two attempts. */

/** @param {{ isOwned: (key: string) => boolean }} parts whether this process has the partition of a key now; another one drives the rest */
export function createDriven ({ isOwned }) {
  /** Steps by key. @type {Map<string, string>} */
  const steps = new Map()
  return {
    /** @param {string} key @param {string | null} step null: it is no longer on its way */
    note (key, step) {
      if (step === null) steps.delete(key)
      else steps.set(key, step)
    },

    /** @returns {Record<string, number>} orders by step */
    counts () {
      /** @type {Record<string, number>} */
      const counts = {}
      for (const [key, step] of steps) {
        if (isOwned(key)) counts[step] = (counts[step] ?? 0) + 1
        else steps.delete(key)
      }
      return counts
    }
  }
}
