/** Watches the view of a feed: which ids change while it is complete, and whether changes may have been missed. */

/** @typedef {import('./hub.js').View} View */

/**
 * @param {{ view: () => View | null, isWanted: (id: string) => boolean, onChanged: () => void,
 *   onDeleted: (id: string, isDeleted: boolean) => void }} parts `view`: that the feed has now; `isWanted`: by any stream; `onChanged`:
 *   the first change after those that were taken, or changes may have been missed; `onDeleted`: an id was deleted, or exists again
 */
export function watchView ({ view, isWanted, onChanged, onDeleted }) {
  /** @type {View | null} */
  let current = null
  let unwatch = () => {}
  /** Whether the view was complete at the last check; then its changes are noted. */
  let isComplete = false
  let isInterrupted = false
  /** Changed ids that were not taken yet. @type {Set<string>} */
  let changed = new Set()

  const watcher = {
    isWanted,
    /** @param {Uint8Array} bytes @param {number} idAt @param {number} idEnd @param {boolean} isDeleted */
    changed (bytes, idAt, idEnd, isDeleted) {
      if (!isComplete) return
      const id = /** @type {Buffer} */ (bytes).toString('latin1', idAt, idEnd)
      if (!isWanted(id)) return
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
      const found = view()
      if (found !== current) {
        unwatch()
        isInterrupted = true
        current = found
        unwatch = found === null ? () => {} : found.watch(watcher)
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
