/**
 * The latest deliveries of a log: of a writer that did not hear of one, the same comes again, and counts once.
 */

/** remembered: twice as many at most */
const ORIGINS = 50_000

export function createOrigins () {
  /** @type {Set<string>} */
  let newer = new Set()
  /** @type {Set<string>} */
  let older = new Set()
  return {
    /** @param {string} origin */
    has: (origin) => newer.has(origin) || older.has(origin),
    /** @param {string} origin */
    add (origin) {
      newer.add(origin)
      if (newer.size < ORIGINS) return
      older = newer
      newer = new Set()
    }
  }
}
