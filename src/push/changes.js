/**
 * The changed ids of a feed, as its view reports them, in order, for streams of all ids. An id counts at its last change only, so a stream
 * that is far behind has at most as many ids to send as there are.
 *
 *     ids    | a  b  c | b  d  a |     in segments; ids with a later change are skipped, and removed gradually
 *     seqs   | 1  2  3 | 4  5  6 |     each change has a sequence number; a stream has the number up to which it was served
 *
 * Changes that all streams have are dropped. Above 100,000 ids the oldest changes are dropped too, and streams that need
 * them are reset. Each call is short: `trim` processes a few segments at a time.
 */

const MAX_IDS = 100_000
const SEGMENT_IDS = 4096
const SEGMENTS_PER_TRIM = 3

/** @typedef {import('./hub.js').View} View */
/** @typedef {ReturnType<typeof createChanges>} Changes */
/** @typedef {{ ids: string[], seqs: number[] }} Segment `seqs` ascend */

export function createChanges () {
  /** Segments, the oldest first; none is empty. @type {Segment[]} */
  let segments = []
  /** @type {Map<string, number>} */
  const lastSeqs = new Map()
  let end = 0
  let droppedTo = 0
  /** The next segment to compact. */
  let next = 0
  /** Results of `since`, until the next change. @type {Map<number, readonly string[]>} */
  const cached = new Map()

  /** @param {Segment} segment */
  function lastOf ({ seqs }) {
    return seqs[seqs.length - 1]
  }

  function dropOldest () {
    const { ids, seqs } = /** @type {Segment} */ (segments.shift())
    for (let i = 0; i < ids.length; i++) if (lastSeqs.get(ids[i]) === seqs[i]) lastSeqs.delete(ids[i])
    next = Math.max(0, next - 1)
  }

  /** Removes ids with a later change from a segment, and merges it with the one before if both fit. @param {number} index */
  function compact (index) {
    const { ids, seqs } = segments[index]
    let kept = 0
    for (let i = 0; i < ids.length; i++) {
      if (lastSeqs.get(ids[i]) !== seqs[i]) continue
      ids[kept] = ids[i]
      seqs[kept++] = seqs[i]
    }
    ids.length = seqs.length = kept
    const before = segments[index - 1]
    if (before !== undefined && before.ids.length + kept <= SEGMENT_IDS) {
      before.ids.push(...ids)
      before.seqs.push(...seqs)
      ids.length = 0
    }
    if (ids.length === 0) segments.splice(index, 1)
    else next++
  }

  return {
    /** The sequence number of the newest change. */
    get end () { return end },

    /** @param {Iterable<string>} changed */
    add (changed) {
      cached.clear()
      let segment = segments[segments.length - 1]
      for (const id of changed) {
        if (segment === undefined || segment.ids.length >= SEGMENT_IDS) segments.push(segment = { ids: [], seqs: [] })
        lastSeqs.set(id, ++end)
        segment.ids.push(id)
        segment.seqs.push(end)
      }
    },

    /** Drops what is not needed. @param {number} seq up to which all streams have been served */
    trim (seq) {
      for (let n = 0; n < SEGMENTS_PER_TRIM && segments.length > 0 && lastOf(segments[0]) <= seq; n++) dropOldest()
      // the last segment is still being written
      for (let n = 0; n < SEGMENTS_PER_TRIM && segments.length > 1; n++) {
        if (next >= segments.length - 1) next = 0
        compact(next)
      }
      while (lastSeqs.size > MAX_IDS) {
        droppedTo = lastOf(segments[0])
        dropOldest()
      }
    },

    /** Drops all changes: streams that are not at the end are reset. */
    clear () {
      segments = []
      lastSeqs.clear()
      cached.clear()
      next = 0
      droppedTo = end
    },

    /** The sequence number of the last change of an id; 0 = it was dropped. @param {string} id */
    lastSeqOf: (id) => lastSeqs.get(id) ?? 0,

    /** Whether no change after it was dropped. @param {number} seq */
    covers: (seq) => seq >= droppedTo,

    /**
     * The ids that changed after a sequence number, each once, in the order of their last changes.
     * @param {number} seq covered
     * @returns {readonly string[]} the same array for all callers until the next change
     */
    since (seq) {
      const before = cached.get(seq)
      if (before) return before
      /** @type {string[]} */
      const changed = []
      let first = segments.length
      while (first > 0 && lastOf(segments[first - 1]) > seq) first--
      for (const { ids, seqs } of segments.slice(first)) {
        for (let i = 0; i < ids.length; i++) if (seqs[i] > seq && lastSeqs.get(ids[i]) === seqs[i]) changed.push(ids[i])
      }
      cached.set(seq, changed)
      return changed
    }
  }
}

/**
 * Watches the view of a feed: which ids change while it is complete, and whether changes may have been missed.
 * @param {{ view: () => View | null, isNeeded: (id: string) => boolean, onChanged: () => void,
 *   onDeleted: (id: string, isDeleted: boolean) => void }} parts `view`: that the feed has now; `isNeeded`: by any stream; `onChanged`:
 *   the first change after those that were taken, or changes may have been missed; `onDeleted`: an id was deleted, or exists again
 */
export function watchView ({ view, isNeeded, onChanged, onDeleted }) {
  /** @type {View | null} */
  let current = null
  let unwatch = () => {}
  /** Whether the view was complete at the last check; then its changes are noted. */
  let isComplete = false
  let isInterrupted = false
  /** Changed ids that were not taken yet. @type {Set<string>} */
  let changed = new Set()

  const watcher = {
    isNeeded,
    /** @param {Uint8Array} bytes @param {number} idAt @param {number} idEnd @param {boolean} isDeleted */
    changed (bytes, idAt, idEnd, isDeleted) {
      if (!isComplete) return
      const id = /** @type {Buffer} */ (bytes).toString('latin1', idAt, idEnd)
      if (!isNeeded(id)) return
      if (changed.size === 0) onChanged()
      changed.add(id)
      onDeleted(id, isDeleted)
    },
    rebuilt () {
      isInterrupted = true
      onChanged()
    }
  }

  return {
    /** The view, if it is complete and all of its changes were noted. @returns {View | null} */
    get continuous () { return isComplete && !isInterrupted ? current : null },

    /** Looks which view the feed has now. @returns {View | null} one that is complete */
    check () {
      const latest = view()
      if (latest !== current) {
        unwatch()
        isInterrupted = true
        current = latest
        unwatch = latest === null ? () => {} : latest.watch(watcher)
      }
      isComplete = current !== null && current.isComplete
      if (isComplete) return current
      isInterrupted = true
      return null
    },

    /** Changes may have been missed. */
    interrupt () { isInterrupted = true },

    /** Whether changes may have been missed; from now on they are noted again. */
    restart () {
      const wasInterrupted = isInterrupted
      if (isInterrupted) changed = new Set()
      isInterrupted = false
      return wasInterrupted
    },

    /** @returns {Set<string>} ids that changed since the last call */
    take () {
      const taken = changed
      if (taken.size > 0) changed = new Set()
      return taken
    },

    close () { unwatch() }
  }
}
