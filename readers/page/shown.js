/** A hidden page gives its connections back: a browser opens at most six to a reader over HTTP/1.1, streams of all tabs included. */

/**
 * Runs something while the page is visible, from the first `restart` on.
 * @param {(signal: AbortSignal) => unknown} run `signal`: the page was hidden, or it is run again
 * @returns {{ restart: () => void, stop: () => void }} `stop`: until the page is shown again
 */
export function whileShown (run) {
  let over = new AbortController()
  let hasBegun = false

  function restart () {
    hasBegun = true
    over.abort()
    over = new AbortController()
    if (!document.hidden) run(over.signal)
  }
  document.addEventListener('visibilitychange', () => { if (hasBegun) restart() })
  return { restart, stop: () => over.abort() }
}
