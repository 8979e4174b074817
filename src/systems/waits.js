/**
 * The one wait for changes of keys: queries of readers, commands of gateways, and followers of the library.
 *
 *     until      reads a key, and again after each change, until it is as wanted
 *     watching   what is read between two waits misses no change
 *     waitFor    anything that calls back
 */

/** How often a gateway reads a key again, whose event it may have missed. */
const LOOK_EVERY_MS = 100

/**
 * @param {{ watch: (key: string, done: () => void) => () => void, lookMs: (key: string) => number }} parts `watch` calls back after a
 *   change of a key, and returns what ends the watching; `lookMs`: the key is read again after this time, even without a change
 */
export function createWaits ({ watch, lookMs }) {
  /** @type {Set<() => void>} */
  const waiting = new Set()
  let isClosed = false

  /**
   * Waits until it is called back, or a time is over.
   * @param {(done: () => void) => () => void} begin returns what ends the watching @param {number} ms @returns {Promise<void>}
   */
  const waitFor = (begin, ms) => new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      end()
      waiting.delete(done)
      resolve()
    }
    const timer = setTimeout(done, isClosed ? 0 : ms)
    const end = begin(done)
    waiting.add(done)
  })

  return {
    waitFor,

    /**
     * Reads a key, and again after each change, until it is as wanted or a time is over.
     * @template T @param {string} key @param {() => Promise<T>} read @param {(one: T) => boolean} isDue @param {number} ms
     * @returns {Promise<T>}
     */
    async until (key, read, isDue, ms) {
      for (const endMs = performance.now() + ms; ;) {
        const one = await read()
        const leftMs = endMs - performance.now()
        if (isDue(one) || leftMs <= 0 || isClosed) return one
        await waitFor((done) => watch(key, done), Math.min(leftMs, lookMs(key)))
      }
    },

    /** Ends waits, and those that begin later. */
    close () {
      isClosed = true
      for (const done of waiting) done()
    }
  }
}

/** Waits of a process that notes what the events of its system say. */
export function createEventWaits () {
  /** @type {Map<string, Set<(fact?: any) => void>>} */
  const listeners = new Map()

  /** @param {string} name such as a key @param {(fact?: any) => void} listener @returns {() => void} ends it */
  function watch (name, listener) {
    const own = listeners.get(name) ?? new Set()
    listeners.set(name, own.add(listener))
    return () => { if (own.delete(listener) && own.size === 0) listeners.delete(name) }
  }
  const waits = createWaits({ watch, lookMs: () => LOOK_EVERY_MS })

  return {
    ...waits,
    watch,
    /** @param {string} name @param {unknown} [fact] that its listeners get */
    note (name, fact) { for (const listener of listeners.get(name) ?? []) listener(fact) },
    /** Anything may have changed. */
    noteAll () { for (const own of listeners.values()) for (const listener of own) listener() },

    /**
     * Watches a name from now on, so that a change is not missed while its user is busy.
     * @param {string} name @param {AbortSignal} signal ends its waits
     */
    watching (name, signal) {
      let isChanged = false
      let wake = () => {}
      const note = () => {
        isChanged = true
        wake()
      }
      const unwatch = watch(name, note)
      signal.addEventListener('abort', note)
      return {
        /** Resolves after a change since the last call, or a time. @param {number} ms */
        async changed (ms) {
          if (!isChanged) await waits.waitFor((done) => { wake = done; return () => {} }, ms)
          isChanged = false
        },
        end () {
          signal.removeEventListener('abort', note)
          unwatch()
        }
      }
    }
  }
}
