/**
 * The items of a feed as chunks of text, for replies that may be much larger than should be held in memory.
 *
 *     a view     queries.visit -> item by item -----.
 *     no view    queries.latest -> page of <= 1,000 -+-> text buffer -> chunk -> socket
 *
 * One chunk, and without a view one page, exists at a time. The next is produced when the consumer asks for it, so a slow
 * client slows reading down instead of filling memory. Chunks, not pages, are the unit of output, because a page of large
 * values would fill memory too. After each chunk the event loop runs. If the view is lost midway, the rest comes from a
 * server, after the same place in the order.
 *
 * @typedef {import('../item/index.js').Place} Place
 * @typedef {import('../view/index.js').Item} Item
 * @typedef {import('../view/index.js').Queries} Queries
 * @typedef {(bytes: Buffer, idAt: number, idEnd: number, ts: number, seq: number, valueAt: number,
 *   valueEnd: number) => boolean | void} Visit
 *   bytes are valid during the call only; false: the page ends after this item
 * @typedef {{ limit: number, sinceMs: number | null, after: Place | null }} Query
 * @typedef {{ next: Place | null, asOf: number, lagMs: number | null }} Page
 * @typedef {Queries & { visit?: (feed: string, query: Query, visit: Visit) => Page | null }} ItemQueries
 *   `visit`: newest first, synchronously from memory; null when no view is ready
 * @typedef {{ bytes: Buffer, next: Place | null, end: boolean, asOf: number, lagMs: number | null }} Chunk
 *   `next`: the place of the last item so far, null when the feed ends there; `asOf` and `lagMs` are those of the first page
 * @typedef {object} Format
 * @property {import('./encode-items.js').ItemWriter} write
 * @property {number} separator the byte between two items, 0 = none
 * @property {number} terminator the byte after each item, 0 = none
 * @property {number} chunkBytes a chunk ends with the item that reaches them
 */
import { setImmediate } from 'node:timers/promises'
import { compareOrder, newestFirst } from '../item/index.js'
import { TextBuffer } from './text-buffer.js'

const PAGE_ITEMS = 1000
const SPARE_BUFFERS = 4

/** Buffers for reuse. @type {TextBuffer[]} */
const spare = []

/**
 * The newest items.
 * @param {ItemQueries} queries
 * @param {string} feed
 * @param {Query} query
 * @param {Format} format
 * @returns {AsyncGenerator<Chunk>} at least one, `limit` items in all; the last has `end`
 */
export async function * newestChunks (queries, feed, { limit, sinceMs, after }, format) {
  const text = openText(format)
  /** @type {{ asOf: number, lagMs: number | null } | null} */
  let first = null
  let place = after
  let node
  let scan
  try {
    for (;;) {
      const rest = { limit: limit - text.items, sinceMs, after: place }
      let page = queries.visit?.(feed, rest, text.visit)
      if (!page) {
        const latest = await queries.latest(feed, { ...rest, limit: Math.min(rest.limit, PAGE_ITEMS), node, scan })
        page = latest
        node = latest.node
        scan = latest.scan
        for (const item of latest.items) {
          if (!text.add(item)) continue
          yield { bytes: text.take(), next: item, end: false, asOf: (first ?? page).asOf, lagMs: (first ?? page).lagMs }
          await setImmediate()
        }
      }
      first ??= page
      place = page.next
      const { asOf, lagMs } = first
      if (place === null || text.items >= limit) return yield { bytes: text.take(), next: place, end: true, asOf, lagMs }
      if (!text.isFull()) continue
      yield { bytes: text.take(), next: place, end: false, asOf, lagMs }
      await setImmediate()
    }
  } finally {
    text.close()
  }
}

/**
 * The newest items of a view, synchronously and in one piece, for pages that take less than a millisecond.
 * @param {ItemQueries} queries
 * @param {string} feed
 * @param {Query} query
 * @param {Format} format `chunkBytes`: of the whole page
 * @param {{ before: string, after: (next: Place | null) => string }} around text before and after the items
 * @returns {{ bytes: Buffer, itemsAt: number, next: Place | null } | null} null: no view is ready, or the page is larger than one chunk
 */
export function newestNow (queries, feed, query, format, { before, after }) {
  const text = openText(format)
  try {
    text.text(before)
    const itemsAt = text.length
    const page = queries.visit?.(feed, query, text.visit)
    if (!page || (page.next !== null && text.items < query.limit)) return null
    text.text(after(page.next))
    return { bytes: text.take(), itemsAt, next: page.next }
  } finally {
    text.close()
  }
}

/**
 * The live items with these ids, newest first.
 * @param {ItemQueries} queries
 * @param {string} feed
 * @param {Buffer[]} ids
 * @param {Query} query
 * @param {Format} format
 * @returns {AsyncGenerator<Chunk>} at least one; the last has `end`
 */
export async function * selectedChunks (queries, feed, ids, { limit, sinceMs, after }, format) {
  const distinct = [...new Map(ids.map((id) => [id.toString(), id])).values()]
  const { items, asOf, lagMs } = await queries.get(feed, distinct)
  const wanted = /** @type {Item[]} */ (items.filter((item) => item !== null &&
    (sinceMs === null || item.ts >= sinceMs) && (after === null || compareOrder(item, after) < 0))).sort(newestFirst)
  const text = openText(format)
  try {
    for (const item of wanted.slice(0, limit)) {
      if (!text.add(item)) continue
      yield { bytes: text.take(), next: item, end: false, asOf, lagMs }
      await setImmediate()
    }
    yield { bytes: text.take(), next: wanted.length > limit ? wanted[limit - 1] : null, end: true, asOf, lagMs }
  } finally {
    text.close()
  }
}

/** Text that is cut into chunks. @param {Format} format */
function openText ({ write, separator, terminator, chunkBytes }) {
  const out = spare.pop() ?? new TextBuffer()
  let items = 0

  /**
   * @param {Buffer} id @param {number} idAt @param {number} idEnd @param {number} ts
   * @param {Buffer} value @param {number} valueAt @param {number} valueEnd
   */
  function put (id, idAt, idEnd, ts, value, valueAt, valueEnd) {
    if (separator && items > 0) out.byte(separator)
    write(out, id, idAt, idEnd, ts, value, valueAt, valueEnd)
    if (terminator) out.byte(terminator)
    items++
    return out.length >= chunkBytes
  }

  return {
    get items () { return items },
    get length () { return out.length },
    isFull: () => out.length >= chunkBytes,

    /** @param {string} text */
    text: (text) => out.text(text),

    /** @type {Visit} */
    visit: (bytes, idAt, idEnd, ts, _seq, valueAt, valueEnd) => !put(bytes, idAt, idEnd, ts, bytes, valueAt, valueEnd),

    /** @param {Item} item @returns {boolean} the chunk is full */
    add: ({ id, ts, value }) => put(id, 0, id.length, ts, value, 0, value.length),

    take: () => out.take(),

    /** Returns the buffer for reuse. */
    close () {
      out.length = 0
      if (spare.length < SPARE_BUFFERS) spare.push(out)
    }
  }
}

/** One item. @param {import('./encode-items.js').ItemWriter} write @param {Item} item @returns {Buffer} */
export function itemBytes (write, item) {
  const text = openText({ write, separator: 0, terminator: 0, chunkBytes: Infinity })
  try {
    text.add(item)
    return text.take()
  } finally {
    text.close()
  }
}
