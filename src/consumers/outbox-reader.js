/**
 * Reads the outboxes of the partitions that a process owns with blocking calls, on connections of its own: one for all partitions, or in a
 * cluster one each.
 *
 * A partition is read again when what was read has been taken, so at most one batch of each waits in memory. From `follow` on `take` gets
 * every entry after the position, in order and without gaps, one batch at a time. When following stops, a `take` that runs goes
 * on, and no other begins. While the server is down nothing is rejected: it is asked again.
 *
 * @typedef {(entries: import('../admission/index.js').Entry[]) => Promise<void>} Take
 * @typedef {ReturnType<typeof createOutboxReader>} OutboxReader
 */
import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { entryOf } from '../admission/index.js'

const COUNT = 200
const BLOCK_MS = 50
const IDLE_MS = 10
const AGAIN_MS = 250

/** The name of the loop for all partitions. */
const ALL = -1

/**
 * @param {Pick<import('../store/index.js').Opener, 'open' | 'isSpread'> & { keyOf: (partition: number) => (part: string) => string,
 *   pauseMs?: number, log: import('pino').Logger }} parts `open` and `isSpread` as openerOf; `pauseMs`: after a batch that was not full, so
 *   that more entries are taken together
 */
export function createOutboxReader ({ open, isSpread, keyOf, pauseMs = 0, log }) {
  /** @type {Map<number, { position: string, take: Take, isBusy: boolean }>} by partition */
  const followed = new Map()
  /** Loops by partition, or one for all. @type {Map<number, Promise<void>>} */
  const loops = new Map()
  const stop = new AbortController()
  // of as many sessions as there are partitions
  setMaxListeners(0, stop.signal)

  /** @param {import('../store/index.js').Connection} connection @param {number[]} partitions */
  async function read (connection, partitions) {
    const idle = partitions.flatMap((partition) => {
      const one = followed.get(partition)
      return one && !one.isBusy ? [{ partition, one }] : []
    })
    if (idle.length === 0) return sleep(IDLE_MS)
    const keys = idle.map(({ partition }) => keyOf(partition)('outbox'))
    const streams = await connection.send('XREAD', 'COUNT', COUNT, 'BLOCK', BLOCK_MS, 'STREAMS', ...keys,
      ...idle.map(({ one }) => one.position))
    for (const [key, entries] of streams ?? []) {
      const { partition, one } = idle[keys.indexOf(String(key))]
      // it may have been given back in the meantime
      if (followed.get(partition) !== one) continue
      one.position = String(entries.at(-1)[0])
      one.isBusy = true
      one.take(entries.map((/** @type {any} */ [id, flat]) => entryOf(id, flat)))
        .catch((error) => log.error({ partition, code: error.code, reason: error.message }, 'entries were not taken'))
        .then(() => pauseMs > 0 && entries.length < COUNT ? sleep(pauseMs) : null)
        .finally(() => { one.isBusy = false })
    }
  }

  /** While one of its partitions is followed. @param {number} name of the loop */
  async function run (name) {
    /** @type {Awaited<ReturnType<typeof open>> | null} */
    let session = null
    const own = () => name === ALL ? [...followed.keys()] : followed.has(name) ? [name] : []
    for (let partitions = own(); partitions.length > 0 && !stop.signal.aborted; partitions = own()) {
      try {
        session ??= await open(stop.signal, keyOf(partitions[0])('outbox'))
        await read(session.connection, partitions)
      } catch (error) {
        log.debug({ code: error.code, reason: error.message }, 'outboxes cannot be read')
        session?.end()
        session = null
        await sleep(AGAIN_MS)
      }
    }
    loops.delete(name)
    session?.end()
  }

  return {
    /**
     * @param {number} partition @param {string} position id of the last entry that was finished @param {Take} take
     * @returns {() => void} stops following; without effect if the partition has been followed again since
     */
    follow (partition, position, take) {
      const one = { position, take, isBusy: false }
      followed.set(partition, one)
      const name = isSpread() ? partition : ALL
      if (!loops.has(name)) loops.set(name, run(name))
      return () => { if (followed.get(partition) === one) followed.delete(partition) }
    },

    /** Leaves all partitions. */
    async close () {
      stop.abort()
      await Promise.all(loops.values())
    }
  }
}
