/** Calls a tick when something changed, or after the time that the last tick asked for; never within 10 ms of the last one. */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'

export const TICK_MS = 10
const RETRY_MS = 1000

export function createTicks () {
  let isDue = false
  let due = () => {}

  /** @param {number} mostMs unless something changes @returns {Promise<void>} */
  const untilDue = (mostMs) => new Promise((resolve) => {
    const fromMs = performance.now()
    let timer = setTimeout(resolve, isDue ? TICK_MS : mostMs)
    due = () => {
      clearTimeout(timer)
      const leftMs = fromMs + TICK_MS - performance.now()
      if (leftMs > 0) timer = setTimeout(resolve, leftMs)
      else resolve()
    }
  })

  function soon () {
    isDue = true
    due()
  }

  return {
    /** Something changed. */
    soon,

    /**
     * @param {() => number} tick ms until the next one is needed even if nothing changes; 0 = there is more to do
     * @param {AbortSignal} signal @param {(error: Error) => void} onError
     */
    async run (tick, signal, onError) {
      signal.addEventListener('abort', soon, { once: true })
      while (!signal.aborted) {
        let waitMs = TICK_MS
        isDue = false
        try {
          waitMs = tick()
        } catch (error) {
          onError(error)
          await sleep(RETRY_MS, undefined, { signal }).catch(() => {})
        }
        if (waitMs > 0) await untilDue(waitMs)
        // what arrived with a change goes with it
        await setImmediate()
      }
    }
  }
}
