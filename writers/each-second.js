/** Repeats something each second, one run at a time. */

const EACH_MS = 1000

/**
 * @param {() => Promise<unknown>} run @param {(error: Error & { code?: string }) => void} onFailure
 * @returns {() => void} ends it
 */
export function eachSecond (run, onFailure) {
  let isRunning = false
  const timer = setInterval(() => {
    if (isRunning) return
    isRunning = true
    run().catch(onFailure).finally(() => { isRunning = false })
  }, EACH_MS).unref()
  return () => clearInterval(timer)
}
