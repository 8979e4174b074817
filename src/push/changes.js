/**
 * Which ids of a feed changed, and in which order: for streams of all ids. An id stands where it changed last, so a stream
 * that is far behind has no more to be told than there are ids.
 *
 *     a  b  c  b  d  a          ids by time; those with a later change are passed over
 *     x  x  3  4  5  6          a place is a number; a stream is at one, and is told what stands behind it
 *
 * An id that changes all the time always stands last, so a stream that does not get to the end would never be told of it. It
 * is told of some of those behind, too (`someSince`), any of them as likely as any other.
 *
 * What all streams have is let go of. When more than 300,000 ids are kept, the oldest are let go of too, and streams that are
 * not so far begin anew.
 */

const MOST_IDS = 300_000
/** passed over ones beside as many others, before they are taken out */
const SPARE = 4096

/** @typedef {ReturnType<typeof createChanges>} Changes */

export function createChanges () {
  /** @type {string[]} */
  let ids = []
  /** of each, ascending @type {number[]} */
  let places = []
  /** @type {Map<string, number>} */
  const lastPlaces = new Map()
  let end = 0
  let forgottenTo = 0

  /** @param {number} place everything up to it goes, and whatever has a later change */
  function compact (place) {
    /** @type {string[]} */
    const keptIds = []
    /** @type {number[]} */
    const keptPlaces = []
    for (let i = 0; i < ids.length; i++) {
      if (lastPlaces.get(ids[i]) !== places[i]) continue
      if (places[i] <= place) lastPlaces.delete(ids[i])
      else {
        keptIds.push(ids[i])
        keptPlaces.push(places[i])
      }
    }
    ids = keptIds
    places = keptPlaces
  }

  /** The first behind a place. @param {number} place */
  function indexBehind (place) {
    let [low, high] = [0, places.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (places[middle] <= place) low = middle + 1
      else high = middle
    }
    return low
  }

  return {
    /** The place of the newest change. */
    get end () { return end },

    /** @param {Iterable<string>} changed */
    add (changed) {
      for (const id of changed) {
        lastPlaces.set(id, ++end)
        ids.push(id)
        places.push(end)
      }
    },

    /** Lets go of what nobody needs. @param {number} place up to which all streams have everything */
    tidy (place) {
      if (ids.length <= 2 * lastPlaces.size + SPARE && lastPlaces.size <= MOST_IDS && !(place >= end && ids.length > 0)) return
      compact(place)
      if (ids.length <= MOST_IDS) return
      forgottenTo = places[ids.length - MOST_IDS - 1]
      compact(forgottenTo)
    },

    /** What changes now is not told from here on: streams that are not at the end begin anew. */
    forget () {
      compact(end)
      forgottenTo = end
    },

    /** @param {number} place */
    knows: (place) => place >= forgottenTo,

    /**
     * Ids that changed behind a place, each once, in the order in which they changed last.
     * @param {number} place that is known @param {(id: string) => boolean} visit false: no more
     * @returns {number} the place of the last that was visited; the end, when all were
     */
    since (place, visit) {
      for (let i = indexBehind(place); i < ids.length; i++) {
        if (lastPlaces.get(ids[i]) === places[i] && !visit(ids[i])) return places[i]
      }
      return end
    },

    /**
     * Some ids that changed behind a place, from one of them on that is chosen by chance.
     * @param {number} place @param {(id: string) => boolean} visit false: no more
     */
    someSince (place, visit) {
      const first = indexBehind(place)
      const chosen = first + Math.floor(Math.random() * (ids.length - first))
      for (let i = chosen; i < ids.length; i++) if (lastPlaces.get(ids[i]) === places[i] && !visit(ids[i])) return
      for (let i = first; i < chosen; i++) if (lastPlaces.get(ids[i]) === places[i] && !visit(ids[i])) return
    }
  }
}
