/**
 * Reads members of a partition whose layout does not keep the order of arrival into the store of a view, page by page.
 *
 * Where a layout keeps one version of an id, the last write counts, newer or older than the one before. Where it keeps more,
 * the newest counts.
 */
import { compareOrder } from '../item/index.js'
import { createReadSize } from '../layouts/index.js'

/** members */
export const PAGE = 1000
const FIRST_ITEM_BYTES = 1024

/** @typedef {import('../item/index.js').VersionPlace} VersionPlace */
/** @typedef {import('../store/index.js').Connection} Connection */
/** @typedef {ReturnType<typeof createSetPages>} SetPages */

/**
 * @param {{ layout: import('../layouts/index.js').Layout, key: (part: string) => string, store: import('./partitioned-store.js').Store,
 *   now: () => number, retention: () => import('../layouts/index.js').Retention }} parts
 */
export function createSetPages ({ layout, key, store, now, retention }) {
  const isOneVersion = layout.describe().versions === 'one'
  const size = createReadSize()
  /** id and value of the item that is put */
  let both = Buffer.allocUnsafeSlow(FIRST_ITEM_BYTES)

  /** @param {VersionPlace} version */
  function isKnown ({ id, ts, seq, stamp = 0 }) {
    const known = store.versionOf(id)
    if (known === null) return false
    if (isOneVersion) return known.ts === ts && known.seq === seq
    return known.ts > ts || (known.ts === ts && (known.seq > seq || (known.seq === seq && known.stamp >= stamp)))
  }

  /** @param {import('../layouts/index.js').Item & { stamp?: number, deleted?: boolean }} version */
  function put ({ id, ts, seq, value, stamp = 0, deleted = false }) {
    if (isOneVersion) {
      const known = store.versionOf(id)
      const isSame = known !== null && known.ts === ts && known.seq === seq
      if (isSame && store.get(id, 0)?.value.equals(value)) return
      if (known && (isSame || known.ts > ts || (known.ts === ts && known.seq > seq))) store.forget(id, 0, id.length)
    }
    const length = id.length + value.length
    if (length > both.length) both = Buffer.allocUnsafeSlow(2 * length)
    id.copy(both)
    value.copy(both, id.length)
    store.put(both, 0, id.length, ts, seq, stamp, deleted, id.length, length, 0)
  }

  /**
   * @param {Connection} connection
   * @param {{ after: VersionPlace | null, sinceMs: number, limit?: number, readsAll?: boolean,
   *   seen?: (member: VersionPlace) => void }} options
   *   `readsAll`: known versions too; `seen`: called with each member
   * @returns {Promise<VersionPlace | null>} where the next page starts, null at the end
   */
  async function page (connection, { after, sinceMs, limit = PAGE, readsAll = false, seen = () => {} }) {
    const known = (/** @type {VersionPlace} */ version) => {
      seen(version)
      return !readsAll && isKnown(version)
    }
    const question = { after, sinceMs, limit, known, retention: retention(), nowMs: now(), size }
    const { items, next } = await layout.tail(connection, key, question).catch((error) => {
      if (error.code === 'SERVER_LOST') size.lost(limit)
      throw error
    })
    for (const item of items) put(item)
    return next
  }

  /**
   * Forgets ids that the store has in the range of a page and the page does not. They are looked up first, as they may have
   * been written again since.
   * @param {Connection} connection
   * @param {{ sinceMs: number, from: VersionPlace | null, to: VersionPlace | null, there: Set<string> }} page
   */
  async function forgetMissing (connection, { sinceMs, from, to, there }) {
    /** @type {Buffer[]} */
    const missing = []
    const after = to && { ...to, id: Buffer.concat([to.id, Buffer.alloc(1)]) }
    const range = { limit: store.stats().items + 1, after, sinceMs: from ? from.ts : sinceMs, nowMs: now() }
    store.latest(range, (bytes, idAt, idEnd, ts, seq) => {
      const id = Buffer.from(bytes.subarray(idAt, idEnd))
      if (from !== null && compareOrder({ ts, seq, id }, from) <= 0) return false
      if (!there.has(id.toString('latin1'))) missing.push(id)
    })
    await lookUp(connection, missing)
  }

  /** Reads ids, and forgets those that are not there. @param {Connection} connection @param {Buffer[]} all */
  async function lookUp (connection, all) {
    for (let at = 0; at < all.length; at += PAGE) {
      const ids = all.slice(at, at + PAGE)
      const items = await layout.get(connection, key, ids, { retention: retention(), nowMs: now() })
      ids.forEach((id, i) => {
        const item = items[i]
        if (item) put(item)
        else store.forget(id, 0, id.length)
      })
    }
  }

  return { isOneVersion, size, page, forgetMissing, lookUp }
}
