/** Reads the entries behind the newest one read, in all partitions at once, and puts them into the stores. */
import { entriesAfter } from '../layouts/index.js'
import { hasNewestRead } from './log-partition.js'

/** @typedef {import('../layouts/index.js').LogEntry} LogEntry */
/** @typedef {{ found: LogEntry[][], askedMs: number, isFull: boolean, gaps: number[] }} Newer by partition; `isFull`: there may be
 *   more; `gaps`: partitions whose log no longer has the newest entry read */

/**
 * @param {{ log: import('../layouts/index.js').Log, parts: import('./log-partition.js').Part[],
 *   size: ReturnType<typeof import('./log-reply-size.js').createReplySize>,
 *   intake: ReturnType<typeof import('./log-intake.js').createLogIntake>, now: () => number }} of
 */
export const createLogNewer = ({ log, parts, size, intake, now }) => ({
  /**
   * @param {import('../store/index.js').Connection} connection
   * @param {{ blockMs?: number, isChecked: boolean }} options
   * @returns {Promise<Newer>}
   */
  async read (connection, { blockMs, isChecked }) {
    const askedMs = now()
    const count = size.entries()
    const from = parts.map(({ name, entryId }) => ({ name, after: /** @type {string} */ (entryId) }))
    const [found, ...intact] = await Promise.all([
      entriesAfter(connection, from, { count, blockMs }),
      // sent behind it on the same connection, so executed after it
      ...(isChecked ? parts.map((part) => hasNewestRead(connection, log, part)) : [])
    ])
    const gaps = intact.flatMap((isIntact, partition) => isIntact ? [] : [partition])
    return { found, askedMs, isFull: found.some((entries) => entries.length === count), gaps }
  },

  /** @param {LogEntry[][]} found by partition */
  async take (found) {
    for (const [partition, part] of parts.entries()) {
      for (const entry of found[partition]) {
        const count = intake.take(part.store, entry, part.origins, () => part.arrival + 1)
        part.arrival += count
        part.taken = entry.entryId
        if (intake.isOver(count)) await intake.yieldLoop()
      }
      size.learn(found[partition])
    }
  }
})
