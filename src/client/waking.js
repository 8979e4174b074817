/** Pauses, and pages that wake up. */

/** a page was frozen, or its machine slept or was offline: timers and connections may be dead */
const WAKE_EVENTS = ['visibilitychange', 'pageshow', 'online']

/**
 * Calls back when a page is shown again or is online again; in Node never.
 * @param {() => void} listener @param {AbortSignal} until
 */
export function onWake (listener, until) {
  const page = /** @type {any} */ (globalThis)
  const ifShown = () => { if (page.document?.visibilityState !== 'hidden') listener() }
  for (const name of WAKE_EVENTS) page.addEventListener?.(name, ifShown, { signal: until })
}

/**
 * @param {number} ms @param {number} leastMs a page that wakes up waits only this long @param {AbortSignal} ended
 * @returns {Promise<void>}
 */
export const pause = (ms, leastMs, ended) => new Promise((resolve) => {
  const begunMs = performance.now()
  const isOver = new AbortController()
  let timer = setTimeout(over, ms)
  function over () {
    clearTimeout(timer)
    ended.removeEventListener('abort', over)
    isOver.abort()
    resolve()
  }
  ended.addEventListener('abort', over)
  onWake(() => {
    clearTimeout(timer)
    timer = setTimeout(over, begunMs + leastMs - performance.now())
  }, isOver.signal)
})
