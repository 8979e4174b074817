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

/** @typedef {import('../item/index.js').Place} Place */
/** @typedef {import('../layouts/index.js').StoredVersion} StoredVersion */
/** @typedef {import('../store/index.js').Connection} Connection */
/** @typedef {(id: string, version: StoredVersion | null) => void} Keep ids as latin1 */

/**
 * @param {{ layout: import('../layouts/index.js').Layout, keys: ((part: string) => string)[], loads: Set<Set<string>>,
 *   kept: import('./kept-versions.js').KeptVersions, now: () => number, definition: () => import('../feeds/index.js').Definition,
 *   connectionOf: (partition: number) => Connection | null,
 *   caughtUpIn: (partition: number, node: import('../store/index.js').Router) => Promise<void> }} parts `loads`: of each that is under way,
 *   the ids that arrived since it was asked for; `connectionOf`: null = the partition is not followed at the moment
 */
export function createRecentReads ({ layout, keys, loads, kept, now, definition, connectionOf, caughtUpIn }) {
  const size = createReadSize()
  const versionsAt = /** @type {NonNullable<typeof layout.versionsAt>} */ (layout.versionsAt)

  /** @template T @param {(keep: Keep) => Promise<T>} read */
  async function loading (read) {
    /** @type {Set<string>} */
    const touched = new Set()
    loads.add(touched)
    try {
      return await read((id, version) => { if (!touched.has(id) && kept.get(id) === undefined) kept.put(id, version) })
    } finally {
      loads.delete(touched)
    }
  }

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

  /** @param {number} partition @param {number} limit @param {Place | null} after */
  async function pageOf (partition, limit, after) {
    const page = await layout.latest(connectionTo(partition), keys[partition], {
      limit: size.of(Math.min(MAX_READ, limit)), after, sinceMs: null, retention: definition(), nowMs: now()
    })
    size.learn(page.items, ({ value }) => value.length)
    return page
  }

  /** @param {number} partition @param {number} limit @param {Keep} keep @returns {Promise<Place[]>} */
  async function newestIn (partition, limit, keep) {
    /** @type {Place[]} */
    const places = []
    /** @type {Place | null} */
    let after = null
    do {
      const page = await pageOf(partition, limit - places.length, after)
      for (const { id, ts, seq, value } of page.items) {
        places.push({ id, ts, seq })
        keep(id.toString('latin1'), { id, ts, seq, stamp: 0, deleted: false, value })
      }
      after = page.next
    } while (after !== null && places.length < limit)
    await caughtUp(partition)
    return places
  }

  return {
    /** How many ids to load at once. */
    get piece () { return size.of(MAX_READ) },

    /**
     * Reads what is stored of ids.
     * @param {readonly string[]} ids as latin1
     * @returns {Promise<Map<string, { ts: number, deleted: boolean } | null>>} @throws {FreshetError} retryable ones among them
     */
    load: (ids) => loading(async (keep) => {
      /** @type {Map<string, { ts: number, deleted: boolean } | null>} */
      const found = new Map()
      await Promise.all(partitionedBy(ids, keys.length).map(async ([partition, own]) => {
        for (let at = 0, count = 0; at < own.length; at += count) {
          count = size.of(MAX_READ)
          const some = own.slice(at, at + count)
          // of a layout with one version, the id is enough
          const wanted = some.map((id) => /** @type {any} */ ({ id: Buffer.from(id, 'latin1') }))
          const versions = await versionsAt(connectionTo(partition), keys[partition], wanted, size)
          versions.forEach((version, i) => {
            found.set(some[i], version && { ts: version.ts, deleted: version.deleted })
            keep(some[i], version)
          })
        }
        await caughtUp(partition)
      }))
      return found
    }),

    /**
     * Reads the newest items.
     * @param {number} limit @returns {Promise<string[]>} ids as latin1, oldest first @throws {FreshetError} retryable ones among them
     */
    newestIds: (limit) => loading(async (keep) => {
      const found = await Promise.all(keys.map((_, partition) => newestIn(partition, limit, keep)))
      return found.flat().sort(newestFirst).slice(0, limit).reverse().map(({ id }) => id.toString('latin1'))
    }),

    /**
     * A page of all items, as `latest` of queries: up to where every partition was read.
     * @param {string} _feed @param {{ limit: number, after?: Place | null }} question
     */
    async page (_feed, { limit, after = null }) {
      const pages = await Promise.all(keys.map((_, partition) => pageOf(partition, limit, after)))
      const [next = null] = pages.flatMap((one) => one.next ? [one.next] : []).sort(newestFirst)
      const items = pages.flatMap((one) => one.items).filter((item) => next === null || compareOrder(item, next) >= 0).sort(newestFirst)
      return { items, next, asOf: 0, lagMs: null, node: undefined, scan: undefined }
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
