/**
 * Effects of a system in one process: each reads the outboxes at its own pace. An entry that is tried again, or becomes a dead letter, is
 * counted and logged.
 *
 * @typedef {import('./partition.js').Target} Target
 * @typedef {Parameters<import('./dead-letters.js').DeadLetters['deadLetter']>[1] & { correlationId?: string }} NewLetter
 */
import { entryOf } from '../admission/index.js'
import { followStream } from '../store/index.js'
import { createDeadLetters } from './dead-letters.js'

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

const COUNT = 200
/** A partition that is idle needs no confirmation: the follower's own bound counts. */
const BLOCK_MS = 1000
const FIRST_WAIT_MS = 50

/**
 * @param {Partial<Pick<import('../store/index.js').Opener, 'isSpread'>> & { open: import('../store/index.js').OpenStream,
 *   keyOf: (partition: number) => (part: string) => string, everyMs?: number, log: import('pino').Logger }} parts `open`: a session at the
 *   primary of a key; `everyMs`: all partitions are read together, at the ticks of this interval (src/ticks.js)
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
      const controller = new AbortController()
      followed.set(partition, controller)
      const { signal } = controller
      followStream(open, {
        key: () => keyOf(partition)('outbox'),
        count: COUNT,
        blockMs: BLOCK_MS,
        everyMs,
        firstWaitMs: FIRST_WAIT_MS,
        signal,
        begin: () => position,
        take (entries) {
          if (entries.length === 0) return
          position = String(entries[entries.length - 1][0])
          return take(entries.map(([id, flat]) => entryOf(id, flat)))
            .catch((error) => log.error({ partition, code: error.code, reason: error.message }, 'entries were not taken'))
        },
        failed: ({ code, message: reason }) => log.debug({ partition, code, reason }, 'an outbox cannot be read')
      })
      return () => controller.abort()
    },

    /** Leaves all partitions. */
    async close () { for (const controller of followed.values()) controller.abort() }
  }
}

/** One of so many failed attempts is logged; they follow one another after up to 5 s. */
const LOG_EVERY = 10

/**
 * @param {{ system: string, streams: { open: import('../store/index.js').OpenStream }, partitions: number,
 *   keyOf: (partition: number) => (part: string) => string, connectionOf: (partition: number) => import('../store/index.js').Connection,
 *   metrics: { finished: (entries: number) => void, failed: () => void, deadLettered: () => void },
 *   logged?: (key: string) => Record<string, unknown>, log: import('pino').Logger }} parts `streams`: of the primaries; `logged`: what the
 *   log says about a key
 */
export function createEffects ({ metrics, logged = () => ({}), log, ...parts }) {
  const { system, streams, keyOf, connectionOf } = parts
  const letters = createDeadLetters(parts)

  /** @param {number} partition @param {NewLetter} letter */
  async function deadLetter (partition, letter) {
    await letters.deadLetter(partition, letter)
    metrics.deadLettered()
    const { consumer, entry: { id, key }, reason, correlationId } = letter
    log.error({ system, consumer, key, ...logged(key), correlationId, entry: id, reason }, 'dead letter')
  }

  return {
    letters,
    deadLetter,

    /**
     * @param {string} effect its name
     * @param {(target: Target) => Promise<void>} run for a partition
     * @param {{ everyMs?: number, keysOf?: typeof keyOf }} [options] `everyMs` as createOutboxReader; `keysOf` a partition, for this effect
     */
    open (effect, run, { everyMs, keysOf = keyOf } = {}) {
      const reader = createOutboxReader({ ...streams, keyOf, everyMs, log })
      return {
        name: effect,

        /** @param {import('./ownership.js').Owned} owned @returns {Promise<void>} as followPartition */
        run: (owned) => run({
          owned,
          connection: () => connectionOf(owned.partition),
          key: keysOf(owned.partition),
          reader,
          metrics: {
            finished: metrics.finished,
            failed (/** @type {Error & { code?: string }} */ { code, message: reason }, attempt) {
              metrics.failed()
              if (attempt % LOG_EVERY !== 1) return
              log.warn({ system, consumer: effect, partition: owned.partition, attempt, code, reason }, 'entries are tried again')
            }
          },
          deadLetter: (letter) => deadLetter(owned.partition, letter)
        }),

        close: reader.close
      }
    }
  }
}
