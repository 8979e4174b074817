/**
 * Answers questions about feeds by asking a node each time. One node answers a whole question; when it is lost in the
 * middle, another is asked once.
 *
 * A feed's partitions are merged newest first: each hands out pages, and an item is emitted when every partition that
 * has more shows its newest. Values are fetched in pieces whose size follows the values seen before, so that a page of
 * 1 MiB values does not fill the memory of server and reader.
 */
import { FreshetError } from '../errors.js'
import { listDefinitions, readDefinition } from '../feeds/definitions.js'
import { partitionKey } from '../feeds/keys.js'
import { compareOrder } from '../item/order.js'
import { partitionOf } from '../item/partition.js'
import { layoutOf } from '../layouts/index.js'
import { MAX_PIECE, createPieceSize } from '../layouts/pieces.js'

const DEFINITION_AGE_MS = 500
/** of ids and values in a page */
export const MAX_BYTES = 16 * 1024 * 1024
/** in standard deviations */
const SPREAD = 4

/** @typedef {import('../layouts/index.js').Item} Item */
/** @typedef {import('../layouts/index.js').Place} Place */
/** @typedef {import('../feeds/definitions.js').Definition} Definition */
/** @typedef {import('../store/connection.js').Connection} Connection */
/** @typedef {import('../layouts/pieces.js').PieceSize} PieceSize */
/** @typedef {ReturnType<typeof createAsk>} Ask */

/** @param {Item} item */
const bytesOf = ({ id, value }) => id.length + value.length

/**
 * @param {{ deployment: import('../store/deployment.js').Deployment, keyPrefix: string, now: () => number,
 *   definitionOf?: (feed: string) => Definition | null }} parts `now`: the reader's clock, ms; `definitionOf`: of a feed
 *   that the caller has opened, while a replica does not know it yet
 */
export function createAsk ({ deployment, keyPrefix, now, definitionOf: toldOf = () => null }) {
  /** @type {Map<string, { definition: Definition, atMs: number }>} */
  const definitions = new Map()
  /** @type {Map<string, PieceSize>} of each feed, as its items were lately */
  const sizes = new Map()

  /**
   * @template T
   * @param {(connection: Connection) => Promise<T>} question
   * @param {Connection} [prefer]
   * @returns {Promise<T & { asOf: number, lagMs: number | null, node: Connection }>}
   */
  async function asked (question, prefer) {
    const first = deployment.pick({ prefer })
    const asOf = now()
    try {
      return { ...await question(first.connection), asOf, lagMs: first.lagMs, node: first.connection }
    } catch (error) {
      if (error.code !== 'SERVER_LOST') throw error
      const second = deployment.pick({ but: first.connection })
      const asOfSecond = now()
      return { ...await question(second.connection), asOf: asOfSecond, lagMs: second.lagMs, node: second.connection }
    }
  }

  /** @param {Connection} connection @param {string} feed */
  async function definitionOf (connection, feed) {
    const known = definitions.get(feed)
    if (known && now() - known.atMs < DEFINITION_AGE_MS) return known.definition
    definitions.delete(feed)
    const definition = await readDefinition(connection, keyPrefix, feed).catch((error) => {
      const told = error.code === 'FEED_UNKNOWN' ? toldOf(feed) : null
      if (told) return told
      throw error
    })
    const { format } = layoutOf(definition.layout)
    if (definition.format !== format) {
      throw new FreshetError('FEED_DEFINITION_DIFFERS', `feed ${feed} is stored in format ${definition.format} of layout ${definition.layout}; this version reads ${format}: use the version that wrote it, or drop the feed`)
    }
    definitions.set(feed, { definition, atMs: now() })
    return definition
  }

  /** @param {string} feed */
  function sizeOf (feed) {
    const size = sizes.get(feed) ?? createPieceSize()
    sizes.set(feed, size)
    return size
  }

  /** @param {PieceSize} size @param {number} piece @param {number} at @returns {(error: any) => never} */
  const smallerNext = (size, piece, at) => (error) => {
    if (error.code === 'SERVER_LOST') size.lost(piece, at)
    throw error
  }

  /**
   * @param {Connection} connection @param {Definition} definition
   * @param {{ limit: number, sinceMs: number | null, after: Place | null, maxBytes: number, walk: unknown[] }} question
   * @returns {Promise<{ items: Item[], next: Place | null, walk: unknown[] }>}
   */
  async function merged (connection, definition, { limit, sinceMs, after, maxBytes, walk }) {
    const layout = layoutOf(definition.layout)
    const size = sizeOf(definition.feed)
    const nowMs = now()
    const sources = Array.from({ length: definition.partitions }, (_, partition) => ({
      key: partitionKey(keyPrefix, definition.feed, partition),
      place: after,
      walk: walk[partition],
      /** @type {Item[]} newest last */
      waiting: [],
      done: false
    }))
    // ids spread evenly: its share, and what chance may add to it, is what a partition has to give
    const share = limit / sources.length
    const wanted = Math.min(limit, Math.ceil(share + SPREAD * Math.sqrt(share)))
    /** @param {typeof sources[0]} source */
    const refill = async (source) => {
      while (source.waiting.length === 0 && !source.done) {
        const piece = size.of(Math.min(wanted, MAX_PIECE), sources.length)
        const page = await layout.latest(connection, source.key, { limit: piece, after: source.place, walk: source.walk, sinceMs, retention: definition, nowMs })
          .catch(smallerNext(size, piece, sources.length))
        size.learn(page.items, bytesOf)
        source.waiting = page.items.reverse()
        source.place = page.next
        source.walk = page.walk
        source.done = page.next === null
      }
    }
    /** @type {Item[]} */
    const items = []
    let bytes = 0
    while (items.length < limit && bytes < maxBytes) {
      await Promise.all(sources.map(refill))
      const heads = sources.filter((source) => source.waiting.length > 0)
      if (heads.length === 0) break
      let emptied = false
      do {
        const newest = heads.reduce((a, b) => compareOrder(/** @type {Item} */ (a.waiting.at(-1)), /** @type {Item} */ (b.waiting.at(-1))) > 0 ? a : b)
        const item = /** @type {Item} */ (newest.waiting.pop())
        items.push(item)
        bytes += item.value.length + item.id.length
        emptied = newest.waiting.length === 0
      } while (!emptied && items.length < limit && bytes < maxBytes)
    }
    const more = sources.some((source) => source.waiting.length > 0 || !source.done)
    const last = items.at(-1)
    return { items, next: more && last ? { ts: last.ts, seq: last.seq, id: last.id } : null, walk: sources.map((source) => source.walk) }
  }

  return {
    /** Those that can be read. @returns {Promise<Definition[]>} */
    definitions: async () => (await asked(async (connection) => ({ list: await listDefinitions(connection, keyPrefix) }))).list,

    /** @param {string} feed @throws {import('../errors.js').FreshetError} FEED_UNKNOWN */
    definition: async (feed) => (await asked(async (connection) => ({ definition: await definitionOf(connection, feed) }))).definition,

    /**
     * @param {string} feed
     * @param {{ limit: number, sinceMs?: number | null, after?: Place | null, maxBytes?: number, node?: Connection, walk?: unknown[] }} question
     *   a page ends early when ids and values reach `maxBytes`; `next` then says where to go on. `node`: who answered the
     *   page before; pages of one answer come from one node as long as it lives. `walk`: of the page before, which some
     *   layouts go on from
     */
    latest: (feed, { limit, sinceMs = null, after = null, maxBytes = MAX_BYTES, node, walk = [] }) => asked(async (connection) =>
      merged(connection, await definitionOf(connection, feed), { limit, sinceMs, after, maxBytes, walk }), node),

    /** @param {string} feed @param {Buffer[]} ids answered in their order; null = not live */
    get: (feed, ids) => asked(async (connection) => {
      const definition = await definitionOf(connection, feed)
      const layout = layoutOf(definition.layout)
      const size = sizeOf(feed)
      const isWalked = layout.describe().versions === 'many'
      const places = ids.map((id) => partitionOf(id, definition.partitions))
      /** @type {(Item | null)[]} */
      const items = new Array(ids.length).fill(null)
      await Promise.all([...new Set(places)].map(async (partition) => {
        const mine = ids.map((_, i) => i).filter((i) => places[i] === partition)
        const key = partitionKey(keyPrefix, feed, partition)
        for (let from = 0, piece = 0; from < mine.length; from += piece) {
          // one walk finds all of them, and takes care of its bytes itself
          piece = isWalked ? mine.length : size.of(Math.min(mine.length, MAX_PIECE), definition.partitions)
          const part = mine.slice(from, from + piece)
          const found = await layout.get(connection, key, part.map((i) => ids[i]), { retention: definition, nowMs: now() })
            .catch(smallerNext(size, part.length, definition.partitions))
          size.learn(found, bytesOf)
          part.forEach((i, j) => { items[i] = found[j] })
        }
      }))
      return { items }
    }),

    /**
     * Versions of one partition by event time, oldest first (layouts/index.js).
     * @param {string} feed @param {number} partition
     * @param {{ after: Place | null, sinceMs: number, limit: number, known: (version: Place) => boolean, node?: Connection }} question
     */
    tail: (feed, partition, { node, ...question }) => asked(async (connection) => {
      const definition = await definitionOf(connection, feed)
      const key = partitionKey(keyPrefix, feed, partition)
      return layoutOf(definition.layout).tail(connection, key, { ...question, retention: definition, nowMs: now() })
    }, node),

    /**
     * Asks a node about the logs of a feed, of a layout that has one.
     * @template T
     * @param {string} feed
     * @param {(connection: Connection, of: { definition: Definition, log: import('../layouts/log.js').Log, keys: ((part: string) => string)[] }) => Promise<T>} question
     *   `keys`: by partition; none when the feed has another layout by now
     * @param {Connection} [node]
     */
    ofLog: (feed, question, node) => asked(async (connection) => {
      const definition = await definitionOf(connection, feed)
      const { log } = layoutOf(definition.layout)
      const keys = log ? Array.from({ length: definition.partitions }, (_, partition) => partitionKey(keyPrefix, feed, partition)) : []
      return question(connection, { definition, log: /** @type {import('../layouts/log.js').Log} */ (log), keys })
    }, node),

    /** @param {string} feed */
    count: (feed) => asked(async (connection) => {
      const definition = await definitionOf(connection, feed)
      const layout = layoutOf(definition.layout)
      const counts = await Promise.all(Array.from({ length: definition.partitions }, (_, partition) =>
        layout.count(connection, partitionKey(keyPrefix, feed, partition), { retention: definition, nowMs: now() })))
      return { count: counts.reduce((sum, one) => sum + one.count, 0), exact: counts.every((one) => one.exact) }
    }),

    /** Whether questions can be answered now, and what each node is doing. */
    status () {
      const nodes = deployment.nodes()
      try {
        deployment.pick()
        return { ready: true, reasons: [], nodes }
      } catch (error) {
        return { ready: false, reasons: [`${error.code}: ${error.message}`], nodes }
      }
    }
  }
}
