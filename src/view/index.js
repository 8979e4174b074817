/**
 * What other folders use of src/view.
 *
 * @typedef {import('./log-tail.js').Arrived} Arrived
 * @typedef {import('./log-resume.js').Part} Part
 * @typedef {import('./log-resume.js').Read} Read
 * @typedef {import('./queries.js').Queries} Queries
 * @typedef {import('./queries.js').Item} Item
 * @typedef {import('./reader.js').Serving} Serving
 * @typedef {import('./recent.js').Recent} Recent
 * @typedef {import('./subscribe.js').Change} Change
 * @typedef {import('./view.js').View} View
 * @typedef {import('./view-status.js').ViewFigures} ViewFigures
 * @typedef {import('./views.js').Views} Views
 */
export { filteredQueries, MAX_SCANNED, steadyMs } from './filtered-queries.js'
export { beginPart, checkSame, createEntriesAtOnce, headOf, isUnreadable, MAX_ENTRIES, readBehind } from './log-resume.js'
export { countOwn, newestEntries } from './log-tail.js'
export { openQueries } from './reader.js'
export { subscribe } from './subscribe.js'
export { createSubscription } from './subscription.js'
