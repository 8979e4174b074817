/**
 * Which ids of a feed changed, and in which order: for streams of all ids. An id counts where it changed last, so a stream
 * that is far behind has no more to be told than there are ids.
 *
 *     | a  b  c | b  d  a |     ids by time, in segments; those with a later change are passed over, and taken out by and by
 *     | x  x  3 | 4  5  6 |     a place is a number; a stream is at one, and is told what stands behind it
 *
 * What all streams have is let go of. When more than 100,000 ids are kept, the oldest are let go of too, and streams that are
 * not so far begin anew. No call takes long: at most a few segments are looked at in each `tidy`.
 */

const MOST_IDS = 100_000
const SEGMENT_IDS = 4096
/** looked at in one `tidy` */
const SEGMENTS_AT_ONCE = 3

/** @typedef {ReturnType<typeof createChanges>} Changes */
/** @typedef {{ ids: string[], places: number[] }} Segment `places` ascend */

export function createChanges () {
  /** oldest first, none of them empty @type {Segment[]} */
  let segments = []
  /** @type {Map<string, number>} */
  const lastPlaces = new Map()
  let end = 0
  let forgottenTo = 0
  /** the next segment from which passed over ones are taken out */
  let next = 0
  /** what was asked for since the last change, by place @type {Map<number, readonly string[]>} */
  const asked = new Map()

  /** @param {Segment} segment */
  function lastOf ({ places }) {
    return places[places.length - 1]
  }

  function dropOldest () {
    const { ids, places } = /** @type {Segment} */ (segments.shift())
    for (let i = 0; i < ids.length; i++) if (lastPlaces.get(ids[i]) === places[i]) lastPlaces.delete(ids[i])
    next = Math.max(0, next - 1)
  }

  /** Takes out of a segment what has a later change. @param {number} index */
  function clean (index) {
    const { ids, places } = segments[index]
    let kept = 0
    for (let i = 0; i < ids.length; i++) {
      if (lastPlaces.get(ids[i]) !== places[i]) continue
      ids[kept] = ids[i]
      places[kept++] = places[i]
    }
    ids.length = places.length = kept
    const before = segments[index - 1]
    if (before !== undefined && before.ids.length + kept <= SEGMENT_IDS) {
      before.ids.push(...ids)
      before.places.push(...places)
      ids.length = 0
    }
    if (ids.length === 0) segments.splice(index, 1)
    else next++
  }

  return {
    /** The place of the newest change. */
    get end () { return end },
    /** How many ids are kept, passed over ones not counted. */
    get size () { return lastPlaces.size },

    /** @param {Iterable<string>} changed */
    add (changed) {
      asked.clear()
      let segment = segments[segments.length - 1]
      for (const id of changed) {
        if (segment === undefined || segment.ids.length >= SEGMENT_IDS) segments.push(segment = { ids: [], places: [] })
        lastPlaces.set(id, ++end)
        segment.ids.push(id)
        segment.places.push(end)
      }
    },

    /** Lets go of what nobody needs. @param {number} place up to which all streams have everything */
    tidy (place) {
      for (let n = 0; n < SEGMENTS_AT_ONCE && segments.length > 0 && lastOf(segments[0]) <= place; n++) dropOldest()
      // the last one is being written
      for (let n = 0; n < SEGMENTS_AT_ONCE && segments.length > 1; n++) {
        if (next >= segments.length - 1) next = 0
        clean(next)
      }
      while (lastPlaces.size > MOST_IDS) {
        forgottenTo = lastOf(segments[0])
        dropOldest()
      }
    },

    /** What changes now is not told from here on: streams that are not at the end begin anew. */
    forget () {
      segments = []
      lastPlaces.clear()
      asked.clear()
      next = 0
      forgottenTo = end
    },

    /** @param {number} place */
    knows: (place) => place >= forgottenTo,

    /**
     * Ids that changed behind a place, each once, in the order in which they changed last.
     * @param {number} place that is known
     * @returns {readonly string[]} the same array for all who ask before the next change
     */
    since (place) {
      const known = asked.get(place)
      if (known) return known
      /** @type {string[]} */
      const found = []
      let first = segments.length
      while (first > 0 && lastOf(segments[first - 1]) > place) first--
      for (const { ids, places } of segments.slice(first)) {
        for (let i = 0; i < ids.length; i++) if (places[i] > place && lastPlaces.get(ids[i]) === places[i]) found.push(ids[i])
      }
      asked.set(place, found)
      return found
    }
  }
}
