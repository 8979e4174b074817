/** Elements of the page. Data of a feed is only ever set as text. */

/** Waiting, for the pages. */

/** Resolves early when `signal` is aborted. @param {number} ms @param {AbortSignal} signal @returns {Promise<void>} */
export const pause = (ms, signal) => new Promise((resolve) => {
  if (signal.aborted) return resolve()
  const done = () => {
    clearTimeout(timer)
    signal.removeEventListener('abort', done)
    resolve()
  }
  const timer = setTimeout(done, ms)
  signal.addEventListener('abort', done)
})

/** @type {(id: string) => any} */
export const at = (id) => document.getElementById(id)

/** Does not touch unchanged text: screen readers and selections notice every change. @param {any} element @param {string} text */
export function put (element, text) {
  if (element.textContent !== text) element.textContent = text
}

/** Brings the rows of a table or list into an order; those that stay are not touched. @param {any} body @param {any[]} rows */
export function arrange (body, rows) {
  for (const row of [...body.children]) if (!rows.includes(row)) row.remove()
  rows.forEach((row, index) => { if (body.children[index] !== row) body.insertBefore(row, body.children[index] ?? null) })
}

/** @param {string} name @param {Record<string, any>} properties @param {...(Node | string)} children @returns {any} */
export function make (name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties)
  element.append(...children)
  return element
}

/**
 * Runs something while the page is visible, from the first `restart` on. A hidden page gives its connections back: a browser opens at most
 * six to a reader over HTTP/1.1, streams of all tabs included.
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
