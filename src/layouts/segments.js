/**
 * Layout `segments`: a log of batches. Each batch is one stream entry, a byte string with all its items (item/segment.js).
 *
 *     fr:{feed:p}:segments     stream     <ms>-<n>  s <segment>       and the keys of log-layout.js
 *
 * The server stores a batch with one command and knows nothing of its items, which costs a tenth of a sorted set (experiment
 * 001). Readers do what the server does not: order, replace and expire. A view does so (src/view); without one, answers come
 * from a bounded scan of the newest entries (log.js).
 *
 * The newest version of an id counts, however late an older one arrives; of equal versions the later append. A deletion is a
 * version too. maxItems keeps the versions that arrived last, superseded ones and deletions included.
 */
import { eachVersion, itemBytes, METHODS, packItems, SEGMENT_HEAD_BYTES, segmentHead, writeItem, writeSegmentHead } from '../item/index.js'
import { createLogFrame, createLogLayout, framed, HEAD_BUDGET, xaddHead } from './log-layout.js'
import { nextStamp, originOfProcess } from './log-origin.js'
import { NOTHING, Wire } from './wire.js'

/** segments are large, and freeing them blocks the server */
const TRIM_ENTRIES = 500
/** larger batches hardly reduce the processor time per item */
const MAX_SEGMENT_ITEMS = 10_000

/** @type {Readonly<import('./log.js').Log>} */
const log = Object.freeze({ part: 'segments', field: 's', head: segmentHead, each: eachVersion })

export const segments =
  createLogLayout({ log, createBatch: createSegmentsBatch, maxBatchItems: MAX_SEGMENT_ITEMS, trimEntries: TRIM_ENTRIES })

/**
 * A batch of layout `segments`: one entry, whose value is a segment (item/segment.js) of all items.
 *
 *     XADD segments * s <segment>
 *
 * Items are encoded when they are added; the head of the segment and its length when the batch is sent. `compress` packs the
 * items then, if that makes them smaller.
 */

const ITEMS_AT = HEAD_BUDGET + SEGMENT_HEAD_BYTES
const LINE_END = Buffer.from('\r\n')

/** @type {import('./index.js').Layout['createBatch']} */
function createSegmentsBatch ({ key, ttlMs, maxItems, clock = Date.now, origin = originOfProcess(), compress = 'none' }) {
  const items = new Wire(64 * 1024)
  const frame = createLogFrame({ key, part: 'segments', ttlMs, maxItems, origin })
  const head = xaddHead(key('segments'), 's')
  let count = 0
  let firstTs = 0
  let lastTs = 0
  let stamp = 0
  let isClosed = false
  items.length = ITEMS_AT

  /** @param {Buffer} id @param {number} ts @param {number} seq @param {Buffer} value @param {boolean} deleted */
  function encode (id, ts, seq, value, deleted) {
    if (count === 0) {
      stamp = nextStamp(clock)
      firstTs = lastTs = ts
    } else if (ts > lastTs) lastTs = ts
    else if (ts < firstTs) firstTs = ts
    items.reserve(itemBytes(id, value))
    items.length = writeItem(items.bytes, items.length, id, ts, seq, value, deleted)
    count++
  }

  let length = NOTHING
  function close () {
    isClosed = true
    const itemsBytes = items.length - ITEMS_AT
    const {
      end, method
    } = compress === 'none' ? { end: items.length, method: METHODS.none } : packItems(items.bytes, ITEMS_AT, items.length)
    items.length = end
    writeSegmentHead(items.bytes, HEAD_BUDGET, end,
      { count, firstTs, lastTs, stamp, writer: origin.writer, epoch: origin.epoch, sequence: origin.next(), method, itemsBytes })
    length = Buffer.concat([head, Buffer.from(`$${items.length - HEAD_BUDGET}\r\n`)])
    items.reserve(LINE_END.length)
    items.short(LINE_END)
  }

  return framed({
    get count () { return count },
    get bytes () { return items.length },
    maxItems: MAX_SEGMENT_ITEMS,
    add: (id, ts, seq, value) => encode(id, ts, seq, value, false),
    remove: (id, ts, seq) => encode(id, ts, seq, NOTHING, true),
    encoded () {
      if (!isClosed) close()
      return frame.around(items, { count, lastTs, head: length, entries: 1 })
    },
    reset () {
      count = 0
      isClosed = false
      items.length = ITEMS_AT
      frame.reset()
    }
  }, frame)
}
