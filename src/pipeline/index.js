/**
 * What other folders use of src/pipeline.
 *
 *     feed-writer.js   a feed opened for writing: opening.js, agreement.js, stripes.js (connections), maintenance.js with trimmer.js
 *     pipeline.js      an item's way: intake.js -> open-batches.js -> delivery.js -> window.js -> the connection of its bucket
 *     acks.js          when a batch counts as acknowledged; account.js counts each item; waiters.js and hooks.js tell callers
 *     pacer.js         when items are due; append-paced.js appends them then
 *
 * @typedef {import('./account.js').Account} Account
 * @typedef {import('./feed-writer.js').FeedWriter} FeedWriter
 */
export { accountSince, addAccounts, countRefused, decidedOf, newAccount, refusedOf } from './account.js'
export { ackNames } from './acks.js'
export { openFeedWriter } from './feed-writer.js'
export { createPacer } from './pacer.js'
export { appendPaced } from './append-paced.js'
