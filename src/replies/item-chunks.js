/**
 * The items of a feed as chunks of text, for replies that may be much larger than should be held in memory.
 *
 *     a view     queries.visit -> item by item -----.
 *     no view    queries.latest -> page of <= 1,000 -+-> text buffer -> chunk -> socket
 *
 * One chunk, and without a view one page of up to 2 MiB, exists at a time. The next is produced when the consumer asks for it, so a slow
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
 * @typedef {{ next: Place | null, asOf: number, lagMs: number | null, isCut?: boolean }} Page `isCut`: no more is read for this reply
 * @typedef {Pick<Queries, 'latest' | 'get'> & { visit?: (feed: string, query: Query, visit: Visit) => Page | null }} ItemQueries
 *   `visit`: newest first, synchronously from memory; null when no view is ready
 * @typedef {{ bytes: Buffer, items: number, next: Place | null, end: boolean, isCut?: boolean, asOf: number, lagMs: number | null }} Chunk
 *   `items`: so far; `next`: the place of the last item so far, null when the feed ends there; `isCut`: it ended before its limit, at the
 *   bound of a scan (view/filtered-queries.js); `asOf` and `lagMs` are those of the first page
 * @typedef {object} Format
 * @property {import('./encode-items.js').ItemWriter} write
 * @property {number} separator the byte between two items, 0 = none
 * @property {number} terminator the byte after each item, 0 = none
 * @property {number} chunkBytes a chunk ends with the item that reaches them
 */
import { setImmediate } from 'node:timers/promises'
import { compareOrder, newestFirst } from '../item/index.js'
import { TextBuffer } from './encode-items.js'

export const PAGE_ITEMS = 1000
export const PAGE_BYTES = 2 * 1024 * 1024
/** of values, in a reply by ids */
const SELECTED_BYTES = 16 * 1024 * 1024
/** of ids; items have up to 1 MiB each */
const FIRST_GROUP = 16
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
        const latest = await queries.latest(feed, { ...rest, limit: Math.min(rest.limit, PAGE_ITEMS), maxBytes: PAGE_BYTES, node, scan })
        page = latest
        node = latest.node
        scan = latest.scan
        for (const item of latest.items) {
          if (!text.add(item)) continue
          const { asOf, lagMs } = first ?? page
          yield { bytes: text.take(), items: text.items, next: item, end: false, asOf, lagMs }
          await setImmediate()
        }
      }
      first ??= page
      place = page.next
      const { asOf, lagMs } = first
      const { isCut } = page
      if (place === null || text.items >= limit || isCut) {
        return yield { bytes: text.take(), items: text.items, next: place, end: true, isCut, asOf, lagMs }
      }
      if (!text.isFull()) continue
      yield { bytes: text.take(), items: text.items, next: place, end: false, asOf, lagMs }
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
 * @returns {{ bytes: Buffer, itemsAt: number, items: number, next: Place | null } | null} null: no view is ready, or
 *   the page is larger than one chunk
 */
export function newestNow (queries, feed, query, format, { before, after }) {
  const text = openText(format)
  try {
    text.text(before)
    const itemsAt = text.length
    const page = queries.visit?.(feed, query, text.visit)
    if (!page || (page.next !== null && text.items < query.limit)) return null
    text.text(after(page.next))
    return { bytes: text.take(), itemsAt, items: text.items, next: page.next }
  } finally {
    text.close()
  }
}

/**
 * The live items with these ids, newest first, as far as SELECTED_BYTES reach.
 * @param {ItemQueries} queries
 * @param {string} feed
 * @param {Buffer[]} ids
 * @param {Query} query
 * @param {Format} format
 * @returns {AsyncGenerator<Chunk>} at least one; the last has `end`
 */
export async function * selectedChunks (queries, feed, ids, query, format) {
  const distinct = [...new Map(ids.map((id) => [id.toString(), id])).values()]
  const { items, next, asOf, lagMs } = await select(queries, feed, distinct, query)
  const text = openText(format)
  try {
    for (const item of items) {
      if (!text.add(item)) continue
      yield { bytes: text.take(), items: text.items, next: item, end: false, asOf, lagMs }
      await setImmediate()
    }
    yield { bytes: text.take(), items: text.items, next, end: true, asOf, lagMs }
  } finally {
    text.close()
  }
}

/**
 * Reads items in groups of a few MiB and keeps the newest, so that a thousand ids of large items do not fill memory.
 * @param {ItemQueries} queries @param {string} feed @param {Buffer[]} ids distinct @param {Query} query
 * @returns {Promise<{ items: Item[], next: Place | null, asOf: number, lagMs: number | null }>} newest first
 */
async function select (queries, feed, ids, { limit, sinceMs, after }) {
  const isWanted = (/** @type {Item | null} */ item) => item !== null && (sinceMs === null || item.ts >= sinceMs) &&
    (after === null || compareOrder(item, after) < 0)
  /** @type {Item[]} */
  let kept = []
  let isCut = false
  let group = FIRST_GROUP
  let asOf = Infinity
  /** @type {number | null} */
  let lagMs = 0
  let at = 0
  do {
    const read = await queries.get(feed, ids.slice(at, at + group))
    at += group
    asOf = Math.min(asOf, read.asOf)
    lagMs = lagMs === null || read.lagMs === null ? null : Math.max(lagMs, read.lagMs)
    const matches = /** @type {Item[]} */ (read.items.filter(isWanted))
    group = Math.max(1, Math.min(PAGE_ITEMS, Math.floor(PAGE_BYTES * matches.length / Math.max(1, bytesOf(matches))) || 2 * group))
    const all = [...kept, ...matches].sort(newestFirst)
    kept = cut(all, limit)
    isCut ||= kept.length < all.length
  } while (at < ids.length)
  return { items: kept, next: isCut ? kept[kept.length - 1] : null, asOf, lagMs }
}

/** @param {Item[]} items */
const bytesOf = (items) => items.reduce((bytes, { value }) => bytes + value.length, 0)

/** @param {Item[]} items @param {number} limit @returns {Item[]} the first ones, to the one that reaches a limit */
function cut (items, limit) {
  let bytes = 0
  const end = items.findIndex(({ value }, i) => i + 1 >= limit || (bytes += value.length) >= SELECTED_BYTES)
  return end < 0 ? items : items.slice(0, end + 1)
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
