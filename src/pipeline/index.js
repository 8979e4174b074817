/**
 * What other folders use of src/pipeline.
 *
 *     feed-writer.js   a feed opened for writing: its definition, stripes.js (connections), maintenance.js
 *     pipeline.js      an item's way: intake -> open-batches.js -> delivery.js -> window.js -> the connection of its bucket
 *     acks.js          when a batch counts as acknowledged; delivery.js counts each item
 *     append-paced.js  appends items when they are due
 *
 * @typedef {import('./delivery.js').Account} Account
 * @typedef {import('./feed-writer.js').FeedWriter} FeedWriter
 */
export { accountSince, addAccounts, countRefused, decidedOf, newAccount, refusedOf } from './delivery.js'
export { ackNames, ackOf, stripesOf } from './acks.js'
export { openFeedWriter } from './feed-writer.js'
export { appendPaced, createPacer } from './append-paced.js'
