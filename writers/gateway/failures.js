/**
 * Feeds that failed recently, with their errors. Requests for such a feed are refused with the same error: each attempt
 * costs connections, and refused clients retry soon.
 */

/**
 * @param {{ forMs: number, max: number }} options `max`: beyond it, the oldest failures are forgotten
 */
export function createFailures ({ forMs, max }) {
  /** @type {Map<string, { error: Error, untilMs: number }>} the oldest first */
  const failures = new Map()

  return {
    /** @param {string} name @param {Error} error */
    remember (name, error) {
      failures.delete(name)
      failures.set(name, { error, untilMs: performance.now() + forMs })
      if (failures.size > max) failures.delete(/** @type {string} */ (failures.keys().next().value))
    },

    /** @param {string} name @throws the error with which it failed recently */
    throwRecent (name) {
      const failure = failures.get(name)
      if (!failure) return
      if (performance.now() < failure.untilMs) throw failure.error
      failures.delete(name)
    }
  }
}
