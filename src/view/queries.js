/**
 * Answers queries about feeds by asking nodes each time, one for each primary that has partitions of the feed. When a connection is
 * lost in between, another node is tried once.
 */
import { listDefinitions, listNames, partitionKey } from '../feeds/index.js'
import { compareOrder, createdMsOf, encodeOffsets, partitionOf } from '../item/index.js'
import { createReadSize, layoutOf, logOf, MAX_READ, newestEntryId } from '../layouts/index.js'
import { createReads } from '../store/index.js'
import { createDefinitionCache, createFeedSecrets, createFeedWaits } from './feed-lookups.js'
import { UNKNOWN_LAG_MS } from './lag.js'
import { readTail } from './log-tail.js'

/** of ids and values in a page */
export const MAX_BYTES = 16 * 1024 * 1024

/** @typedef {import('../layouts/index.js').Item} Item */
/** @typedef {import('../layouts/index.js').Place} Place */
/** @typedef {import('../layouts/index.js').Log} Log */
/** @typedef {import('../layouts/index.js').ReadSize} ReadSize */
/** @typedef {import('../feeds/index.js').Definition} Definition */
/** @typedef {import('../store/index.js').Router} Connection */
/** @typedef {ReturnType<typeof createReads>} Reads */
/** @typedef {ReturnType<typeof createQueries>} Queries */

/**
 * @param {{ deployment: import('../store/index.js').Servers, keyPrefix: string, now: () => number,
 *   definitionOf?: (feed: string) => Definition | null }} parts `now`: the reader's clock, ms; `definitionOf`: the definition of a
 *   feed that the caller opened, which a replica may not have yet
 */
export function createQueries ({ deployment, keyPrefix, now, definitionOf: openedOf = () => null }) {
  const onNode = createOnNode(deployment, now)
  const definitionOf = createDefinitionCache({ keyPrefix, now, lookUp: deployment.lookUp, openedOf })
  const sizeOf = createSizes()
  const keysOf = (/** @type {Definition} */ definition) =>
    Array.from({ length: definition.partitions }, (_, partition) => partitionKey(keyPrefix, definition, partition))
  /** @param {string} feed @param {boolean} [isBackground] as createOnNode */
  const definition = async (feed, isBackground) =>
    (await onNode(async (connection) => ({ definition: await definitionOf(connection, feed) }), undefined, isBackground)).definition
  const names = async () => (await onNode(async (connection) => ({ names: new Set(await listNames(connection, keyPrefix)) }))).names
  const { until } = createFeedWaits({ names, definitionOf: definition })

  return {
    /** Of all feeds that can be read. @param {boolean} [isBackground] as createOnNode @returns {Promise<Definition[]>} */
    definitions: async (isBackground) =>
      (await onNode(async (connection) => ({ list: await listDefinitions(connection, keyPrefix) }), undefined, isBackground)).list,

    /** @type {typeof definition} @throws {import('../errors.js').FreshetError} FEED_UNKNOWN */
    definition,

    /** Waits for a feed that does not exist (feed-lookups.js). */
    untilFeed: until,

    /** For what is sealed (feed-lookups.js). */
    secret: createFeedSecrets({ keyPrefix, lookUp: deployment.lookUp, onNode }),

    /**
     * @param {string} feed
     * @param {{ limit: number, sinceMs?: number | null, after?: Place | null, maxBytes?: number, node?: Reads,
     *   scan?: unknown[], isPlaced?: boolean }} question
     *   a page ends early when ids and values reach `maxBytes`; `next` then starts the next page. `node`: that answered the
     *   page before; the pages of one listing come from the same nodes while they live. `scan`: of the page before, from which some
     *   layouts resume. `isPlaced`: with the position from which a subscription misses nothing that the page lacks
     */
    async latest (feed, { limit, sinceMs = null, after = null, maxBytes = MAX_BYTES, node, scan = [], isPlaced = false }) {
      const { definition, ends, ...page } = await onNode(async (connection) => {
        const definition = await definitionOf(connection, feed)
        // before the page, so that a change in between comes twice, not never
        const ends = isPlaced ? await endsOf(connection, definition, keysOf(definition)) : null
        const of = { definition, keyPrefix, size: sizeOf(feed), nowMs: now() }
        return { ...await mergePages(connection, of, { limit, sinceMs, after, maxBytes, scan }), definition, ends }
      }, node)
      return { ...page, position: ends && positionAt(definition, ends, page) }
    },

    /** @param {string} feed @param {Buffer[]} ids answered in their order; null = not live */
    get: (feed, ids) => onNode(async (connection) => {
      const definition = await definitionOf(connection, feed)
      return { items: await readItems(connection, ids, { definition, keys: keysOf(definition), size: sizeOf(feed), now }) }
    }),

    /**
     * Reads the logs of a feed.
     * @template T
     * @param {string} feed
     * @param {(connection: Connection, of: { definition: Definition, log: Log, keys: ((part: string) => string)[] }) => Promise<T>} read
     *   `keys`: by partition
     * @param {Reads} [node]
     */
    ofLog: (feed, read, node) => onNode(async (connection) => {
      const definition = await definitionOf(connection, feed)
      return read(connection, { definition, log: logOf(layoutOf(definition.layout)), keys: keysOf(definition) })
    }, node),

    /**
     * What arrived last, and the position from which a subscription or a stream misses nothing after it.
     * @param {string} feed @param {number} limit of versions
     * @param {import('../item/index.js').IdFilter | null} [filter] of a client that may see some ids only
     */
    async tail (feed, limit, filter = null) {
      const { definition, ends, ...read } = await onNode(async (connection) => {
        const definition = await definitionOf(connection, feed)
        const keys = keysOf(definition)
        // before the versions, so that one in between comes twice, not never
        const ends = await endsOf(connection, definition, keys)
        const { layout } = definition
        return { definition, ends, ...await readTail(connection, { layout, log: logOf(layoutOf(layout)), keys, limit, filter }) }
      })
      return { items: read.items, isCut: read.isCut, asOf: read.asOf, lagMs: read.lagMs, position: positionAt(definition, ends, read) }
    },

    /** @param {string} feed */
    count: (feed) => onNode(async (connection) => {
      const definition = await definitionOf(connection, feed)
      const layout = layoutOf(definition.layout)
      const counts = await Promise.all(keysOf(definition).map((key) =>
        layout.count(connection, key, { retention: definition, nowMs: now() })))
      return { count: counts.reduce((sum, one) => sum + one.count, 0), exact: counts.every((one) => one.exact) }
    }),

    /** Whether queries can be answered now, and the state of each node. */
    status () {
      const nodes = deployment.nodes()
      try {
        deployment.expectNodes()
        return { ready: true, reasons: [...unconfirmed(deployment.unconfirmedMs), ...deployment.unused().map(reasonOf)], nodes }
      } catch (error) {
        return { ready: false, reasons: [reasonOf(error)], nodes }
      }
    }
  }
}

/** @param {import('../errors.js').FreshetError} error */
const reasonOf = ({ code, message }) => `${code}: ${message}`

/** It is named, but answers go on. @param {number} ms @returns {string[]} */
const unconfirmed = (ms) => ms > 0 ? [`PRIMARY_UNCONFIRMED: no contact with the primary for ${(ms / 1000).toFixed(1)} s`] : []

/** @param {import('../store/index.js').Servers} deployment @param {() => number} now */
function createOnNode (deployment, now) {
  /**
   * @template T
   * @param {(connection: Connection) => Promise<T>} read
   * @param {Reads} [prefer]
   * @param {boolean} [isBackground] no use of the servers (createPace of src/store)
   * @returns {Promise<T & { asOf: number, lagMs: number | null, node: Reads }>}
   */
  return async (read, prefer, isBackground) => {
    const first = createReads(deployment, { prefer, isBackground })
    const answer = async (/** @type {Reads} */ node) => {
      const asOf = deployment.confirmedAt(now())
      return { ...await read(node.router), asOf, lagMs: node.lagMs, node }
    }
    try {
      return await answer(first)
    } catch (error) {
      if (first.lost === undefined) throw error
      return answer(createReads(deployment, { prefer: first, but: first, isBackground }))
    }
  }
}

/** @param {Connection} connection @param {Definition} definition @param {((part: string) => string)[]} keys by partition */
function endsOf (connection, { layout }, keys) {
  const { part } = logOf(layoutOf(layout))
  return Promise.all(keys.map((key) => newestEntryId(connection, key(part))))
}

/** @param {Definition} definition @param {string[]} ends of logs @param {{ asOf: number, lagMs: number | null }} read when they were */
function positionAt (definition, ends, { asOf, lagMs }) {
  const offsets = ends.map((entryId) => {
    const [ms, n] = entryId.split('-').map(Number)
    return { ms, n, versions: 0, isEnd: true }
  })
  return encodeOffsets(definition.feed, { readMs: Math.max(0, asOf - (lagMs ?? UNKNOWN_LAG_MS)), offsets }, createdMsOf(definition))
}

/** How many items to read at once, by feed, learnt from their sizes. */
function createSizes () {
  /** @type {Map<string, ReadSize>} */
  const sizes = new Map()
  return (/** @type {string} */ feed) => {
    const size = sizes.get(feed) ?? createReadSize()
    sizes.set(feed, size)
    return size
  }
}

/**
 * @param {Connection} connection @param {Buffer[]} ids
 * @param {{ definition: Definition, keys: ((part: string) => string)[], size: ReadSize, now: () => number }} of
 * @returns {Promise<(Item | null)[]>}
 */
async function readItems (connection, ids, { definition, keys, size, now }) {
  const layout = layoutOf(definition.layout)
  // one scan of a log finds all ids, and bounds its bytes itself
  const isScanned = layout.describe().versions === 'many'
  const partitions = ids.map((id) => partitionOf(id, keys.length))
  /** @type {(Item | null)[]} */
  const items = new Array(ids.length).fill(null)
  await Promise.all([...new Set(partitions)].map(async (partition) => {
    const mine = ids.map((_, i) => i).filter((i) => partitions[i] === partition)
    for (let from = 0, piece = 0; from < mine.length; from += piece) {
      piece = isScanned ? mine.length : size.of(Math.min(mine.length, MAX_READ), keys.length)
      const part = mine.slice(from, from + piece)
      const found = await layout.get(connection, keys[partition], part.map((i) => ids[i]), { retention: definition, nowMs: now() })
        .catch(shrinkOnLoss(size, part.length, keys.length))
      size.learn(found, bytesOf)
      part.forEach((i, j) => { items[i] = found[j] })
    }
  }))
  return items
}

/** in standard deviations: by how much the share of a partition may exceed the mean */
const SPREAD = 4

/** @typedef {{ key: import('../layouts/index.js').Key, after: Place | null, scan: unknown, waiting: Item[], isDone: boolean }} Source
 *   one partition; `waiting`: items not yet emitted, newest last */

/** @param {Item} item */
const bytesOf = ({ id, value }) => id.length + value.length

/**
 * Makes pieces smaller after a lost connection.
 * @param {ReadSize} size
 * @param {number} piece
 * @param {number} at
 * @returns {(error: any) => never}
 */
const shrinkOnLoss = (size, piece, at) => (error) => {
  if (error.code === 'SERVER_LOST') size.lost(piece, at)
  throw error
}

/**
 * A page of a feed, merged newest first from pages of its partitions: an item is emitted when every partition that has more
 * shows its newest. Pages of a partition are read in pieces whose size follows the values seen before, so a page of 1 MiB
 * values does not fill the memory of server and reader.
 * @param {import('../store/index.js').Router} connection
 * @param {{ definition: import('../feeds/index.js').Definition, keyPrefix: string, size: ReadSize, nowMs: number }} of
 * @param {{ limit: number, sinceMs: number | null, after: Place | null, maxBytes: number, scan: unknown[] }} question
 * @returns {Promise<{ items: Item[], next: Place | null, scan: unknown[] }>}
 */
async function mergePages (connection, { definition, keyPrefix, size, nowMs }, { limit, sinceMs, after, maxBytes, scan }) {
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
