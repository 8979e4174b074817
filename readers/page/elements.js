/** Elements of the page. Data of a feed is only ever set as text. */

/** @type {(id: string) => any} */
export const at = (id) => document.getElementById(id)

/** Does not touch unchanged text: screen readers and selections notice every change. @param {any} element @param {string} text */
export function put (element, text) {
  if (element.textContent !== text) element.textContent = text
}

/** @param {string} name @param {Record<string, any>} properties @param {...(Node | string)} children @returns {any} */
export function make (name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties)
  element.append(...children)
  return element
}
