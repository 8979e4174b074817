/**
 * Layout `segments`: a log of batches. Each batch is one stream entry, a byte string with all its items (item/segment.js).
 *
 *     fr:{feed:p}:segments     stream     <ms>-<n>  s <segment>       and the keys of log-retention.js
 *
 * The server stores a batch with one command and knows nothing of its items, which costs a tenth of a sorted set (experiment
 * 001). Readers do what the server does not: order, replace and expire. A view does so (src/view); without one, answers come
 * from a bounded scan of the newest entries (log-scan.js).
 *
 * The newest version of an id counts, however late an older one arrives; of equal versions the later append. A deletion is a
 * version too. maxItems keeps the versions that arrived last, superseded ones and deletions included.
 */
import { eachVersion, segmentHead } from '../item/index.js'
import { createLogLayout } from './log-layout.js'
import { MAX_SEGMENT_ITEMS, createSegmentsBatch } from './segments-batch.js'

/** segments are large, and freeing them blocks the server */
const TRIM_ENTRIES = 500

/** @type {Readonly<import('./log.js').Log>} */
const log = Object.freeze({ part: 'segments', field: 's', head: segmentHead, each: eachVersion })

export const segments =
  createLogLayout({ log, createBatch: createSegmentsBatch, maxBatchItems: MAX_SEGMENT_ITEMS, trimEntries: TRIM_ENTRIES })
