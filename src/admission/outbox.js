/**
 * Follows the outboxes of a system: every event of its partitions, in order, from when a session began.
 *
 * What was missed is unknown after a lost connection, a change of generation, or a pause; then `onReset` is called, and what was kept is
 * read again. A session that is confirmed was complete at that moment: its last read returned all there was. Each partition has sessions of
 * its own, which share connections (src/store/stream-follower.js).
 *
 * @typedef {import('../store/index.js').StreamConnection} Connection
 * @typedef {import('./rules.js').Fields} Fields
 * @typedef {{ id: string, rule: string, key: string, seq: number, fields: Fields }} Entry `id` of the outbox; `fields` of the event
 */
import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { followStream } from '../store/index.js'

/** also how often an idle outbox is confirmed, unless it is wanted more often */
const BLOCK_MS = 1000
const COUNT = 1000
const FIRST_WAIT_MS = 50

/** @typedef {ReturnType<typeof followOutboxes>} Follower */

/**
 * @param {{ open: import('../store/index.js').OpenStream, agreed?: () => Promise<unknown>,
 *   keyOf: (partition: number) => (part: string) => string, partitions: number,
 *   sinceMs?: number, onEntry: (partition: number, entry: Entry) => void, onReset: (partition: number) => void,
 *   isOnDemand?: boolean, confirmMs?: number, log: import('pino').Logger }} options `open`: a session at a node that has the key;
 *   `agreed`: when `keyOf` knows
 *   the keys; `sinceMs`: how far back a session begins; without it, at the end; `isOnDemand`: partitions are followed from `follow` on, and
 *   how current they are is not asked, so that an idle one costs nothing; `confirmMs`: how often an idle outbox is confirmed
 */
export function followOutboxes ({ partitions, isOnDemand = false, confirmMs = BLOCK_MS, ...options }) {
  const { open, agreed = async () => {}, keyOf, sinceMs, onEntry, onReset, log } = options
  const stop = new AbortController()
  // of as many sessions as there are partitions
  setMaxListeners(0, stop.signal)
  const all = Array.from({ length: partitions }, (_, partition) => partition)
  /** The id of the last entry read, by partition. @type {string[]} */
  const positions = []
  /** @type {string[]} */
  const generations = all.map(() => '')
  const confirmedMs = all.map(() => -Infinity)
  /** @type {Set<Promise<unknown>>} */
  const running = new Set()
  /** of the last failure in a row, since all partitions fail together @type {string | undefined} */
  let lastCode

  /**
   * @param {Connection} connection @param {number} partition
   * @returns {Promise<boolean>} false: a replica has got another primary, whose entries may have ids below the last one read
   */
  async function isSame (connection, partition) {
    const generation = await generationIn(connection, keyOf(partition)('generation'))
    const before = generations[partition]
    if (generation !== before) onReset(partition)
    generations[partition] = generation
    return before === '' || lineageOf(generation) === lineageOf(before)
  }

  /** @param {number} partition */
  const sessionsOf = (partition) => ({
    async key () {
      await agreed()
      return keyOf(partition)('outbox')
    },
    count: COUNT,
    blockMs: confirmMs,
    firstWaitMs: FIRST_WAIT_MS,

    /** @param {Connection} connection */
    async begin (connection) {
      const end = await endOf(connection, keyOf(partition)('outbox'))
      const generation = await generationIn(connection, keyOf(partition)('generation'))
      // by the clock of the ids, which is not that of this process
      positions[partition] = sinceMs === undefined ? end : `${Math.max(0, parseInt(end) - sinceMs)}-0`
      generations[partition] = generation
      lastCode = undefined
      onReset(partition)
      return positions[partition]
    },

    /** @param {[unknown, unknown[]][]} entries @param {{ sentMs: number, isWhole: boolean }} read */
    take (entries, { sentMs, isWhole }) {
      for (const [id, flat] of entries) onEntry(partition, entryOf(id, flat))
      if (entries.length > 0) positions[partition] = String(entries[entries.length - 1][0])
      if (isWhole) confirmedMs[partition] = sentMs
    },

    check: isOnDemand ? undefined : (/** @type {Connection} */ connection) => isSame(connection, partition),

    ended () { confirmedMs[partition] = -Infinity },

    /** @param {Error & { code?: string }} error */
    failed ({ code, message: reason }) {
      if (code !== lastCode) log.warn({ code, reason }, 'following outboxes was interrupted')
      lastCode = code
    }
  })

  /** @param {number} partition @param {AbortSignal} signal */
  function run (partition, signal) {
    const following = followStream(open, { ...sessionsOf(partition), signal }).finally(() => running.delete(following))
    running.add(following)
  }
  if (!isOnDemand) for (const partition of all) run(partition, stop.signal)

  return {
    /** How long ago everything there was had been read; Infinity without a session. @param {number} partition */
    ageMs: (partition) => performance.now() - confirmedMs[partition],
    /** The last entry read. @param {number} partition */
    position: (partition) => positions[partition] ?? '0-0',
    /** @param {number} partition */
    generation: (partition) => generations[partition],

    /** Follows a partition on demand, from its end on. @param {number} partition @returns {() => void} ends it */
    follow (partition) {
      const leaving = new AbortController()
      run(partition, AbortSignal.any([stop.signal, leaving.signal]))
      return () => leaving.abort()
    },

    async close () {
      stop.abort()
      await Promise.all(running)
    }
  }
}

/**
 * Says when entries come to an outbox, without reading all of them: how many there are does not matter.
 * @param {import('../store/index.js').OpenStream} open
 * @param {{ key: string, everyMs: number, onNews: () => void, signal: AbortSignal, log: import('pino').Logger }} parts `key` of the outbox;
 *   `onNews` is called at most each `everyMs` while there are entries, and when a session begins, which may have missed some
 * @returns {Promise<void>} once `signal` is aborted
 */
export function followNews (open, { key, everyMs, onNews, signal, log }) {
  /** @type {Connection} */
  let connection
  return followStream(open, {
    key: () => key,
    count: 1,
    blockMs: BLOCK_MS,
    firstWaitMs: FIRST_WAIT_MS,
    signal,
    async begin (session) {
      connection = session
      const end = await endOf(session, key)
      onNews()
      return end
    },
    async take (entries) {
      if (entries.length === 0) return
      onNews()
      await sleep(everyMs, undefined, { signal })
      const end = await endOf(connection, key)
      if (end !== String(entries[entries.length - 1][0])) onNews()
      return end
    },
    failed: ({ code, message: reason }) => log.debug({ code, reason }, 'following an outbox was interrupted')
  })
}

/** @param {Connection} connection @param {string} key of an outbox @returns {Promise<string>} its last entry */
async function endOf (connection, key) {
  const [newest] = await connection.send('XREVRANGE', key, '+', '-', 'COUNT', '1')
  return newest ? String(newest[0]) : '0-0'
}

/** @param {Connection} connection @param {string} key */
const generationIn = async (connection, key) => generationOf(await connection.send('HMGET', key, 'lineage', 'n'))

const lineageOf = (/** @type {string} */ generation) => generation.split('.')[0]

/** An entry of an outbox, from a reply to XREAD. @param {unknown} id @param {readonly unknown[]} flat @returns {Entry} */
export function entryOf (id, flat) {
  // the fields of an event, which follow, may have any name
  const [, rule, , key, ...eventFields] = flat.map(String)
  const fields = fieldsOf(eventFields)
  return { id: String(id), rule, key, seq: Number(fields.seq), fields }
}

/** @param {readonly unknown[]} reply lineage and number @returns {string} empty = none */
export const generationOf = ([lineage, n]) => lineage === null ? '' : `${lineage}.${n}`

/** Fields of a flat reply, such as that to HGETALL. @param {readonly unknown[]} flat names and values in turn @returns {Fields} */
export function fieldsOf (flat) {
  const fields = /** @type {Fields} */ ({})
  for (let i = 0; i < flat.length; i += 2) fields[String(flat[i])] = String(flat[i + 1])
  return fields
}

/** @param {readonly any[]} entries a reply to XRANGE or XREVRANGE @returns {Fields[]} */
export const eventsOf = (entries) => entries.map(([, flat]) => fieldsOf(flat))

/** Whether an id of a stream is at or after another. @param {string} id @param {string} other */
export function isAtOrAfter (id, other) {
  const [[ms, n], [otherMs, otherN]] = [id, other].map((idText) => idText.split('-').map(Number))
  return ms > otherMs || (ms === otherMs && n >= otherN)
}
