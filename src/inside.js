/**
 * What stands behind a feed or reader that the library handed out. Processes of this package use it; other callers have no way
 * to it, because the package exports nothing of this file.
 *
 * @typedef {import('./writable-feed.js').WritableFeed} WritableFeed
 * @typedef {{ views: () => Promise<import('./view/index.js').Views>, feed: string, closing: AbortSignal, log: import('./options.js').Log,
 *   isJson: boolean }} Source where a feed is read. `views` rejects after close; `closing` ends subscriptions; `log`: of
 *   subscriptions that wait for servers
 * @typedef {Pick<Source, 'views' | 'closing' | 'log'> &
 *   { status: () => import('./reader.js').ReaderStatus, close: () => Promise<void> }} OpenedReader
 * @typedef {Awaited<ReturnType<typeof import('./view/index.js').openQueries>>} Servers
 */

/** @type {WeakMap<object, any>} */
const insides = new WeakMap()

/** @template {object} F @param {F} opened @param {WritableFeed | Servers} inside @returns {F} the same */
export function keepInside (opened, inside) {
  insides.set(opened, inside)
  return opened
}

/** @param {import('./feed.js').Feed<any>} feed @returns {WritableFeed} */
export const insideOfFeed = (feed) => insides.get(feed)

/** @param {import('./reader.js').Reader} reader @returns {Servers} */
export const insideOfReader = (reader) => insides.get(reader)
