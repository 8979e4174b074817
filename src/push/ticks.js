/** Calls a tick when something changed, at most every 10 ms, and after the time that the last tick asked for. */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'

export const TICK_MS = 10
const RETRY_MS = 1000

export function createTicks () {
  let isDue = false
  let due = () => {}
  /** When the last tick because of a change was. */
  let changedMs = -Infinity

  /** @param {number} mostMs unless something changes @returns {Promise<void>} */
  const untilDue = (mostMs) => new Promise((resolve) => {
    let timer = setTimeout(resolve, mostMs)
    due = () => {
      clearTimeout(timer)
      const leftMs = changedMs + TICK_MS - performance.now()
      if (leftMs > 0) timer = setTimeout(resolve, leftMs)
      else resolve()
    }
    if (isDue) due()
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
        if (isDue) [isDue, changedMs] = [false, performance.now()]
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
