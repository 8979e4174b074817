/**
 * Layout `stream`: a log with one entry per item (item/entry.js).
 *
 *     fr:{feed:p}:stream       stream     <ms>-<n>  v <entry>         and the keys of log-retention.js
 *
 * This is the usual hand-written design, and the baseline for packing a batch into one entry (layout `segments`). Otherwise
 * the two layouts are alike.
 */
import { entryHead, visitEntry } from '../item/index.js'
import { createLogLayout } from './log-layout.js'
import { MAX_BATCH_ITEMS } from './read-size.js'
import { createStreamBatch } from './stream-batch.js'

/** items are small */
const TRIM_ENTRIES = 10_000

/** @type {Readonly<import('./log.js').Log>} */
const log = Object.freeze({ part: 'stream', field: 'v', head: entryHead, each: visitEntry })

export const stream = createLogLayout({ log, createBatch: createStreamBatch, maxBatchItems: MAX_BATCH_ITEMS, trimEntries: TRIM_ENTRIES })
