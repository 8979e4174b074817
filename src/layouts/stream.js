/**
 * Layout `stream`: a log of items, each an entry of its own (item/entry.js).
 *
 *     fr:{feed:p}:stream       stream     <ms>-<n>  v <entry>         and the keys of log-keep.js
 *
 * It is what many write by hand, and beside it one sees what packing a batch into one entry saves (layout `segments`). In
 * all other things the two are alike.
 */
import { entryHead, visitEntry } from '../item/entry.js'
import { createLogAnswers } from './log-answers.js'
import { appendToLog } from './log-batch.js'
import { createLogKeeping } from './log-keep.js'
import { MAX_WALK } from './log-walk.js'
import { MAX_BATCH_ITEMS, MAX_PIECE } from './pieces.js'
import { createStreamBatch } from './stream-batch.js'

/** items are small: more of them at once */
const TRIM_ENTRIES = 10_000

/** @type {Readonly<import('./log.js').Log>} */
const log = Object.freeze({ part: 'stream', field: 'v', head: entryHead, each: visitEntry })

/** @type {import('./index.js').Layout} */
const layout = {
  name: 'stream',
  format: 1,
  log,
  describe: () => ({
    versions: 'many',
    late: 'newest',
    deletionsInTail: true,
    equalInTail: true,
    tail: 'log',
    counted: 'by arrival',
    trims: 'entries',
    askedPerRequest: { latest: 'newest', get: 'newest', count: 'estimate' },
    maxWalk: MAX_WALK,
    maxBatchItems: MAX_BATCH_ITEMS,
    maxPage: MAX_PIECE,
    encodings: { stream: 'stream' }
  }),
  createBatch: createStreamBatch,
  append: appendToLog,
  ...createLogAnswers(log),
  ...createLogKeeping(log, TRIM_ENTRIES)
}

export const stream = Object.freeze(layout)
