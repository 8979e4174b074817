/**
 * A feed's items as chunks of text, for answers that may be far larger than what should lie in memory.
 *
 *     ask.latest -> page of <= 1,000 items -> line per item -> chunk of about 64 KiB -> socket
 *
 * One page and one chunk exist at a time; the next is made when the consumer asks for it, so a slow client slows the
 * reading down instead of filling memory. The loop is given back after each chunk. Chunks, not pages, are the unit of
 * output, because a page of large values would not fit into one string.
 *
 * @typedef {import('../item/order.js').Place} Place
 * @typedef {import('../view/ask.js').Item} Item
 * @typedef {import('../view/ask.js').Ask} Ask
 * @typedef {{ items: Item[], next: Place | null, asOf: number, lagMs: number | null }} Page
 * @typedef {{ limit: number, sinceMs: number | null, after: Place | null }} Question
 * @typedef {{ bytes: Buffer, next: Place | null, end: boolean, asOf: number, lagMs: number | null }} Chunk
 *   `next`: the place behind the last item so far, null when the feed ends there; `asOf` and `lagMs` are the first page's
 */
import { setImmediate } from 'node:timers/promises'
import { compareOrder, newestFirst } from '../item/order.js'

const PAGE_ITEMS = 1000
const CHUNK_CHARS = 64 * 1024

/**
 * @param {Ask} ask
 * @param {string} feed
 * @param {Question} question
 * @returns {AsyncGenerator<Page>} newest first, `limit` items in all
 */
export async function * latestPages (ask, feed, { limit, sinceMs, after }) {
  let missing = limit
  /** @type {Place | null} */
  let place = after
  let node
  let walk
  do {
    const page = await ask.latest(feed, { limit: Math.min(missing, PAGE_ITEMS), sinceMs, after: place, node, walk })
    node = page.node
    walk = page.walk
    missing -= page.items.length
    place = page.next
    yield page
  } while (missing > 0 && place !== null)
}

/**
 * @param {Ask} ask
 * @param {string} feed
 * @param {Buffer[]} ids
 * @param {Question} question
 * @returns {AsyncGenerator<Page>} one page: those of the ids that are live, newest first
 */
export async function * chosenPages (ask, feed, ids, { limit, sinceMs, after }) {
  const distinct = [...new Map(ids.map((id) => [id.toString(), id])).values()]
  const { items, asOf, lagMs } = await ask.get(feed, distinct)
  const wanted = /** @type {Item[]} */ (items.filter((item) => item !== null &&
    (sinceMs === null || item.ts >= sinceMs) && (after === null || compareOrder(item, after) < 0))).sort(newestFirst)
  const shown = wanted.slice(0, limit)
  yield { items: shown, next: wanted.length > limit ? shown[limit - 1] : null, asOf, lagMs }
}

/**
 * @param {AsyncGenerator<Page>} pages at least one
 * @param {(item: Item) => string} line
 * @param {{ between: string, behind: string }} marks what stands between two items, and behind each
 * @returns {AsyncGenerator<Chunk>} at least one; the last has `end`
 */
export async function * chunksOf (pages, line, { between, behind }) {
  /** @type {Page | null} */
  let first = null
  /** @type {Place | null} */
  let next = null
  let text = ''
  let separator = ''
  for await (const page of pages) {
    first ??= page
    for (const item of page.items) {
      text += separator + line(item) + behind
      separator = between
      if (text.length < CHUNK_CHARS) continue
      yield { bytes: Buffer.from(text), next: item, end: false, asOf: first.asOf, lagMs: first.lagMs }
      text = ''
      await setImmediate()
    }
    next = page.next
  }
  const { asOf, lagMs } = /** @type {Page} */ (/** @type {unknown} */ (first))
  yield { bytes: Buffer.from(text), next, end: true, asOf, lagMs }
}
