/**
 * What wants to hear of changes of a map.
 * @param {() => void} refresh is called periodically while something watches @param {() => void} onUnused @param {number} periodMs
 */
export function createWatchers (refresh, onUnused, periodMs) {
  /** @type {Set<() => void>} */
  const watchers = new Set()
  /** @type {NodeJS.Timeout | undefined} */
  let period

  return {
    watched: () => watchers.size > 0,
    changed () { for (const watcher of [...watchers]) watcher() },

    /** @param {() => void} watcher is called after a change @returns {() => void} ends that */
    watch (watcher) {
      watchers.add(watcher)
      period ??= setInterval(refresh, periodMs * (0.9 + Math.random() / 5)).unref()
      return () => {
        if (!watchers.delete(watcher) || watchers.size > 0) return
        clearInterval(period)
        period = undefined
        onUnused()
      }
    }
  }
}
