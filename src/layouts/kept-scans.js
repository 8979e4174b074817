/**
 * States of scans that a next page may continue: the caller gets an opaque handle. Each is used once, because a failed page
 * leaves it incomplete.
 * @template State
 */
export function createKeptScans () {
  /** @type {WeakMap<object, { name: string, state: State }>} */
  const scans = new WeakMap()

  return {
    /** @param {string} name of the key that is scanned @param {State} state */
    keep (name, state) {
      const scan = Object.freeze({})
      scans.set(scan, { name, state })
      return scan
    },

    /** @param {any} scan @param {string} name @returns {State | null} */
    take (scan, name) {
      const before = scan ? scans.get(scan) : undefined
      if (!before || before.name !== name) return null
      scans.delete(scan)
      return before.state
    }
  }
}
