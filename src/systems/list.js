/** The systems of this package. A process loads those that it serves. */

/** @typedef {import('./definition.js').System} System */

/** @type {Readonly<Record<string, () => Promise<{ default: System }>>>} */
export const SYSTEMS = Object.freeze({
  auctions: () => import('./auctions/index.js'),
  orders: () => import('./orders/index.js'),
  prices: () => import('./prices/index.js'),
  sales: () => import('./sales/index.js')
})

export const SYSTEM_NAMES = Object.freeze(Object.keys(SYSTEMS))

/** @param {readonly string[]} [names] without them, all @returns {Promise<System[]>} */
export const loadSystems = (names = SYSTEM_NAMES) => Promise.all(names.map(async (name) => (await SYSTEMS[name]()).default))
