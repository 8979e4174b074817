/**
 * A feed's items as chunks of text, for answers that may be far larger than what should lie in memory.
 *
 *     a view     ask.visit -> item by item -----.
 *     no view    ask.latest -> page of <= 1,000 -+-> text buffer -> chunk -> socket
 *
 * One chunk, and without a view one page, exists at a time; the next is made when the consumer asks for it, so a slow client
 * slows the reading down instead of filling memory. The loop is given back after each chunk. Chunks, not pages, are the
 * unit of output, because a page of large values would fill memory too. A view that is lost half-way is no end: what follows
 * comes from a server, behind the same place in the order.
 *
 * @typedef {import('../item/order.js').Place} Place
 * @typedef {import('../view/ask.js').Item} Item
 * @typedef {import('../view/ask.js').Ask} Ask
 * @typedef {(bytes: Buffer, idAt: number, idEnd: number, ts: number, seq: number, valueAt: number, valueEnd: number) => boolean | void} Visit
 *   bytes are looked at during the call only; false: the page ends behind this item
 * @typedef {{ limit: number, sinceMs: number | null, after: Place | null }} Question
 * @typedef {Ask & { visit?: (feed: string, question: Question, visit: Visit) => { next: Place | null, asOf: number, lagMs: number | null } | null }} Asked
 *   `visit`: newest first, from memory, at once; null when no view is ready
 * @typedef {{ bytes: Buffer, next: Place | null, end: boolean, asOf: number, lagMs: number | null }} Chunk
 *   `next`: the place behind the last item so far, null when the feed ends there; `asOf` and `lagMs` are the first page's
 * @typedef {object} Format
 * @property {import('./encode.js').ItemWriter} write
 * @property {number} between the byte between two items, 0 = none
 * @property {number} behind the byte behind each item, 0 = none
 * @property {number} chunkBytes a chunk ends with the item that reaches them
 */
import { setImmediate } from 'node:timers/promises'
import { compareOrder, newestFirst } from '../item/order.js'
import { TextBuffer } from './text-buffer.js'

const PAGE_ITEMS = 1000
const SPARE_BUFFERS = 4

/** @type {TextBuffer[]} used one after another */
const spare = []

/**
 * The newest items.
 * @param {Asked} ask
 * @param {string} feed
 * @param {Question} question
 * @param {Format} format
 * @returns {AsyncGenerator<Chunk>} at least one, `limit` items in all; the last has `end`
 */
export async function * newestChunks (ask, feed, { limit, sinceMs, after }, format) {
  const text = openText(format)
  /** @type {{ asOf: number, lagMs: number | null } | null} */
  let first = null
  let place = after
  let node
  let walk
  try {
    for (;;) {
      const question = { limit: limit - text.items, sinceMs, after: place }
      let page = ask.visit?.(feed, question, text.visit)
      if (!page) {
        const asked = await ask.latest(feed, { ...question, limit: Math.min(question.limit, PAGE_ITEMS), node, walk })
        page = asked
        node = asked.node
        walk = asked.walk
        for (const item of asked.items) {
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
 * The newest items out of a view, at once and in one piece, for pages that a view can give in less than a millisecond.
 * @param {Asked} ask
 * @param {string} feed
 * @param {Question} question
 * @param {Format} format `chunkBytes`: no more than one chunk is made
 * @param {{ before: string, after: (next: Place | null) => string }} around what stands before the items and after them
 * @returns {{ bytes: Buffer, itemsAt: number, next: Place | null } | null} null: no view answers now, or it is more than one chunk
 */
export function newestNow (ask, feed, question, format, { before, after }) {
  const text = openText(format)
  try {
    text.text(before)
    const itemsAt = text.length
    const page = ask.visit?.(feed, question, text.visit)
    if (!page || (page.next !== null && text.items < question.limit)) return null
    text.text(after(page.next))
    return { bytes: text.take(), itemsAt, next: page.next }
  } finally {
    text.close()
  }
}

/**
 * Those of the ids that are live, newest first.
 * @param {Asked} ask
 * @param {string} feed
 * @param {Buffer[]} ids
 * @param {Question} question
 * @param {Format} format
 * @returns {AsyncGenerator<Chunk>} at least one; the last has `end`
 */
export async function * chosenChunks (ask, feed, ids, { limit, sinceMs, after }, format) {
  const distinct = [...new Map(ids.map((id) => [id.toString(), id])).values()]
  const { items, asOf, lagMs } = await ask.get(feed, distinct)
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

/** The text that a chunk is cut from. @param {Format} format */
function openText ({ write, between, behind, chunkBytes }) {
  const out = spare.pop() ?? new TextBuffer()
  let items = 0

  /** @param {Buffer} id @param {number} idAt @param {number} idEnd @param {number} ts @param {Buffer} value @param {number} valueAt @param {number} valueEnd */
  function put (id, idAt, idEnd, ts, value, valueAt, valueEnd) {
    if (between && items > 0) out.byte(between)
    write(out, id, idAt, idEnd, ts, value, valueAt, valueEnd)
    if (behind) out.byte(behind)
    items++
    return out.length >= chunkBytes
  }

  return {
    get items () { return items },
    get length () { return out.length },
    isFull: () => out.length >= chunkBytes,

    /** @param {string} words */
    text: (words) => out.text(words),

    /** @type {Visit} */
    visit: (bytes, idAt, idEnd, ts, _seq, valueAt, valueEnd) => !put(bytes, idAt, idEnd, ts, bytes, valueAt, valueEnd),

    /** @param {Item} item @returns {boolean} the chunk is full */
    add: ({ id, ts, value }) => put(id, 0, id.length, ts, value, 0, value.length),

    take: () => out.take(),

    /** The buffer is somebody else's from here on. */
    close () {
      out.length = 0
      if (spare.length < SPARE_BUFFERS) spare.push(out)
    }
  }
}

/** One item. @param {import('./encode.js').ItemWriter} write @param {Item} item @returns {Buffer} */
export function itemBytes (write, item) {
  const text = openText({ write, between: 0, behind: 0, chunkBytes: Infinity })
  try {
    text.add(item)
    return text.take()
  } finally {
    text.close()
  }
}
