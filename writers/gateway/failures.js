/**
 * Feeds that failed a moment ago, and how: whoever names one meanwhile is told the same at once. Each try costs
 * connections, and those who are told to come again come soon.
 */

/**
 * @param {{ forMs: number, most: number }} options `most`: of more, those that failed first are forgotten
 */
export function createFailures ({ forMs, most }) {
  /** @type {Map<string, { error: Error, untilMs: number }>} in the order of that */
  const failures = new Map()

  return {
    /** @param {string} name @param {Error} error */
    remember (name, error) {
      failures.delete(name)
      failures.set(name, { error, untilMs: performance.now() + forMs })
      if (failures.size > most) failures.delete(/** @type {string} */ (failures.keys().next().value))
    },

    /** @param {string} name @throws how it failed a moment ago */
    throwRecent (name) {
      const failure = failures.get(name)
      if (!failure) return
      if (performance.now() < failure.untilMs) throw failure.error
      failures.delete(name)
    }
  }
}
