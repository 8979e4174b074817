/** Elements of the page. What a feed holds reaches them as text only. */

/** @type {(id: string) => any} */
export const at = (id) => document.getElementById(id)

/** Leaves a text that is the same alone: screen readers and selections notice each change. @param {any} element @param {string} text */
export function put (element, text) {
  if (element.textContent !== text) element.textContent = text
}

/** @param {string} name @param {Record<string, any>} properties @param {...(Node | string)} children @returns {any} */
export function make (name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties)
  element.append(...children)
  return element
}
