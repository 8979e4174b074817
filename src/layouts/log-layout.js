/**
 * What `segments` and `stream` have in common: a log of which arrival is the order, and what it promises. They differ in what
 * an entry is.
 */
import { createLogAnswers } from './log-answers.js'
import { appendToLog } from './log-batch.js'
import { createLogKeeping } from './log-keep.js'
import { MAX_WALK } from './log-walk.js'
import { MAX_PIECE } from './pieces.js'

/** @typedef {import('./index.js').Layout} Layout */

/**
 * @param {{ log: Readonly<import('./log.js').Log>, createBatch: Layout['createBatch'], maxBatchItems: number, trimEntries: number }} parts
 *   `trimEntries`: removed at once
 * @returns {Readonly<Layout>} named after the part of its keys
 */
export const createLogLayout = ({ log, createBatch, maxBatchItems, trimEntries }) => Object.freeze({
  name: log.part,
  format: 1,
  log,
  describe: () => /** @type {const} */ ({
    versions: 'many',
    late: 'newest',
    deletionsInTail: true,
    equalInTail: true,
    tail: 'log',
    counted: 'by arrival',
    trims: 'entries',
    askedPerRequest: { latest: 'newest', get: 'newest', count: 'estimate' },
    maxWalk: MAX_WALK,
    maxBatchItems,
    maxPage: MAX_PIECE,
    encodings: { [log.part]: 'stream' }
  }),
  createBatch,
  append: appendToLog,
  ...createLogAnswers(log),
  ...createLogKeeping(log, trimEntries)
})
