/**
 * Streams by the ids they subscribe to, and recently deleted ids. Who wants which ids is found by id, and by beginnings of ids, which are
 * sorted.
 *
 *     id  tenant-3.bus-7      the last beginning at or before it   tenant-3.bus-   begins it: found
 *                             then the last at or before           tenant-3.bus    and so on: beginnings of beginnings
 *
 * Each step is a binary search for a shorter text, so an id finds its beginnings in about as many steps as there are.
 * Ids are latin1 strings of their bytes, whose order is that of the bytes.
 */

/**
 * What a stream, or a client that resumes, asks for.
 * @typedef {{ ids: ReadonlySet<string> | null, beginnings: readonly string[] }} Interest `ids` null: all
 */

/** @template M members, such as streams */
export class IdIndex {
  /** Most ids have one member, which needs no set. @type {Map<string, M | Set<M>>} */
  #byId = new Map()
  /** @type {Map<string, M | Set<M>>} */
  #byBeginning = new Map()
  /** The keys of #byBeginning. @type {string[]} */
  #sorted = []

  get isEmpty () { return this.#byId.size === 0 && this.#sorted.length === 0 }

  /** @param {M} member @param {Interest} interest */
  add (member, { ids, beginnings }) {
    for (const id of ids ?? []) put(this.#byId, id, member)
    for (const beginning of beginnings) {
      if (put(this.#byBeginning, beginning, member)) this.#sorted.splice(this.#countTo(beginning, this.#sorted.length), 0, beginning)
    }
  }

  /** @param {M} member @param {Interest} interest as it was added */
  remove (member, { ids, beginnings }) {
    for (const id of ids ?? []) take(this.#byId, id, member)
    for (const beginning of beginnings) {
      if (take(this.#byBeginning, beginning, member)) this.#sorted.splice(this.#countTo(beginning, this.#sorted.length) - 1, 1)
    }
  }

  /** Whether any member wants it. @param {string} id */
  has (id) {
    return this.#byId.has(id) || (this.#sorted.length > 0 && this.#lastOf(id, this.#sorted.length) >= 0)
  }

  /** @param {string} id @param {(member: M) => void} visit each that wants it, perhaps twice */
  each (id, visit) {
    visitIn(this.#byId.get(id), visit)
    for (let at = this.#lastOf(id, this.#sorted.length); at >= 0;) {
      const beginning = this.#sorted[at]
      visitIn(this.#byBeginning.get(beginning), visit)
      at = at === 0 ? -1 : this.#lastOf(id.slice(0, beginning.length - 1), at)
    }
  }

  /** @param {string} id @param {number} end @returns {number} index of the longest beginning of an id before `end`, or -1 */
  #lastOf (id, end) {
    let text = id
    for (let at = this.#countTo(text, end) - 1; at >= 0; at = this.#countTo(text, at) - 1) {
      const candidate = this.#sorted[at]
      if (text.startsWith(candidate)) return at
      // a shorter one is a beginning of what both have in common
      const common = commonOf(candidate, text)
      if (common === 0) return -1
      text = text.slice(0, common)
    }
    return -1
  }

  /** How many beginnings are at or before a text, of those before `end`. @param {string} text @param {number} end */
  #countTo (text, end) {
    const sorted = this.#sorted
    let low = 0
    while (low < end) {
      const middle = (low + end) >>> 1
      if (sorted[middle] <= text) low = middle + 1
      else end = middle
    }
    return low
  }
}

/** @param {string} a @param {string} b */
function commonOf (a, b) {
  const end = Math.min(a.length, b.length)
  for (let i = 0; i < end; i++) if (a.charCodeAt(i) !== b.charCodeAt(i)) return i
  return end
}

/** @template M @param {Map<string, M | Set<M>>} map @param {string} key @param {M} member @returns {boolean} whether it is the first */
function put (map, key, member) {
  const existing = map.get(key)
  if (existing instanceof Set) existing.add(member)
  else map.set(key, existing === undefined ? member : new Set([existing, member]))
  return existing === undefined
}

/** @template M @param {Map<string, M | Set<M>>} map @param {string} key @param {M} member @returns {boolean} whether it was the last */
function take (map, key, member) {
  const existing = map.get(key)
  const isLast = existing === member || (existing instanceof Set && existing.delete(member) && existing.size === 0)
  if (isLast) map.delete(key)
  return isLast
}

/** @template M @param {M | Set<M> | undefined} members @param {(member: M) => void} visit */
function visitIn (members, visit) {
  if (members instanceof Set) for (const member of members) visit(member)
  else if (members !== undefined) visit(members)
}

/** Most deleted ids that are kept, for layouts whose views do not keep them. */
const MAX_DELETED = 100_000

/** @typedef {import('./stream.js').Viewer} Stream */

export function createSubscribers () {
  /** @type {IdIndex<Stream>} */
  const index = new IdIndex()
  let ofAll = 0

  return {
    /** Streams of all ids. */
    get ofAll () { return ofAll },

    /** Whether any stream needs it. @param {string} id */
    needs: (id) => ofAll > 0 || index.has(id),

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
