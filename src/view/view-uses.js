/** Who uses a feed without a query: clients that watch it, and scans of all of its items. */

/** @typedef {import('../feeds/index.js').Definition} Definition */
/** @typedef {ReturnType<typeof createUses>} Uses */

/** How often each feed is used. @param {(feed: string) => void} onLess a feed is used once less */
export function createUses (onLess) {
  /** @type {Map<string, number>} */
  const times = new Map()
  return {
    /** @param {string} feed */
    has: (feed) => times.has(feed),
    names: () => [...times.keys()],

    /** @param {string} feed */
    add (feed) { times.set(feed, (times.get(feed) ?? 0) + 1) },

    /** @param {string} feed */
    remove (feed) {
      const left = (times.get(feed) ?? 0) - 1
      if (left > 0) times.set(feed, left)
      else times.delete(feed)
      onLess(feed)
    }
  }
}

/**
 * @param {{ held: ReadonlyMap<string, import('./view-registry.js').Held>, recents: ReturnType<typeof import('./recents.js').createRecents>,
 *   follow: (definition: Definition) => unknown, bound: import('./view-bound.js').ViewBound, watched: Uses, scanned: Uses,
 *   isPossible: (definition: Definition) => boolean }} parts `isPossible`: to watch it; there may be no views
 */
export const createWatching = ({ held, recents, follow, bound, watched, scanned, isPossible }) => ({
  /** Keeps a view of the feed, whatever its layout, until `unscan`. @param {Definition} definition */
  scan (definition) {
    bound.asked(definition.feed)
    scanned.add(definition.feed)
    follow(definition)
  },
  unscan: scanned.remove,

  /**
   * Keeps what watchers of a feed need.
   * @param {Definition} definition
   * @returns {{ view: () => import('./view.js').View | import('./recent.js').Recent | null, release: () => void } | null} `view`: null
   *   while there is none, as after a drop; null: it is not possible
   * @throws {import('../errors.js').FreshetError} VIEW_OVER_BOUND
   */
  watch (definition) {
    const { feed } = definition
    if (!isPossible(definition)) return null
    bound.asked(feed)
    watched.add(feed)
    follow(definition)
    const view = () => recents.of(feed) ?? held.get(feed)?.view ?? null
    const refusal = view() === null ? bound.refusalOf(feed) : null
    if (refusal) {
      watched.remove(feed)
      throw refusal
    }
    return { view, release: () => watched.remove(feed) }
  }
})
