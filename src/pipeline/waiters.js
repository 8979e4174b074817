/**
 * Promises of callers that wait for room or for acknowledgements. Each ends with its condition, its deadline, the failure
 * of the pipeline, or its closing.
 */
import { FreshetError } from '../errors.js'

/** limit of setTimeout */
const MAX_TIMER_MS = 2 ** 31 - 1

/** @typedef {ReturnType<typeof createWaiters>} Waiters */

export function createWaiters () {
  /** @type {Error | null} */
  let failure = null
  let closed = false
  /** @type {Set<() => void>} */
  const checks = new Set()

  const check = () => { for (const one of checks) one() }

  return {
    /** Evaluates every condition again. */
    check,
    get failure () { return failure },

    /** Rejects all waiters, now and later. @param {Error} error */
    fail (error) {
      failure ??= error
      check()
    },

    close () {
      closed = true
      check()
    },

    /**
     * @param {() => boolean} condition
     * @param {number} [deadlineMs] none = until the pipeline is closed
     * @param {string} [otherwise] message when the deadline passes
     * @returns {Promise<void>}
     * @throws {FreshetError} DEADLINE_PASSED, PIPELINE_CLOSED, or the failure
     */
    until (condition, deadlineMs, otherwise = 'not done') {
      return new Promise((resolve, reject) => {
        /** @type {NodeJS.Timeout | undefined} */
        let timer
        /** @param {() => void} settle */
        const end = (settle) => {
          clearTimeout(timer)
          checks.delete(one)
          settle()
        }
        const one = () => {
          if (failure) end(() => reject(failure))
          else if (closed) end(() => reject(new FreshetError('PIPELINE_CLOSED', 'the pipeline was closed during the wait')))
          else if (condition()) end(resolve)
        }
        const expire = () => end(() => reject(new FreshetError('DEADLINE_PASSED',
          `${otherwise} within ${deadlineMs} ms; unacknowledged items are kept and sent again`)))
        checks.add(one)
        if (deadlineMs !== undefined && deadlineMs < MAX_TIMER_MS) timer = setTimeout(expire, deadlineMs)
        one()
      })
    }
  }
}
