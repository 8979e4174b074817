/** Partitions of log layouts, with arrival times set by the test. */
import { addTo, overAllArms } from './partition.js'
import { commandsIn } from './resp.js'

/** @typedef {import('./model.js').Item} Item */

export const NOW = 1_750_000_000_000

/** Of a question. */
export const now = (windowMs = 0, maxItems = 0, nowMs = NOW) => ({ retention: { windowMs, maxItems }, nowMs })

/** @param {Item[]} items @returns {string} */
export const names = (items) => items.map(({ id }) => String(id)).join(' ')

/**
 * @param {import('tap').Test} t
 * @param {(t: import('tap').Test, arm: import('./partition.js').Arm & ReturnType<typeof openLog>) => Promise<void>} run
 */
export const overLogArms = (t, run) => overAllArms(t, async (t, arm) => {
  if (arm.layout.log) await run(t, { ...arm, ...openLog(arm) })
})

/** @param {import('./partition.js').Arm} arm */
function openLog ({ layout, connection }) {
  const log = /** @type {import('../../src/layouts/log.js').Log} */ (layout.log)
  let appendedAt = NOW
  const batch = layout.createBatch({
    key: (part) => part, ttlMs: 0, late: 'overwrite', dialect: { msetex: false, sha: () => '' }, clock: () => appendedAt
  })
  return {
    log,

    /**
     * What an append of the items stores, entry by entry.
     * @param {Item[]} items
     * @param {{ at?: number }} [options] `at`: of the first append, ms
     * @returns {Buffer[]}
     */
    entriesOf (items, { at = NOW } = {}) {
      appendedAt = at
      batch.reset()
      for (const one of items) addTo(batch, one)
      return commandsIn(batch.encoded().bytes).filter(([command]) => command === 'XADD').map((words) => Buffer.from(words[4], 'latin1'))
    },

    /**
     * Stores entries as if they had arrived at that time.
     * @param {import('./partition.js').Partition} partition
     * @param {number} ms
     * @param {Buffer[]} entries
     */
    async arrive (partition, ms, entries) {
      for (const entry of entries) await connection.send('XADD', partition.key(log.part), `${ms}-*`, log.field, entry)
    },

    /**
     * As a writer does whose items are ahead of the server's clock.
     * @param {import('./partition.js').Partition} partition
     * @param {number} ms
     */
    sayAhead: (partition, ms) => connection.send('ZADD', partition.key('ahead'), ms, `${NOW * 2}:w`)
  }
}
