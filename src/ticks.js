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

/** Until the next tick, or the one after it, if that is now: timers may be early. @param {number} everyMs @returns {number} ms */
export function untilTick (everyMs) {
  const leftMs = everyMs - performance.now() % everyMs
  return leftMs > EARLY_MS ? leftMs : leftMs + everyMs
}
