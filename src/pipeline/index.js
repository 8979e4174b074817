/**
 * What other folders use of src/pipeline.
 *
 * @typedef {import('./account.js').Account} Account
 * @typedef {import('./feed-writer.js').FeedWriter} FeedWriter
 * @typedef {import('./summary.js').Tally} Tally
 */
export { addAccounts, countRefused, decidedOf, newAccount, refusedOf } from './account.js'
export { ackNames } from './acks.js'
export { openFeedWriter } from './feed-writer.js'
export { createMeasurement } from './measurement.js'
export { createPacer } from './pacer.js'
export { appendPaced } from './append-paced.js'
export { expectPrimary } from './stripes.js'
export { emptyTally, perItem, summaryLine } from './summary.js'
