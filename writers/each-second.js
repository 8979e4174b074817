/** Repeats something each second, one run at a time. A failure is reported when it begins, and when it becomes another one. */
import { eachTick } from '../src/ticks.js'

const EACH_MS = 1000

/**
 * @param {() => Promise<unknown>} run @param {(error: Error & { code?: string }) => void} onFailure
 * @returns {() => void} ends it
 */
export function eachSecond (run, onFailure) {
  let isRunning = false
  /** @type {string | null} */
  let code = null
  return eachTick(EACH_MS, () => {
    if (isRunning) return
    isRunning = true
    run().then(() => { code = null }, (error) => {
      const isKnown = error.code === code
      code = error.code
      if (!isKnown) onFailure(error)
    }).finally(() => { isRunning = false })
  })
}
