/**
 * Reads the outboxes of the partitions that a process owns, all of them with one blocking call, on a connection of its own.
 *
 * A partition is read again when what was read has been taken, so at most one batch of each waits in memory. From `follow` on `take` gets
 * every entry after the position, in order and without gaps, one batch at a time. After `leave` a `take` that runs goes on, and no other
 * begins. While the server is down nothing is rejected: it is asked again.
 *
 * @typedef {(entries: import('../admission/index.js').Entry[]) => Promise<void>} Take
 * @typedef {ReturnType<typeof createOutboxReader>} OutboxReader
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { entryOf } from '../admission/index.js'

const COUNT = 200
const BLOCK_MS = 50
const IDLE_MS = 10
const AGAIN_MS = 250

/**
 * @param {{ connection: () => import('../store/index.js').Connection, keyOf: (partition: number) => (part: string) => string,
 *   pauseMs?: number, log: import('pino').Logger }} parts `connection`: for this only, because it blocks; `pauseMs`: after a batch that was
 *   not full, so that more entries are taken together
 */
export function createOutboxReader ({ connection, keyOf, pauseMs = 0, log }) {
  /** @type {Map<number, { position: string, take: Take, isBusy: boolean }>} by partition */
  const followed = new Map()
  const stop = new AbortController()

  async function read () {
    const idle = [...followed].filter(([, { isBusy }]) => !isBusy)
    if (idle.length === 0) return sleep(IDLE_MS)
    const keys = idle.map(([partition]) => keyOf(partition)('outbox'))
    const streams = await connection().send('XREAD', 'COUNT', COUNT, 'BLOCK', BLOCK_MS, 'STREAMS', ...keys,
      ...idle.map(([, { position }]) => position))
    for (const [key, entries] of streams ?? []) {
      const [partition, one] = idle[keys.indexOf(String(key))]
      // it may have been given back in the meantime
      if (followed.get(partition) !== one) continue
      one.position = String(entries.at(-1)[0])
      one.isBusy = true
      one.take(entries.map((/** @type {any} */ [id, flat]) => entryOf(String(id), flat.map(String))))
        .catch((error) => log.error({ partition, code: error.code, reason: error.message }, 'entries were not taken'))
        .then(() => pauseMs > 0 && entries.length < COUNT ? sleep(pauseMs) : null)
        .finally(() => { one.isBusy = false })
    }
  }

  async function run () {
    while (!stop.signal.aborted) {
      try {
        await read()
      } catch (error) {
        log.debug({ code: error.code, reason: error.message }, 'outboxes cannot be read')
        await sleep(AGAIN_MS)
      }
    }
  }
  const running = run()

  return {
    /** @param {number} partition @param {string} position id of the last entry that was finished @param {Take} take */
    follow (partition, position, take) { followed.set(partition, { position, take, isBusy: false }) },

    /** @param {number} partition */
    leave (partition) { followed.delete(partition) },

    /** Leaves all partitions. */
    async close () {
      stop.abort()
      await running
    }
  }
}
