/** Streams by the ids they subscribe to, and recently deleted ids. Ids are latin1 strings of their bytes. */

/** Most deleted ids that are kept, for layouts whose views do not keep them. */
const MAX_DELETED = 100_000

/** @typedef {import('./stream.js').Stream} Stream */

export function createSubscribers () {
  /** Subscribers by id. Most ids have one, which needs no set. @type {Map<string, Stream | Set<Stream>>} */
  const byId = new Map()
  let ofAll = 0

  return {
    /** Streams of all ids. */
    get ofAll () { return ofAll },

    /** Whether any stream wants it. @param {string} id */
    want: (id) => ofAll > 0 || byId.has(id),

    /** @param {Stream} stream */
    add (stream) {
      if (stream.ids === null) ofAll++
      for (const id of stream.ids ?? []) {
        const existing = byId.get(id)
        if (existing === undefined) byId.set(id, stream)
        else if (existing instanceof Set) existing.add(stream)
        else byId.set(id, new Set([existing, stream]))
      }
    },

    /** @param {Stream} stream */
    remove (stream) {
      if (stream.ids === null) ofAll--
      for (const id of stream.ids ?? []) {
        const existing = byId.get(id)
        if (existing === stream) byId.delete(id)
        else if (existing instanceof Set && existing.delete(stream) && existing.size === 0) byId.delete(id)
      }
    },

    /** Adds changed ids to the streams that subscribe to them. @param {Iterable<string>} ids */
    notify (ids) {
      if (byId.size === 0) return
      for (const id of ids) {
        const existing = byId.get(id)
        if (existing instanceof Set) for (const stream of existing) stream.changed.add(id)
        else existing?.changed.add(id)
      }
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
