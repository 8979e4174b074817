/**
 * Layout `stream`: a log with one entry per item (item/segment.js).
 *
 *     fr:{feed:p}:stream       stream     <ms>-<n>  v <entry>         and the keys of log-layout.js
 *
 * This is the usual hand-written design, and the baseline for packing a batch into one entry (layout `segments`). Otherwise
 * the two layouts are alike.
 */
import { ENTRY_HEAD_BYTES, entryHead, visitEntry, writeEntry } from '../item/index.js'
import { createLogFrame, createLogLayout, framed, HEAD_BUDGET, xaddHead } from './log-layout.js'
import { nextStamp, originOfProcess } from './log-origin.js'
import { MAX_BATCH_ITEMS } from '../read-size.js'
import { NOTHING, Wire } from './wire.js'

/** items are small */
const TRIM_ENTRIES = 10_000

/** @type {Readonly<import('./log.js').Log>} */
const log = Object.freeze({ part: 'stream', field: 'v', head: entryHead, each: visitEntry })

export const stream = createLogLayout({ log, createBatch: createStreamBatch, maxBatchItems: MAX_BATCH_ITEMS, trimEntries: TRIM_ENTRIES })

/**
 * A batch of layout `stream`: one entry per item (item/segment.js).
 *
 *     XADD stream * v <entry>          n times
 *
 * Items are encoded when they are added, with the time of the append.
 */

/** lengths and line ends of one entry */
const ENTRY_ROOM = 32

/** @type {import('./index.js').Layout['createBatch']} */
function createStreamBatch ({ key, ttlMs, maxItems, clock = Date.now, origin = originOfProcess() }) {
  const entries = new Wire(64 * 1024)
  const frame = createLogFrame({ key, part: 'stream', ttlMs, maxItems, origin })
  const head = xaddHead(key('stream'), 'v')
  const entryOrigin = { stamp: 0, writer: origin.writer, epoch: origin.epoch, sequence: 0 }
  let count = 0
  let lastTs = 0
  entries.length = HEAD_BUDGET

  /** @param {Buffer} id @param {number} ts @param {number} seq @param {Buffer} value @param {boolean} deleted */
  function encode (id, ts, seq, value, deleted) {
    entryOrigin.stamp = nextStamp(clock)
    entryOrigin.sequence = origin.next()
    lastTs = count === 0 ? ts : Math.max(lastTs, ts)
    const bytes = ENTRY_HEAD_BYTES + id.length + value.length
    entries.reserve(head.length + bytes + ENTRY_ROOM)
    entries.short(head)
    entries.bulkHead(bytes)
    entries.length = writeEntry(entries.bytes, entries.length, id, ts, seq, value, deleted, entryOrigin)
    entries.end()
    count++
  }

  return framed({
    get count () { return count },
    get bytes () { return entries.length },
    maxItems: MAX_BATCH_ITEMS,
    add: (id, ts, seq, value) => encode(id, ts, seq, value, false),
    remove: (id, ts, seq) => encode(id, ts, seq, NOTHING, true),
    encoded: () => frame.around(entries, { count, lastTs, head: NOTHING, entries: count }),
    reset () {
      count = 0
      entries.length = HEAD_BUDGET
      frame.reset()
    }
  }, frame)
}
