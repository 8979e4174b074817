/**
 * Which streams want which ids, and which ids are gone: by id, byte for character.
 */

/** deleted ids that are remembered, where the view does not keep them */
const MOST_GONE = 100_000

/** @typedef {import('./stream.js').Stream} Stream */

export function createInterests () {
  /** most ids are wanted by one: a set for each would be most of the memory @type {Map<string, Stream | Set<Stream>>} */
  const byId = new Map()

  return {
    /** @param {string} id */
    has: (id) => byId.has(id),

    /** @param {Stream} stream @param {Iterable<string>} ids */
    add (stream, ids) {
      for (const id of ids) {
        const those = byId.get(id)
        if (those === undefined) byId.set(id, stream)
        else if (those instanceof Set) those.add(stream)
        else byId.set(id, new Set([those, stream]))
      }
    },

    /** @param {Stream} stream @param {Iterable<string>} ids */
    remove (stream, ids) {
      for (const id of ids) {
        const those = byId.get(id)
        if (those === stream) byId.delete(id)
        else if (those instanceof Set && those.delete(stream) && those.size === 0) byId.delete(id)
      }
    },

    /** Tells each stream which of its ids changed. @param {Iterable<string>} ids */
    note (ids) {
      if (byId.size === 0) return
      for (const id of ids) {
        const those = byId.get(id)
        if (those instanceof Set) for (const stream of those) stream.changed.add(id)
        else those?.changed.add(id)
      }
    }
  }
}

/** Ids that were removed, not only let go of or grown too old; the latest of them. */
export function createGone () {
  /** @type {Set<string>} */
  const gone = new Set()
  return {
    /** @param {string} id */
    has: (id) => gone.has(id),

    /** @param {string} id @param {boolean} isGone false: it is there again */
    note (id, isGone) {
      if (isGone) {
        gone.add(id)
        if (gone.size > MOST_GONE) gone.delete(/** @type {string} */ (gone.values().next().value))
      } else if (gone.size > 0) gone.delete(id)
    }
  }
}
