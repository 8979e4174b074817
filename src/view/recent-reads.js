/**
 * Reads what is stored of a feed of which only changes are followed (recent.js), from the nodes that are followed, and keeps it: unless an
 * entry of the log came in the meantime, or the version is kept already. Then it waits for the entries of what was read, so that no version
 * is sent once because it was read, and again because it came.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { compareOrder, newestFirst, partitionOf } from '../item/index.js'
import { createReadSize, MAX_READ } from '../layouts/index.js'

/** then a version may come twice */
const CATCH_UP_MS = 1000
/** that are sorted for a snapshot */
const FEW_IDS = 10_000
/** bytes that are kept, of which the largest read is a quarter: what was loaded is there until it is sent */
const KEPT_FOR_A_READ = 32 * 1024 * 1024

/** @typedef {import('../item/index.js').OrderKey} OrderKey */
/** @typedef {import('../layouts/index.js').StoredVersion} StoredVersion */
/** @typedef {import('../store/index.js').Connection} Connection */
/** @typedef {(id: string, version: StoredVersion | null) => void} Keep ids as latin1 */

/**
 * @typedef {{ layout: import('../layouts/index.js').Layout, keys: ((part: string) => string)[], loads: Set<Set<string>>,
 *   kept: import('./kept-versions.js').KeptVersions, maxBytes: () => number, now: () => number,
 *   definition: () => import('../feeds/index.js').Definition,
 *   orders: import('./newest-orders.js').NewestOrders[] | null, connectionOf: (partition: number) => Connection | null,
 *   caughtUpIn: (partition: number, node: import('../store/index.js').Router) => Promise<void> }} Parts `loads`: of each that is under way,
 *   the ids that arrived since it was asked for; `orders`: of each partition, where several versions of an id are stored; `connectionOf`:
 *   null = the partition is not followed at the moment
 */

/**
 * What the nodes that are followed have stored of ids.
 * @param {Pick<Parts, 'layout' | 'keys' | 'now' | 'definition' | 'orders'> & { size: import('../layouts/index.js').ReadSize,
 *   connectionTo: (partition: number) => Connection }} parts
 */
function createStored ({ layout, keys, now, definition, orders, size, connectionTo }) {
  const versionsAt = /** @type {NonNullable<typeof layout.versionsAt>} */ (layout.versionsAt)

  /**
   * What is stored of ids of a partition.
   * @param {number} partition @param {string[]} ids @returns {Promise<[id: string, version: StoredVersion | null][]>}
   */
  async function storedOf (partition, ids) {
    const connection = connectionTo(partition)
    /** @param {import('../item/index.js').VersionKey[]} versionKeys */
    const read = (versionKeys) => versionsAt(connection, keys[partition], /** @type {any} */ (versionKeys), size)
    if (orders === null) {
      // of a layout with one version, the id is enough
      const versions = await read(ids.map((id) => /** @type {any} */ ({ id: Buffer.from(id, 'latin1') })))
      return ids.map((id, i) => [id, versions[i]])
    }
    const { windowMs, maxItems } = definition()
    const [versions, floor] = await Promise.all([
      orders[partition].orderKeysOf(connection, ids).then(read),
      maxItems > 0 ? layout.floor?.(connection, keys[partition], definition()) ?? null : null
    ])
    const minTs = windowMs > 0 ? now() - windowMs : 0
    const live = new Map(versions.flatMap((version) => version !== null && version.ts >= minTs &&
      (floor === null || compareOrder(version, floor) > 0)
      ? [[version.id.toString('latin1'), version]]
      : []))
    return ids.map((id) => [id, live.get(id) ?? null])
  }

  /**
   * The newest items of a partition, where a node would read too many versions for the answer.
   * @param {number} partition @param {number} limit @param {Keep} keep @param {(id: string) => boolean} isOwn
   * @returns {Promise<OrderKey[]>}
   */
  async function newestByOrders (partition, limit, keep, isOwn = () => true) {
    const partitionOrders = /** @type {import('./newest-orders.js').NewestOrders[]} */ (orders)[partition]
    /** @type {OrderKey[]} */
    const orderKeys = []
    /** @type {Set<string>} */
    const asked = new Set()
    for (let count = limit; orderKeys.length < limit; count *= 2) {
      const ids = (await partitionOrders.newest(connectionTo(partition), count, isOwn)).filter((id) => !asked.has(id))
      // of ids of one order more than `count` came before
      if (ids.length === 0 && asked.size < count) break
      for (let at = 0, some = 0; at < ids.length && orderKeys.length < limit; at += some) {
        some = size.of(MAX_READ)
        for (const [id, version] of await storedOf(partition, ids.slice(at, at + some))) {
          asked.add(id)
          keep(id, version)
          if (version !== null && !version.deleted && orderKeys.length < limit) orderKeys.push(version)
        }
      }
    }
    return orderKeys
  }

  /** Whether a partition is known to have few ids: reading newest first might pass many versions of each. @param {number} partition */
  const hasFew = (partition) => orders !== null && orders[partition].isWhole && orders[partition].ids <= FEW_IDS

  return { storedOf, newestByOrders, hasFew }
}

/** @param {Pick<Parts, 'loads' | 'kept'>} parts */
const loadingInto = ({ loads, kept }) => /** @template T @param {(keep: Keep) => Promise<T>} read */ async (read) => {
  /** @type {Set<string>} */
  const touched = new Set()
  loads.add(touched)
  try {
    return await read((id, version) => { if (!touched.has(id) && kept.get(id) === undefined) kept.put(id, version) })
  } finally {
    loads.delete(touched)
  }
}

/** @param {Parts} parts */
export function createRecentReads ({ layout, keys, loads, kept, maxBytes, now, definition, connectionOf, caughtUpIn, orders }) {
  const size = createReadSize()
  const { storedOf, newestByOrders, hasFew } = createStored({ layout, keys, now, definition, orders, size, connectionTo })
  const loading = loadingInto({ loads, kept })

  /** @param {number} partition @returns {Connection} @throws {FreshetError} SERVER_LOST, retryable */
  function connectionTo (partition) {
    const connection = connectionOf(partition)
    if (connection) return connection
    throw new FreshetError('SERVER_LOST', `feed ${definition().feed} is not followed at the moment; retry`)
  }

  /** Waits for what the node has now. @param {number} partition */
  async function caughtUp (partition) {
    const late = new AbortController()
    const timeout = sleep(CATCH_UP_MS, undefined, { signal: late.signal }).catch(() => {})
    const isThere = caughtUpIn(partition, /** @type {any} */ (connectionTo(partition)))
    await Promise.race([isThere, timeout]).finally(() => late.abort())
  }

  /** @param {number} partition @param {number} limit @param {OrderKey | null} after @param {unknown} [scan] */
  async function pageOf (partition, limit, after, scan) {
    const page = await layout.latest(connectionTo(partition), keys[partition], {
      limit: size.of(Math.min(MAX_READ, limit)), after, sinceMs: null, retention: definition(), nowMs: now(), scan
    })
    size.learn(page.items, ({ value }) => value.length)
    return page
  }

  /** @param {number} partition @param {number} limit @param {Keep} keep @returns {Promise<OrderKey[]>} */
  async function newestIn (partition, limit, keep) {
    /** @type {OrderKey[]} */
    const orderKeys = []
    /** @type {OrderKey | null} */
    let after = null
    /** @type {unknown} */
    let scan
    do {
      const page = await pageOf(partition, limit - orderKeys.length, after, scan)
      for (const { id, ts, seq, value } of page.items) {
        orderKeys.push({ id, ts, seq })
        keep(id.toString('latin1'), { id, ts, seq, stamp: 0, deleted: false, value })
        orders?.[partition].note({ id, ts, seq, value })
      }
      after = page.next
      scan = page.scan
    } while (after !== null && orderKeys.length < limit)
    return orderKeys
  }

  return {
    /** How many ids to load at once. */
    piece: () => size.of(MAX_READ, Math.max(1, Math.ceil(KEPT_FOR_A_READ / maxBytes()))),

    /**
     * Reads what is stored of ids.
     * @param {readonly string[]} ids as latin1
     * @returns {Promise<Map<string, { ts: number, deleted: boolean } | null>>} @throws {FreshetError} retryable ones among them
     */
    load: (ids) => loading(async (keep) => {
      /** @type {Map<string, { ts: number, deleted: boolean } | null>} */
      const versionsById = new Map()
      await Promise.all(partitionedBy(ids, keys.length).map(async ([partition, partitionIds]) => {
        for (let at = 0, count = 0; at < partitionIds.length; at += count) {
          count = size.of(MAX_READ)
          for (const [id, version] of await storedOf(partition, partitionIds.slice(at, at + count))) {
            versionsById.set(id, version && { ts: version.ts, deleted: version.deleted })
            keep(id, version)
          }
        }
        await caughtUp(partition)
      }))
      return versionsById
    }),

    /**
     * Reads the newest items.
     * @param {number} limit @param {(id: string) => boolean} [isOwn] of ids that are not left out; only where several versions are stored
     * @returns {Promise<string[]>} ids as latin1, oldest first @throws {FreshetError} retryable ones among them
     */
    newestIds: (limit, isOwn) => loading(async (keep) => {
      const newestByPartition = await Promise.all(keys.map(async (_, partition) => {
        const orderKeys = await (isOwn || hasFew(partition)
          ? newestByOrders(partition, limit, keep, isOwn)
          : newestIn(partition, limit, keep).catch((error) => {
            if (orders === null || error.code !== 'VIEW_NEEDED') throw error
            return newestByOrders(partition, limit, keep)
          }))
        await caughtUp(partition)
        return orderKeys
      }))
      return newestByPartition.flat().sort(newestFirst).slice(0, limit).reverse().map(({ id }) => id.toString('latin1'))
    }),

    /**
     * A page of all items, as `latest` of queries: up to where every partition was read.
     * @param {string} _feed @param {{ limit: number, after?: OrderKey | null, scan?: unknown[] }} question `scan`: of the page before
     */
    async page (_feed, { limit, after = null, scan: scans }) {
      const pages = await Promise.all(keys.map((_, partition) => pageOf(partition, limit, after, scans?.[partition])))
      const [next = null] = pages.flatMap((page) => page.next ? [page.next] : []).sort(newestFirst)
      const items = pages.flatMap((page) => page.items).filter((item) => next === null || compareOrder(item, next) >= 0).sort(newestFirst)
      return { items, next, asOf: 0, lagMs: null, node: undefined, scan: pages.map(({ scan }) => scan) }
    }
  }
}

/** @param {readonly string[]} ids @param {number} partitions @returns {[partition: number, ids: string[]][]} */
function partitionedBy (ids, partitions) {
  /** @type {Map<number, string[]>} */
  const groups = new Map()
  for (const id of ids) {
    const partition = partitionOf(Buffer.from(id, 'latin1'), partitions)
    const group = groups.get(partition)
    if (group) group.push(id)
    else groups.set(partition, [id])
  }
  return [...groups]
}
