/**
 * Follows the outboxes of a system: every event of its partitions, in order, from when a session began.
 *
 * What was missed is unknown after a lost connection, a change of generation, or a pause; then `onReset` is called, and what was kept
 * is read again. A session that is confirmed was complete at that moment: its last read returned all there was.
 *
 * @typedef {import('../store/index.js').Connection} Connection
 * @typedef {import('./rules/index.js').Fields} Fields
 * @typedef {{ connection: Connection, isLeft: () => boolean, end: (refusal: Error | null) => void }} Session as Deployment.openOwn
 * @typedef {{ id: string, rule: string, key: string, seq: number, fields: Fields }} Entry `id` of the outbox; `fields` of the event
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { runSessions } from '../store/index.js'

const BLOCK_MS = 50
const COUNT = 1000
const CHECK_MS = 100
/** of a process that stood still, since outboxes are trimmed */
const MAX_PAUSE_MS = 10_000
const FIRST_WAIT_MS = 50

/** @typedef {ReturnType<typeof followOutboxes>} Follower */

/**
 * @param {{ open: (signal: AbortSignal) => Promise<Session>, keyOf: (partition: number) => (part: string) => string, partitions: number,
 *   sinceMs?: number, onEntry: (partition: number, entry: Entry) => void, onReset: (partition: number) => void,
 *   isFollowed?: (partition: number) => boolean, log: import('pino').Logger }} options `sinceMs`: how far back a session begins; without
 *   it, at the end; `isFollowed`: at the moment; one that was not begins at its end
 */
export function followOutboxes ({ open, keyOf, partitions, sinceMs, onEntry, onReset, isFollowed = () => true, log }) {
  const stop = new AbortController()
  const all = Array.from({ length: partitions }, (_, partition) => partition)
  const keys = all.map((partition) => keyOf(partition)('outbox'))
  const partitionOfKey = new Map(keys.map((key, partition) => [key, partition]))
  /** @type {string[]} of the last entry read */
  let positions = []
  /** @type {number[]} partitions of the last read */
  let followed = []
  /** @type {string[]} */
  let generations = all.map(() => '')
  let confirmedMs = -Infinity

  /** @param {Connection} connection */
  async function begin (connection) {
    followed = all.filter(isFollowed)
    positions = await endsOf(connection, keys)
    if (sinceMs !== undefined) positions = positions.map(() => `${Date.now() - sinceMs}-0`)
    generations = await generationsOf(connection, all.map((partition) => keyOf(partition)('generation')))
    for (const partition of all) onReset(partition)
  }

  /** @param {Connection} connection @param {number[]} wanted */
  async function follow (connection, wanted) {
    const added = wanted.filter((partition) => !followed.includes(partition))
    const ends = await endsOf(connection, added.map((partition) => keys[partition]))
    for (const [i, partition] of added.entries()) positions[partition] = ends[i]
    added.forEach(onReset)
    followed = wanted
  }

  /** @param {Connection} connection */
  async function read (connection) {
    await follow(connection, all.filter(isFollowed))
    const sentMs = performance.now()
    if (followed.length === 0) return sleep(BLOCK_MS)
    const streams = await connection.send('XREAD', 'COUNT', COUNT, 'BLOCK', BLOCK_MS, 'STREAMS',
      ...[keys, positions].flatMap((those) => followed.map((partition) => those[partition])))
    let isWhole = true
    for (const [key, entries] of streams ?? []) {
      const partition = /** @type {number} */ (partitionOfKey.get(String(key)))
      isWhole &&= entries.length < COUNT
      for (const [id, flat] of entries) onEntry(partition, entryOf(String(id), flat.map(String)))
      positions[partition] = String(entries.at(-1)[0])
    }
    if (isWhole) confirmedMs = sentMs
  }

  /**
   * @param {Connection} connection
   * @returns {Promise<boolean>} false: a replica has got another primary, whose entries may have ids below the last one read
   */
  async function check (connection) {
    const found = await generationsOf(connection, all.map((partition) => keyOf(partition)('generation')))
    const isSame = all.every((partition) =>
      generations[partition] === '' || lineageOf(found[partition]) === lineageOf(generations[partition]))
    for (const partition of all) if (found[partition] !== generations[partition]) onReset(partition)
    generations = found
    return isSame
  }

  /** @returns {Promise<'used' | 'unused' | 'refused'>} */
  async function session () {
    /** @type {Session | null} */
    let opened = null
    try {
      opened = await open(stop.signal)
      await begin(opened.connection)
      let checkedMs = performance.now()
      while (!stop.signal.aborted && !opened.isLeft()) {
        await read(opened.connection)
        const nowMs = performance.now()
        if (nowMs - checkedMs > MAX_PAUSE_MS) break
        if (nowMs - checkedMs < CHECK_MS) continue
        checkedMs = nowMs
        if (!await check(opened.connection)) break
      }
      return 'used'
    } catch (error) {
      if (!stop.signal.aborted) log.warn({ code: error.code, reason: error.message }, 'following outboxes was interrupted')
      return error.retryable ? 'unused' : 'refused'
    } finally {
      confirmedMs = -Infinity
      opened?.end(null)
    }
  }
  const running = runSessions(session, { firstWaitMs: FIRST_WAIT_MS, signal: stop.signal })

  return {
    /** How long ago everything there was had been read; Infinity without a session. */
    get ageMs () { return performance.now() - confirmedMs },
    /** The last entry read. @param {number} partition */
    position: (partition) => positions[partition] ?? '0-0',
    /** @param {number} partition */
    generation: (partition) => generations[partition],

    async close () {
      stop.abort()
      await running
    }
  }
}

/** @param {Connection} connection @param {string[]} keys of outboxes @returns {Promise<string[]>} their last entries */
const endsOf = async (connection, keys) => keys.length === 0
  ? []
  : (await connection.sendAll(keys.map((key) => ['XREVRANGE', key, '+', '-', 'COUNT', '1'])))
      .map((entries) => entries.length > 0 ? String(entries[0][0]) : '0-0')

/** @param {Connection} connection @param {string[]} keys @returns {Promise<string[]>} */
const generationsOf = async (connection, keys) =>
  (await connection.sendAll(keys.map((key) => ['HMGET', key, 'lineage', 'n'])))
    .map(([lineage, n]) => lineage === null ? '' : `${lineage}.${n}`)

const lineageOf = (/** @type {string} */ generation) => generation.split('.')[0]

/** @param {string} id @param {string[]} flat @returns {Entry} */
export function entryOf (id, [, rule, , key, ...flat]) {
  const fields = fieldsOf(flat)
  return { id, rule, key, seq: Number(fields.seq), fields }
}

/** Such as a reply to HGETALL. @param {readonly unknown[]} flat names and values in turn @returns {Fields} */
export function fieldsOf (flat) {
  const fields = /** @type {Fields} */ ({})
  for (let i = 0; i < flat.length; i += 2) fields[String(flat[i])] = String(flat[i + 1])
  return fields
}

/** @param {readonly any[]} entries a reply to XRANGE or XREVRANGE @returns {Fields[]} */
export const eventsOf = (entries) => entries.map(([, flat]) => fieldsOf(flat))

/** Whether an id of a stream is at or after another. @param {string} id @param {string} other */
export function isAtOrAfter (id, other) {
  const [[ms, n], [otherMs, otherN]] = [id, other].map((one) => one.split('-').map(Number))
  return ms > otherMs || (ms === otherMs && n >= otherN)
}
