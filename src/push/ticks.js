/**
 * Calls a tick at most every 10 ms: at once when something changed after a quiet time, otherwise 10 to 20 ms after the one before.
 */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'

export const TICK_MS = 10
const RETRY_MS = 1000

export function createTicks () {
  let isDue = false
  let due = () => {}

  /** @returns {Promise<void>} */
  const untilDue = () => new Promise((resolve) => {
    const timer = setTimeout(resolve, TICK_MS)
    due = () => {
      clearTimeout(timer)
      resolve()
    }
  })

  return {
    /** Something changed. */
    soon () {
      isDue = true
      due()
    },

    /** @param {() => boolean} tick false: there is more to do @param {AbortSignal} signal @param {(error: Error) => void} onError */
    async run (tick, signal, onError) {
      while (!signal.aborted) {
        let waitMs = TICK_MS
        isDue = false
        try {
          if (!tick()) waitMs = 0
        } catch (error) {
          onError(error)
          waitMs = RETRY_MS
        }
        if (waitMs > 0) {
          await sleep(waitMs, undefined, { signal }).catch(() => {})
          if (!isDue && !signal.aborted) await untilDue()
        }
        // what arrived with a change goes with it
        await setImmediate()
      }
    }
  }
}
