/** A log, and metrics of admission, that say nothing. */
export const silent = /** @type {import('pino').Logger} */ (/** @type {unknown} */ ({ debug () {}, info () {}, warn () {}, error () {} }))
export const METRICS = Object.freeze({ sent () {}, waited () {}, dropped () {}, answered () {}, asked () {} })
