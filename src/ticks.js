/**
 * What a process repeats wakes it together: all that has the same interval, or a multiple of it, runs in the same turn. What has a timer of
 * its own:
 *
 *     blocking reads of streams, each 400 ms without entries (store/stream-follower.js): the server times them
 *     state of nodes, each 100 ms with requests (store/servers.js); silence of a server while a reply is due (store/session.js)
 *     delay of the event loop, each 400 ms (metrics/scrape.js): longer ones missed stalls
 *     tasks that are due, and pauses after a failure (schedule/index.js): their times are their own
 *     connections of a server for HTTP, each 2 s (http/server.js): node's own timer
 *     files of tokens and certificates, each 500 ms (http/security/watched-files.js); expiry of tokens, each second (access.js there);
 *     scripts that never end, with rules of users, each second (admission/stop-script.js): these folders import no ticks
 *     a feed that is written: leases and definition, each second, and its window, each 100 ms (pipeline/maintenance.js); feeds that a
 *     gateway may close (writers/gateway/feeds.js)
 *     with prices: assets of a file, each second (systems/prices/commands.js), and demand, each 5 s (systems/prices/demand.js), as
 *     systems know the library only
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
