/**
 * Layout `segments`: a log of batches. Each is ONE entry of a stream, a byte string with all its items (item/segment.js).
 *
 *     fr:{feed:p}:segments     stream     <ms>-<n>  s <segment>       and the keys of log-keep.js
 *
 * The server stores a batch by one command, whatever is in it, and knows nothing of its items; so it costs a tenth of what
 * a sorted set does, and whoever reads must do what it does not: order, replace, forget. A view does (src/view). Asked for
 * each request, answers come from the newest entries (log-walk.js), and only so deep.
 *
 * The newest version of an id counts, however late an older one arrives; of equal ones the later append. A deletion is a
 * version too. With maxItems the versions that arrived last are live, so many, superseded ones and deletions among them.
 */
import { eachVersion, segmentHead } from '../item/segment.js'
import { createLogLayout } from './log-layout.js'
import { MAX_SEGMENT_ITEMS, createSegmentsBatch } from './segments-batch.js'

/** they are large, and the server frees them while others wait */
const TRIM_ENTRIES = 500

/** @type {Readonly<import('./log.js').Log>} */
const log = Object.freeze({ part: 'segments', field: 's', head: segmentHead, each: eachVersion })

export const segments = createLogLayout({ log, createBatch: createSegmentsBatch, maxBatchItems: MAX_SEGMENT_ITEMS, trimEntries: TRIM_ENTRIES })
