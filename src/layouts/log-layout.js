/**
 * The common part of `segments` and `stream`: a log in order of arrival. They differ in what an entry is.
 */
import { createLogQueries } from './log-queries.js'
import { appendToLog } from './log-batch.js'
import { createLogRetention } from './log-retention.js'
import { MAX_SCAN } from './log-scan.js'
import { MAX_READ } from './read-size.js'

/** @typedef {import('./index.js').Layout} Layout */

/**
 * @param {{ log: Readonly<import('./log.js').Log>, createBatch: Layout['createBatch'], maxBatchItems: number, trimEntries: number }} parts
 *   `trimEntries`: maximum removed at once
 * @returns {Readonly<Layout>} named after the part of its keys
 */
export const createLogLayout = ({ log, createBatch, maxBatchItems, trimEntries }) => Object.freeze({
  name: log.part,
  format: 1,
  log,
  describe: () => /** @type {const} */ ({
    versions: 'many',
    late: 'newest',
    counted: 'by arrival',
    trims: 'entries',
    withoutView: { latest: 'newest', get: 'newest', count: 'estimate' },
    maxScan: MAX_SCAN,
    maxBatchItems,
    maxPage: MAX_READ,
    encodings: { [log.part]: 'stream' }
  }),
  createBatch,
  append: appendToLog,
  ...createLogQueries(log),
  ...createLogRetention(log, trimEntries)
})
