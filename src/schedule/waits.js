/**
 * How long the tasks of a partition have waited for the process that owns it.
 *
 * A task waits from when it is due, or from when the partition was taken: the owner was not too slow before. A task that fails for another
 * reason than busy servers (its own fault, or something outside of the system is away) waits for that, not for the owner, until it is run
 * again.
 */

/** @typedef {ReturnType<typeof createWaits>} Waits */

export function createWaits () {
  let takenMs = performance.now()
  /** When a task last failed for such a reason, by its name. @type {Map<string, number>} */
  const heldUp = new Map()
  /** Since when tasks that run, or will run again, have waited, by name. @type {Map<string, number>} */
  const waiting = new Map()
  /** Since when the oldest task that was not started has waited. */
  let nextMs = Infinity

  /** @param {string} text of a task @param {number} lateMs since it was due */
  const sinceOf = (text, lateMs) => Math.max(performance.now() - lateMs, heldUp.get(text) ?? takenMs)

  return {
    /** The clock of the primary jumped: how late tasks are by it says nothing about the owner. */
    restart () { takenMs = performance.now() },

    /** @param {string} text @param {number} lateMs */
    begin (text, lateMs) { waiting.set(text, sinceOf(text, lateMs)) },

    /** The oldest task that is due and not started; null: there is none. @param {string | null} text @param {number} [lateMs] */
    next (text, lateMs = 0) { nextMs = text === null ? Infinity : sinceOf(text, lateMs) },

    /** @param {string} text @param {(Error & { retryable?: boolean, isOutside?: boolean }) | null} error null: it succeeded */
    end (text, error) {
      if (error?.retryable && !error.isOutside) return
      waiting.delete(text)
      if (error === null) heldUp.delete(text)
      else heldUp.set(text, performance.now())
    },

    /** A task whose pause is over may be there no more. @param {string} text */
    leave (text) { waiting.delete(text) },

    /** Of the oldest one. @returns {number} ms */
    ms () {
      let sinceMs = nextMs
      for (const one of waiting.values()) sinceMs = Math.min(sinceMs, one)
      return Math.max(0, performance.now() - sinceMs)
    }
  }
}
