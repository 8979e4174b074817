/**
 * Takes entries of a log into the store of a view, and gives the loop back while they are many. An entry that cannot be read, or
 * was delivered twice, is passed over and counted.
 */
import { setImmediate } from 'node:timers/promises'

/** the loop is given back after so long */
const SLICE_MS = 3
/** versions taken in before it is looked how long that took */
const SLICE_VERSIONS = 1000

/** @type {Readonly<Record<string, string>>} reasons by code */
export const PASSED_OVER = Object.freeze({ SEGMENT_INVALID: 'corrupt', SEGMENT_VERSION: 'version' })
export const DOUBLED = 'doubled'

/** @typedef {typeof import('./origins.js').createOrigins} createOrigins */

/** @param {{ log: import('../layouts/log.js').Log, onPassedOver: (reason: string, error?: Error) => void }} parts */
export function createLogIntake ({ log, onPassedOver }) {
  let begunMs = performance.now()
  let versions = 0

  /**
   * @param {import('./shelves.js').Store} store @param {import('../layouts/log.js').LogEntry} entry @param {ReturnType<createOrigins>} origins
   * @param {(count: number) => number} arrivalOf of its first version, when there are so many
   * @returns {number} versions taken in
   */
  function take (store, entry, origins, arrivalOf) {
    try {
      const { count, stamp, origin } = log.head(entry.bytes)
      if (origins.has(origin)) {
        log.each(entry.bytes, () => {})
        onPassedOver(DOUBLED)
        return 0
      }
      let arrival = arrivalOf(count)
      log.each(entry.bytes, (bytes, idAt, idEnd, ts, seq, deleted, valueAt, valueEnd) => {
        store.put(bytes, idAt, idEnd, ts, seq, stamp, deleted, valueAt, valueEnd, arrival++)
      })
      origins.add(origin)
      return count
    } catch (error) {
      const reason = PASSED_OVER[error.code]
      if (reason === undefined) throw error
      onPassedOver(reason, error)
      return 0
    }
  }

  return {
    take,

    /** Whether the loop should be given back. @param {number} count versions taken in since */
    isOver (count) {
      versions += count
      if (versions < SLICE_VERSIONS) return false
      versions = 0
      return performance.now() - begunMs > SLICE_MS
    },

    async rest () {
      await setImmediate()
      begunMs = performance.now()
    }
  }
}
