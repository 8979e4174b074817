/**
 * Reads the outboxes of the partitions that a process owns.
 *
 * A partition is read again when what was read has been taken, so at most one batch of each waits in memory. From `follow` on `take` gets
 * every entry after the position, in order and without gaps, one batch at a time. When following stops, a `take` that runs goes
 * on, and no other begins. While the server is down nothing is rejected: it is asked again.
 *
 * @typedef {(entries: import('../admission/index.js').Entry[]) => Promise<void>} Take
 * @typedef {ReturnType<typeof createOutboxReader>} OutboxReader
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { entryOf } from '../admission/index.js'
import { followStream } from '../store/index.js'
import { untilTick } from '../ticks.js'

const COUNT = 200
/** A partition that is idle needs no confirmation: the follower's own bound counts. */
const BLOCK_MS = 1000
const FIRST_WAIT_MS = 50

/**
 * @param {Partial<Pick<import('../store/index.js').Opener, 'isSpread'>> & { open: import('../store/index.js').OpenStream,
 *   keyOf: (partition: number) => (part: string) => string, everyMs?: number, log: import('pino').Logger }} parts `open`: a session at the
 *   primary of a key; `everyMs`: a batch that is not full waits for the next tick (src/ticks.js), so that more entries, of all partitions,
 *   are taken together
 */
export function createOutboxReader ({ open, keyOf, everyMs = 0, log }) {
  /** What ends the following, by partition. @type {Map<number, AbortController>} */
  const followed = new Map()

  return {
    /**
     * @param {number} partition @param {string} position id of the last entry that was finished @param {Take} take
     * @returns {() => void} stops following; without effect if the partition has been followed again since
     */
    follow (partition, position, take) {
      followed.get(partition)?.abort()
      const own = new AbortController()
      followed.set(partition, own)
      const { signal } = own
      /** @param {import('../admission/index.js').Entry[]} entries */
      async function takeAll (entries) {
        if (everyMs > 0 && entries.length < COUNT) await sleep(untilTick(everyMs), undefined, { signal })
        await take(entries).catch((error) => log.error({ partition, code: error.code, reason: error.message }, 'entries were not taken'))
      }
      followStream(open, {
        key: () => keyOf(partition)('outbox'),
        count: COUNT,
        blockMs: BLOCK_MS,
        firstWaitMs: FIRST_WAIT_MS,
        signal,
        begin: () => position,
        take (entries) {
          if (entries.length === 0) return
          position = String(entries[entries.length - 1][0])
          return takeAll(entries.map(([id, flat]) => entryOf(id, flat)))
        },
        failed: ({ code, message: reason }) => log.debug({ partition, code, reason }, 'an outbox cannot be read')
      })
      return () => own.abort()
    },

    /** Leaves all partitions. */
    async close () { for (const own of followed.values()) own.abort() }
  }
}
