/**
 * Effects of a system in one process: each reads the outboxes at its own pace. An entry that is tried again, or becomes a dead letter, is
 * counted and logged.
 *
 * @typedef {import('./partition.js').Target} Target
 * @typedef {Parameters<import('./dead-letters.js').DeadLetters['deadLetter']>[1] & { correlationId?: string }} NewLetter
 */
import { createDeadLetters } from './dead-letters.js'
import { createOutboxReader } from './outbox-reader.js'

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
