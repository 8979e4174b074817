/**
 * What other folders use of src/pipeline.
 *
 * @typedef {import('./account.js').Account} Account
 * @typedef {import('./feed-writer.js').FeedWriter} FeedWriter
 */
export { accountSince, addAccounts, countRefused, decidedOf, newAccount, refusedOf } from './account.js'
export { ackNames } from './acks.js'
export { openFeedWriter } from './feed-writer.js'
export { createPacer } from './pacer.js'
export { appendPaced } from './append-paced.js'
