/**
 * Promises that wait for the pipeline: for room, for acknowledgements. Each ends by what it waits for, by its deadline,
 * by the failure of the pipeline, or by its closing.
 */
import { FreshetError } from '../errors.js'

/** a timer cannot be set further ahead */
const LONGEST_MS = 2 ** 31 - 1

export function createWaiting () {
  /** @type {Error | null} */
  let failure = null
  let closed = false
  /** @type {Set<() => void>} */
  const looks = new Set()

  const look = () => { for (const one of looks) one() }

  return {
    /** Looks at every condition again. */
    look,
    get failure () { return failure },

    /** Ends all waiting, now and later, with that error. @param {Error} error */
    fail (error) {
      failure ??= error
      look()
    },

    close () {
      closed = true
      look()
    },

    /**
     * @param {() => boolean} condition
     * @param {number} [deadlineMs] none = until the pipeline is closed
     * @param {string} [otherwise] what is said when it is over
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
          looks.delete(one)
          settle()
        }
        const one = () => {
          if (failure) end(() => reject(failure))
          else if (closed) end(() => reject(new FreshetError('PIPELINE_CLOSED', 'the pipeline was closed while waiting for it')))
          else if (condition()) end(resolve)
        }
        looks.add(one)
        if (deadlineMs !== undefined && deadlineMs < LONGEST_MS) {
          timer = setTimeout(() => end(() => reject(new FreshetError('DEADLINE_PASSED', `${otherwise} within ${deadlineMs} ms; it is still held and goes on being sent`))), deadlineMs)
        }
        one()
      })
    }
  }
}
