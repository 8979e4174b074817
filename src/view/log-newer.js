/** Reads the entries of a partition behind the newest one read, as many at once as a reply should have, and puts them into its store. */
import { entriesBehind } from '../layouts/index.js'
import { hasNewestRead } from './log-partition.js'

/** @typedef {import('../layouts/index.js').LogEntry} LogEntry */
/** @typedef {{ found: LogEntry[], askedMs: number, isFull: boolean, isGap: boolean }} Newer `isFull`: there may be more; `isGap`: the log
 *   no longer has the newest entry read */

/**
 * @param {{ log: import('../layouts/index.js').Log, part: import('./log-partition.js').Part,
 *   size: ReturnType<typeof import('./reply-size.js').createReplySize>,
 *   intake: ReturnType<typeof import('./log-intake.js').createLogIntake>, now: () => number }} of
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
 *   size: ReturnType<typeof import('./reply-size.js').createReplySize>, now: () => number }} of
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
