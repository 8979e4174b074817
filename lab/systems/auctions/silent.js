/** A log that says nothing. */
export const silent = /** @type {import('pino').Logger} */ (/** @type {unknown} */ ({ debug () {}, info () {}, warn () {}, error () {} }))
