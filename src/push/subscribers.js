/** Streams by the ids they subscribe to, and recently deleted ids. Ids are latin1 strings of their bytes. */
import { IdIndex } from './id-index.js'

/** Most deleted ids that are kept, for layouts whose views do not keep them. */
const MAX_DELETED = 100_000

/** @typedef {import('./viewer.js').Viewer} Stream */

export function createSubscribers () {
  /** @type {IdIndex<Stream>} */
  const index = new IdIndex()
  let ofAll = 0

  return {
    /** Streams of all ids. */
    get ofAll () { return ofAll },

    /** Whether any stream wants it. @param {string} id */
    want: (id) => ofAll > 0 || index.has(id),

    /** @param {Stream} stream */
    add (stream) {
      if (stream.ids === null) ofAll++
      index.add(stream, stream)
    },

    /** @param {Stream} stream */
    remove (stream) {
      if (stream.ids === null) ofAll--
      index.remove(stream, stream)
    },

    /** Adds changed ids to the streams that subscribe to them. @param {Iterable<string>} ids */
    notify (ids) {
      if (index.isEmpty) return
      for (const id of ids) index.each(id, (stream) => stream.changed.add(id))
    }
  }
}

/** Ids that were deleted, as opposed to trimmed or expired; the most recent ones. */
export function createDeletedIds () {
  /** @type {Set<string>} */
  const deleted = new Set()
  return {
    /** @param {string} id */
    has: (id) => deleted.has(id),

    /** @param {string} id @param {boolean} isDeleted false: it exists again */
    note (id, isDeleted) {
      if (isDeleted) {
        deleted.add(id)
        if (deleted.size > MAX_DELETED) deleted.delete(/** @type {string} */ (deleted.values().next().value))
      } else if (deleted.size > 0) deleted.delete(id)
    }
  }
}
