/**
 * Snapshots of streams that want beginnings of ids: the view is scanned for them in slices (view/filtered-queries.js). Changes are noted in
 * the meantime and follow the snapshot, whose items are the newest when it is sent.
 */
import { filteredQueries } from '../view/index.js'

/** @typedef {import('./viewer.js').Viewer} Stream */
/** @typedef {import('../view/index.js').View} View */

/**
 * @param {() => number} viewVersion changes whenever changes may have been missed @param {import('pino').Logger} log
 */
export function createOwnSnapshots (viewVersion, log) {
  /** @param {View} view @param {Stream} stream @param {number} limit @param {number} version of the view */
  async function scan (view, stream, limit, version) {
    const { filter } = /** @type {import('./sealed-positions.js').PositionSeal} */ (stream.seal)
    const { ids, isCut } = await filteredQueries(sourceOf(view), filter).newestIds(view.definition.feed, limit)
    if (stream.isOver) return
    stream.isResuming = false
    if (viewVersion() !== version) stream.needsSnapshot = true
    else stream.list = { name: 'snapshot', ids: ids.reverse(), at: 0, isCut }
  }

  return {
    /** @param {View} view that is complete @param {Stream} stream @param {number} limit of items */
    begin (view, stream, limit) {
      stream.changed.clear()
      Object.assign(stream, { isResuming: true, needsSnapshot: false, isFromHead: false, resetReason: null, list: null })
      scan(view, stream, limit, viewVersion()).catch((error) => {
        log.error({ err: error }, 'stream failed')
        stream.end('failed', '')
      })
    }
  }
}

/** @param {View} view */
const sourceOf = (view) => /** @type {any} */ ({
  /** @type {import('../view/index.js').Views['scan']} */
  scan: async (_feed, question, visit) => ({ next: view.visit(question, visit)?.next ?? null, asOf: 0, lagMs: null })
})
