/** Reads the entries of a partition behind the newest one read, as many at once as a reply should have, and puts them into its store. */
import { setImmediate } from 'node:timers/promises'
import { entriesBehind } from '../layouts/index.js'
import { hasNewestRead } from './log-partition.js'

/** How many entries to request at once: a reply has about 1 MiB, and up to 16 while the view is behind. */

const REPLY_BYTES = 1024 * 1024
const MAX_REPLY_BYTES = 16 * REPLY_BYTES
const MAX_ENTRIES = 10_000
const FIRST_ENTRIES = 8
/** weight of what is known of an entry's size, in entries */
const KNOWN_WEIGHT = 8

/** @param {number} partitions read at once */
export function createReplySize (partitions) {
  let entryBytes = REPLY_BYTES / FIRST_ENTRIES / partitions
  let replyBytes = REPLY_BYTES

  /** Per partition; at least two, so a reply with one entry is known to be all there was. */
  const entries = () => Math.max(2, Math.min(MAX_ENTRIES, Math.floor(replyBytes / partitions / entryBytes)))

  return {
    entries,

    /** @param {import('../layouts/index.js').LogEntry[]} entries of a reply */
    learn (entries) {
      if (entries.length === 0) return
      let bytes = 0
      for (const entry of entries) bytes += entry.bytes.length
      entryBytes += (bytes / entries.length - entryBytes) * entries.length / (entries.length + KNOWN_WEIGHT)
    },

    /** The connection ended, perhaps because entries became larger. */
    lost () { if (entries() > 2) entryBytes *= 4 },

    /** @param {boolean} wasFull whether the last reply reached its limit */
    adjust (wasFull) { replyBytes = wasFull ? Math.min(2 * replyBytes, MAX_REPLY_BYTES) : REPLY_BYTES }
  }
}

/**
 * Puts entries of a log into the store of a view, and yields the event loop in between. An entry that cannot be read, or that
 * was delivered twice, is skipped and counted.
 */

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

/** @typedef {import('../layouts/index.js').LogEntry} LogEntry */
/** @typedef {{ found: LogEntry[], askedMs: number, isFull: boolean, isGap: boolean }} Newer `isFull`: there may be more; `isGap`: the log
 *   no longer has the newest entry read */

/**
 * @param {{ log: import('../layouts/index.js').Log, part: import('./log-partition.js').Part,
 *   size: ReturnType<typeof createReplySize>, intake: ReturnType<typeof createLogIntake>, now: () => number }} of
 */
export const createLogNewer = ({ log, part, size, intake, now }) => ({
  read: newerReader({ log, part, size, now }),

  /** @param {LogEntry[]} found */
  async take (found) {
    for (const entry of found) {
      const count = intake.take(part.store, entry, part.origins, () => part.arrival + 1)
      part.arrival += count
      part.taken = entry.entryId
      if (intake.isOver(count)) await intake.yieldLoop()
    }
    size.learn(found)
  }
})

/**
 * @param {{ log: import('../layouts/index.js').Log, part: import('./log-partition.js').Part,
 *   size: ReturnType<typeof createReplySize>, now: () => number }} of
 * @returns {(connection: import('../store/index.js').Connection, options: { blockMs?: number, isChecked: boolean }) => Promise<Newer>}
 */
export const newerReader = ({ log, part, size, now }) => async (connection, { blockMs, isChecked }) => {
  const askedMs = now()
  const count = size.entries()
  const reading = entriesBehind(connection, { name: part.name, after: /** @type {string} */ (part.entryId) }, { count, blockMs })
  // sent behind it on the same connection, so executed after it
  const [found, isIntact] = isChecked ? await Promise.all([reading, hasNewestRead(connection, log, part)]) : [await reading, true]
  return { found, askedMs, isFull: found.length >= count, isGap: !isIntact }
}
