/**
 * The queries of a client that may see some ids only. Ids are looked up one by one where a filter names all of them. Otherwise items are
 * scanned, newest first: from memory where a view answers, else in pages of a node.
 *
 *     newest ->  other  other  OWN  other ... other  |  older
 *                                                    '- after MAX_SCANNED items: the answer ends, and the next one begins here
 *
 * All scans of the process take turns, in slices of 5 ms, and the event loop runs after each. An answer that ends at the bound says
 * `isCut`, and its `next` may name another id: only for sealed cursors (item/cursor.js). One that is full has `next` only if there is
 * another item of the client's own.
 *
 * `asOf` is in whole seconds: a view that many write to is confirmed more often, and the client must not see that.
 */
import { setImmediate } from 'node:timers/promises'
import { FreshetError } from '../errors.js'

export const MAX_SCANNED = 100_000
const SLICE_MS = 5
/** items between two looks at the clock */
const LOOK_EVERY = 256
/** of a page of a node, or of ids that are looked up together */
const PAGE_ITEMS = 1000
/** what an empty page of a node counts for */
const EMPTY_PAGE = 100
const PAGE_BYTES = 2 * 1024 * 1024
const LOOKED_UP = 16
const AS_OF_MS = 1000

/** @typedef {import('../item/index.js').IdFilter} IdFilter */
/** @typedef {import('../item/index.js').Place} Place */
/** @typedef {import('../layouts/index.js').Item} Item */
/** @typedef {import('./view.js').Visit} Visit */
/** @typedef {import('./queries.js').Queries} Queries */
/** @typedef {{ limit: number, sinceMs: number | null, after: Place | null }} Question */
/** @typedef {{ next: Place | null, asOf: number, lagMs: number | null }} Page */
/** @typedef {Pick<Queries, 'latest' | 'get'> & Partial<Pick<import('./views.js').Views, 'scan'>>} Source `scan`: of views */
/** @typedef {Page & { isCut: boolean }} Scanned */

/** @param {number} ms @returns {number} */
export const steadyMs = (ms) => Math.floor(ms / AS_OF_MS) * AS_OF_MS

/**
 * Of one request: all of its scans together visit MAX_SCANNED items.
 * @param {Source} queries @param {IdFilter} filter @param {() => void} [expectWanted] throws when no one waits for it: it ends a scan
 */
export function filteredQueries (queries, filter, expectWanted = () => {}) {
  const scan = createScan(queries, filter, expectWanted)
  /** @type {Queries['get']} */
  const get = (feed, ids) => queries.get(feed, ids).catch((error) => {
    // it names the time of another item
    if (error.code !== 'VIEW_OVER_BOUND') throw error
    throw new FreshetError('VIEW_OVER_BOUND',
      `the view of feed ${feed} is over its bound, and may have evicted the item; request newer items`)
  })

  /**
   * Looks up all ids that the filter names.
   * @param {string} feed @param {Buffer[]} ids @param {(item: Item) => void} take
   * @returns {Promise<Scanned>}
   */
  async function lookUp (feed, ids, take) {
    let [asOf, lagMs] = [Infinity, /** @type {number | null} */ (0)]
    for (let at = 0; at < ids.length; at += LOOKED_UP) {
      const read = await get(feed, ids.slice(at, at + LOOKED_UP))
      for (const item of read.items) if (item !== null) take(item)
      asOf = Math.min(asOf, read.asOf)
      lagMs = lagMs === null || read.lagMs === null ? null : Math.max(lagMs, read.lagMs)
      await setImmediate()
    }
    return { next: null, asOf: steadyMs(asOf), lagMs, isCut: false }
  }

  return {
    /**
     * As of all ids, and `isCut`: the scan ended before it was through.
     * @param {string} feed
     * @param {{ limit: number, sinceMs?: number | null, after?: Place | null, maxBytes?: number }} question
     * @returns {Promise<Awaited<ReturnType<Queries['latest']>> & Scanned>}
     */
    async latest (feed, { limit, sinceMs = null, after = null, maxBytes = PAGE_BYTES }) {
      /** @type {Item[]} */
      const items = []
      let bytes = 0
      let isMore = false
      const scanned = await scan(feed, { sinceMs, after }, (from, idAt, idEnd, ts, seq, valueAt, valueEnd) => {
        isMore = items.length >= limit || bytes >= maxBytes
        if (isMore) return false
        items.push({ id: Buffer.from(from.subarray(idAt, idEnd)), ts, seq, value: Buffer.from(from.subarray(valueAt, valueEnd)) })
        bytes += valueEnd - valueAt + idEnd - idAt
      })
      const last = items.at(-1)
      return /** @type {any} */ ({ ...scanned, items, next: isMore && last ? last : scanned.next, node: undefined, scan: undefined })
    },

    /** @param {string} feed @param {number} limit @returns {Promise<{ ids: string[], isCut: boolean }>} latin1, newest first */
    async newestIds (feed, limit) {
      /** @type {string[]} */
      const ids = []
      const { isCut } = await scan(feed, { sinceMs: null, after: null }, (bytes, idAt, idEnd) => {
        ids.push(bytes.toString('latin1', idAt, idEnd))
        return ids.length < limit
      })
      return { ids, isCut }
    },

    /** @type {Queries['get']} of other ids there is none, and none is looked up */
    async get (feed, ids) {
      const own = ids.filter((id) => filter.has(id))
      const { items, ...rest } = await get(feed, own)
      const found = new Map(own.map((id, i) => [id, items[i]]))
      return { ...rest, items: ids.map((id) => found.get(id) ?? null), asOf: steadyMs(rest.asOf) }
    },

    /**
     * @param {string} feed @param {{ after?: Place | null }} [question]
     * @returns {Promise<Scanned & { count: number, exact: boolean }>} `count`: of items after a place
     */
    async count (feed, { after = null } = {}) {
      let count = 0
      const visit = () => { count++ }
      const isNamed = filter.exact !== null && after === null
      const page = await (isNamed ? lookUp(feed, filter.exact, visit) : scan(feed, { sinceMs: null, after }, visit))
      return { ...page, count, exact: !page.isCut }
    },

    /** @param {string} feed @returns {Promise<number | null>} ts of the newest item; null: none, as far as was scanned */
    async newestTs (feed) {
      let newest = -1
      if (filter.exact !== null) await lookUp(feed, filter.exact, ({ ts }) => { newest = Math.max(newest, ts) })
      else {
        await scan(feed, { sinceMs: null, after: null }, (_bytes, _idAt, _idEnd, ts) => {
          newest = ts
          return false
        })
      }
      return newest < 0 ? null : newest
    }
  }
}

let last = Promise.resolve()
/** Of scans, one in each turn of the event loop. */
const turn = () => (last = last.then(() => setImmediate()))

/** @param {Source} queries @param {IdFilter} filter @param {() => void} expectWanted */
function createScan (queries, filter, expectWanted) {
  let left = MAX_SCANNED

  /**
   * @param {string} feed @param {Omit<Question, 'limit'>} from @param {Visit} visit of own items; false = it ends with this one
   * @returns {Promise<Scanned>}
   */
  return async (feed, { sinceMs, after }, visit) => {
    /** @type {Page | null} */
    let first = null
    let place = after
    let isOver = false
    /** @type {Awaited<ReturnType<Queries['latest']>> | undefined} */
    let node
    while (!isOver && left > 0) {
      await turn()
      expectWanted()
      const sliceMs = performance.now() + SLICE_MS
      /** @type {Visit} */
      const visitAny = (bytes, idAt, idEnd, ts, seq, valueAt, valueEnd) => {
        left--
        isOver = filter.has(bytes, idAt, idEnd) && visit(bytes, idAt, idEnd, ts, seq, valueAt, valueEnd) === false
        return !isOver && (left % LOOK_EVERY !== 0 || performance.now() < sliceMs)
      }
      /** @type {Page | null} */
      let page = await queries.scan?.(feed, { limit: left, sinceMs, after: place }, visitAny) ?? null
      if (page === null) {
        const { node: reads, scan } = node ?? {}
        const limit = Math.min(left, PAGE_ITEMS)
        node = await queries.latest(feed, { limit, sinceMs, after: place, maxBytes: PAGE_BYTES, node: reads, scan })
        page = node
        // so that empty pages of a node end, too
        left -= node.items.length === 0 ? EMPTY_PAGE : 0
        node.items.every(({ id, ts, seq, value }) => visitItem(visitAny, id, ts, seq, value) || !isOver)
      }
      first ??= page
      place = page.next
      if (place === null) break
    }
    const { asOf, lagMs } = /** @type {Page} */ (first ?? await queries.get(feed, []))
    return { next: isOver ? null : place, asOf: steadyMs(asOf), lagMs, isCut: !isOver && place !== null }
  }
}

/** @param {Visit} visit @param {Buffer} id @param {number} ts @param {number} seq @param {Buffer} value */
function visitItem (visit, id, ts, seq, value) {
  const bytes = Buffer.concat([id, value])
  return visit(bytes, 0, id.length, ts, seq, id.length, bytes.length)
}
