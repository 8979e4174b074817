/**
 * What a process repeats wakes it together: all that has the same interval, or a multiple of it, runs in the same turn. What wakes it more
 * often: reads of streams (src/store/stream-follower.js), questions for the state of nodes (src/store/servers.js), and silence of servers
 * (src/store/session.js).
 */

const EARLY_MS = 5

/**
 * @param {number} everyMs @param {() => void} run must not throw
 * @returns {() => void} ends it
 */
export function eachTick (everyMs, run) {
  /** @type {NodeJS.Timeout} */
  let timer
  function next () {
    timer = setTimeout(() => {
      next()
      run()
    }, untilTick(everyMs)).unref()
  }
  next()
  return () => clearTimeout(timer)
}

/**
 * Repeats something each second, one run at a time. A failure is reported when it begins, and when it becomes another one.
 * @param {() => Promise<unknown>} run @param {(error: Error & { code?: string }) => void} onFailure
 * @returns {() => void} ends it
 */
export function eachSecond (run, onFailure) {
  let isRunning = false
  /** @type {string | null} */
  let code = null
  return eachTick(1000, () => {
    if (isRunning) return
    isRunning = true
    run().then(() => { code = null }, (error) => {
      const isKnown = error.code === code
      code = error.code
      if (!isKnown) onFailure(error)
    }).finally(() => { isRunning = false })
  })
}

/** Until the next tick, or the one after it, if that is now: timers may be early. @param {number} everyMs @returns {number} ms */
export function untilTick (everyMs) {
  const leftMs = everyMs - performance.now() % everyMs
  return leftMs > EARLY_MS ? leftMs : leftMs + everyMs
}
