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
