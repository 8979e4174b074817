/**
 * Puts entries of a log into the store of a view, and yields the event loop in between. An entry that cannot be read, or that
 * was delivered twice, is skipped and counted.
 */
import { setImmediate } from 'node:timers/promises'

/** the event loop is yielded after so long */
const SLICE_MS = 3
/** the clock is read once in so many versions */
const SLICE_VERSIONS = 1000

/** @type {Readonly<Record<string, string>>} by error code */
export const SKIP_REASONS = Object.freeze({ SEGMENT_INVALID: 'corrupt', SEGMENT_VERSION: 'version' })
export const DUPLICATE = 'duplicate'

/** @typedef {ReturnType<typeof import('./origins.js').createOrigins>} Origins */

/** @param {{ log: import('../layouts/index.js').Log, onSkipped: (reason: string, error?: Error) => void }} parts */
export function createLogIntake ({ log, onSkipped }) {
  let begunMs = performance.now()
  let versions = 0

  /**
   * @param {import('./view.js').Store} store @param {import('../layouts/index.js').LogEntry} entry
   * @param {Origins} origins @param {(count: number) => number} arrivalOf the entry's first version, by its number of versions
   * @returns {number} versions stored
   */
  function take (store, entry, origins, arrivalOf) {
    try {
      const { count, stamp, origin } = log.head(entry.bytes)
      if (origins.has(origin)) {
        // throws when the entry is corrupt
        log.each(entry.bytes, () => {})
        onSkipped(DUPLICATE)
        return 0
      }
      let arrival = arrivalOf(count)
      log.each(entry.bytes, (bytes, idAt, idEnd, ts, seq, deleted, valueAt, valueEnd) => {
        store.put(bytes, idAt, idEnd, ts, seq, stamp, deleted, valueAt, valueEnd, arrival++)
      })
      origins.add(origin)
      return count
    } catch (error) {
      const reason = SKIP_REASONS[error.code]
      if (reason === undefined) throw error
      onSkipped(reason, error)
      return 0
    }
  }

  return {
    take,

    /** Whether to yield the event loop. @param {number} count versions stored since the last call */
    isOver (count) {
      versions += count
      if (versions < SLICE_VERSIONS) return false
      versions = 0
      return performance.now() - begunMs > SLICE_MS
    },

    async yieldLoop () {
      await setImmediate()
      begunMs = performance.now()
    }
  }
}
