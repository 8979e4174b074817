/**
 * A page of a feed, merged newest first from pages of its partitions: an item is emitted when every partition that has more
 * shows its newest. Pages of a partition are read in pieces whose size follows the values seen before, so a page of 1 MiB
 * values does not fill the memory of server and reader.
 */
import { partitionKey } from '../feeds/index.js'
import { compareOrder } from '../item/index.js'
import { layoutOf, MAX_READ } from '../layouts/index.js'

/** in standard deviations: by how much the share of a partition may exceed the mean */
const SPREAD = 4

/** @typedef {import('../layouts/index.js').Item} Item */
/** @typedef {import('../layouts/index.js').Place} Place */
/** @typedef {import('../layouts/index.js').ReadSize} ReadSize */
/** @typedef {{ key: import('../layouts/index.js').Key, after: Place | null, scan: unknown, waiting: Item[], isDone: boolean }} Source
 *   one partition; `waiting`: items not yet emitted, newest last */

/** @param {Item} item */
export const bytesOf = ({ id, value }) => id.length + value.length

/**
 * Makes pieces smaller after a lost connection.
 * @param {ReadSize} size
 * @param {number} piece
 * @param {number} at
 * @returns {(error: any) => never}
 */
export const shrinkOnLoss = (size, piece, at) => (error) => {
  if (error.code === 'SERVER_LOST') size.lost(piece, at)
  throw error
}

/**
 * @param {import('../store/index.js').Router} connection
 * @param {{ definition: import('../feeds/index.js').Definition, keyPrefix: string, size: ReadSize, nowMs: number }} of
 * @param {{ limit: number, sinceMs: number | null, after: Place | null, maxBytes: number, scan: unknown[] }} question
 * @returns {Promise<{ items: Item[], next: Place | null, scan: unknown[] }>}
 */
export async function mergePages (connection, { definition, keyPrefix, size, nowMs }, { limit, sinceMs, after, maxBytes, scan }) {
  const layout = layoutOf(definition.layout)
  /** @type {Source[]} */
  const sources = Array.from({ length: definition.partitions }, (_, partition) => ({
    key: partitionKey(keyPrefix, definition, partition), after, scan: scan[partition], waiting: [], isDone: false
  }))
  // ids spread evenly over partitions
  const share = limit / sources.length
  const wanted = Math.min(limit, MAX_READ, Math.ceil(share + SPREAD * Math.sqrt(share)))

  /** @param {Source} source */
  async function refill (source) {
    while (source.waiting.length === 0 && !source.isDone) {
      const piece = size.of(wanted, sources.length)
      const question = { limit: piece, after: source.after, scan: source.scan, sinceMs, retention: definition, nowMs, size }
      const page = await layout.latest(connection, source.key, question).catch(shrinkOnLoss(size, piece, sources.length))
      size.learn(page.items, bytesOf)
      Object.assign(source, { waiting: page.items.reverse(), after: page.next, scan: page.scan, isDone: page.next === null })
    }
  }

  /** @type {Item[]} */
  const items = []
  let bytes = 0
  while (items.length < limit && bytes < maxBytes) {
    await Promise.all(sources.map(refill))
    const heads = sources.filter((source) => source.waiting.length > 0)
    if (heads.length === 0) break
    let isEmptied = false
    do {
      const newest = newestOf(heads)
      const item = /** @type {Item} */ (newest.waiting.pop())
      items.push(item)
      bytes += bytesOf(item)
      isEmptied = newest.waiting.length === 0
    } while (!isEmptied && items.length < limit && bytes < maxBytes)
  }
  const isMore = sources.some((source) => source.waiting.length > 0 || !source.isDone)
  const last = items.at(-1)
  return { items, next: isMore && last ? { ts: last.ts, seq: last.seq, id: last.id } : null, scan: sources.map((source) => source.scan) }
}

/** @param {Source[]} heads none is empty @returns {Source} whose next item is the newest */
const newestOf = (heads) => heads.reduce((a, b) =>
  compareOrder(/** @type {Item} */ (a.waiting.at(-1)), /** @type {Item} */ (b.waiting.at(-1))) > 0 ? a : b)
