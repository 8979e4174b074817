/**
 * What a stream is sent and what is not in memory: it is looked up, and the stream waits. Changes are noted in the meantime.
 *
 *     snapshot of beginnings of ids   a scan of all items, in slices (view/filtered-queries.js)
 *     without a view (view/recent.js) a snapshot: the newest items of a node, shared by streams that ask at the same time; of beginnings
 *                                     also where a node would read too many versions
 *                                     ids of a list: their versions, a piece at a time, before they are sent
 *
 * What follows a snapshot are the changes since it was asked for. Its items are the newest when it is sent.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { filteredQueries } from '../view/index.js'
import { resetRebuilt } from './delivery.js'
import { reachedFrom } from './positions.js'

const RETRY_MS = 100

/** @typedef {import('./stream.js').Viewer} Stream */
/** @typedef {import('../view/index.js').View} View */
/** @typedef {import('../view/index.js').Recent} Recent */
/** @typedef {{ ids: string[], isCut?: boolean }} Found oldest first */

/**
 * @param {{ changes: import('./changes.js').Changes, queries: import('./index.js').PushQueries, viewVersion: () => number,
 *   log: import('pino').Logger, resets: () => import('./delivery.js').Resets }} parts `viewVersion` changes whenever changes may
 *   have been missed
 */
export function createLookUps ({ changes, queries, viewVersion, log, resets }) {
  /** Snapshots of all ids that are being read, by limit. @type {Map<number, { seq: number, version: number, ids: Promise<string[]> }>} */
  const snapshots = new Map()
  /** Pieces of lists that are being loaded. @type {WeakMap<readonly string[], { at: number, loaded: Promise<unknown> }>} */
  const pieces = new WeakMap()

  /**
   * @template T @param {Stream} stream that waits @param {() => Promise<T>} read @param {(result: T) => void} use
   */
  function wait (stream, read, use) {
    const version = viewVersion()
    stream.isResuming = true
    retried(stream, read).then((result) => {
      if (stream.isOver || result === null) return
      stream.isResuming = false
      if (viewVersion() !== version) resetRebuilt(stream, resets())
      else use(result)
    }).catch((error) => {
      log.error({ err: error }, 'stream failed')
      stream.end('failed', '')
    })
  }

  /** @param {Recent} view @param {number} limit */
  function newest (view, limit) {
    const reading = snapshots.get(limit)
    if (reading?.version === viewVersion() && changes.covers(reading.seq)) return reading
    const snapshot = { seq: changes.end, version: viewVersion(), ids: view.newestIds(limit) }
    snapshots.set(limit, snapshot)
    const over = () => { if (snapshots.get(limit) === snapshot) snapshots.delete(limit) }
    snapshot.ids.then(over, over)
    return snapshot
  }

  /** @param {View | Recent} view @param {Stream} stream @param {number} limit @returns {() => Promise<Found>} */
  function readerOf (view, stream, limit) {
    if (stream.beginnings.length > 0) {
      const { filter } = /** @type {import('./sealed-positions.js').PositionSeal} */ (stream.seal)
      const from = filteredQueries('load' in view ? sourceBeside(view, queries) : sourceOf(view), filter)
      return async () => {
        try {
          const { ids, isCut } = await from.newestIds(view.definition.feed, limit)
          return { ids: ids.reverse(), isCut }
        } catch (error) {
          if (error.code !== 'VIEW_NEEDED' || !('load' in view)) throw error
          return { ids: await view.newestIds(limit, (id) => filter.has(Buffer.from(id, 'latin1'))) }
        }
      }
    }
    const recent = /** @type {Recent} */ (view)
    const { ids } = stream
    if (ids !== null) return async () => ({ ids: newestOf(await recent.load([...ids]), limit) })
    stream.seq = newest(recent, limit).seq
    return async () => ({ ids: await newest(recent, limit).ids })
  }

  return {
    /** @param {View | Recent} view @param {Stream} stream @param {number} limit of items, above 0 */
    snapshot (view, stream, limit) {
      stream.changed.clear()
      Object.assign(stream, { needsSnapshot: false, isFromHead: false, resetReason: null, list: null, seq: changes.end })
      const read = readerOf(view, stream, limit)
      wait(stream, read, ({ ids, isCut }) => {
        stream.list = { name: 'snapshot', ids, at: 0, isCut: isCut || (stream.isFirst && ids.length >= limit) }
      })
    },

    /** The versions of the next ids of its list. @param {Recent} view @param {Stream} stream @param {import('./stream.js').List} list */
    load (view, stream, { ids, at }) {
      wait(stream, () => {
        const loading = pieces.get(ids)
        if (loading?.at === at) return loading.loaded
        const loaded = view.load(ids.slice(at, at + view.piece()).filter((id) => view.newest(id) === undefined))
        pieces.set(ids, { at, loaded })
        const over = () => { pieces.delete(ids) }
        loaded.then(over, over)
        return loaded
      }, () => {})
    }
  }
}

/**
 * Again while no node can be asked.
 * @template T @param {Stream} stream @param {() => Promise<T>} read @returns {Promise<T | null>} null = over
 */
async function retried (stream, read) {
  while (!stream.isOver) {
    try {
      return await read()
    } catch (error) {
      if (!error.retryable) throw error
      await sleep(RETRY_MS)
    }
  }
  return null
}

/** @param {Map<string, { ts: number, deleted: boolean } | null>} versions @param {number} limit @returns {string[]} oldest first */
const newestOf = (versions, limit) => [...versions].flatMap(([id, version]) => version && !version.deleted ? [{ id, ts: version.ts }] : [])
  .sort((a, b) => a.ts - b.ts).slice(-limit).map(({ id }) => id)

/** @param {View} view */
const sourceOf = (view) => /** @type {any} */ ({
  /** @type {import('../view/index.js').Views['scan']} */
  scan: async (_feed, question, visit) => ({ next: view.visit(question, visit)?.next ?? null, asOf: 0, lagMs: null })
})

/**
 * A view for scans that has at least what was noted until now.
 * @param {Recent} view @param {import('./index.js').PushQueries} queries
 */
function sourceBeside (view, queries) {
  const position = view.position()
  return /** @type {any} */ ({
    /** @type {import('../view/index.js').Views['scan']} */
    scan: (feed, question, visit) => queries.scan(feed, question, visit, (scanned) => reachedFrom(scanned)(position) !== false),
    latest: view.page
  })
}
