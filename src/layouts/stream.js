/**
 * Layout `stream`: a log of items, each an entry of its own (item/entry.js).
 *
 *     fr:{feed:p}:stream       stream     <ms>-<n>  v <entry>         and the keys of log-keep.js
 *
 * It is what many write by hand, and beside it one sees what packing a batch into one entry saves (layout `segments`). In
 * all other things the two are alike.
 */
import { entryHead, visitEntry } from '../item/entry.js'
import { createLogLayout } from './log-layout.js'
import { MAX_BATCH_ITEMS } from './pieces.js'
import { createStreamBatch } from './stream-batch.js'

/** items are small: more of them at once */
const TRIM_ENTRIES = 10_000

/** @type {Readonly<import('./log.js').Log>} */
const log = Object.freeze({ part: 'stream', field: 'v', head: entryHead, each: visitEntry })

export const stream = createLogLayout({ log, createBatch: createStreamBatch, maxBatchItems: MAX_BATCH_ITEMS, trimEntries: TRIM_ENTRIES })
