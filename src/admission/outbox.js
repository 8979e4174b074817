/**
 * Follows the outboxes of a system: every event of its partitions, in order, from when a session began.
 *
 * What was missed is unknown after a lost connection, a change of generation, or a pause; then `onReset` is called, and what was kept is
 * read again. A session that is confirmed was complete at that moment: its last read returned all there was.
 *
 * One session follows all partitions where one node has them, and one each where they are in slots of a cluster.
 *
 * @typedef {import('../store/index.js').Connection} Connection
 * @typedef {import('./rules/index.js').Fields} Fields
 * @typedef {{ connection: Connection, isLeft: () => boolean, end: (refusal: Error | null) => void }} Session as Deployment.openOwn
 * @typedef {{ id: string, rule: string, key: string, seq: number, fields: Fields }} Entry `id` of the outbox; `fields` of the event
 */
import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { runSessions } from '../store/index.js'

const BLOCK_MS = 50
const COUNT = 1000
const CHECK_MS = 100
/** After a longer pause of this process the session begins again, since outboxes are trimmed. */
const MAX_PAUSE_MS = 10_000
const FIRST_WAIT_MS = 50

/** @typedef {ReturnType<typeof followOutboxes>} Follower */

/**
 * @param {{ open: (signal: AbortSignal, key: string) => Promise<Session>, isSpread?: () => boolean, agreed?: () => Promise<unknown>,
 *   keyOf: (partition: number) => (part: string) => string, partitions: number,
 *   sinceMs?: number, onEntry: (partition: number, entry: Entry) => void, onReset: (partition: number) => void,
 *   isFollowed?: (partition: number) => boolean, log: import('pino').Logger }} options `open`: to a node that has the key; `isSpread`:
 *   whether a session can have one partition only, as in a cluster; `agreed`: when `keyOf` knows the keys; `sinceMs`: how far back a
 *   session begins; without it, at the end; `isFollowed`: at the moment; one that was not begins at its end
 */
export function followOutboxes ({ partitions, ...options }) {
  const stop = new AbortController()
  // of as many sessions as there are partitions
  setMaxListeners(0, stop.signal)
  const all = Array.from({ length: partitions }, (_, partition) => partition)
  /** The id of the last entry read, by partition. @type {string[]} */
  const positions = []
  /** @type {string[]} */
  const generations = all.map(() => '')
  const confirmedMs = all.map(() => -Infinity)
  /** @type {Promise<unknown>[]} */
  const running = []

  const together = new AbortController()
  const parts = { ...options, positions, generations, confirmedMs, split }
  /** @param {number[]} own @param {AbortSignal} signal */
  const run = (own, signal) => running.push(runSessions(createSession(own, signal, parts), { firstWaitMs: FIRST_WAIT_MS, signal }))
  function split () {
    together.abort()
    for (const partition of all) run([partition], stop.signal)
  }
  run(all, AbortSignal.any([stop.signal, together.signal]))

  return {
    /** How long ago everything there was had been read; Infinity without a session. @param {number} partition */
    ageMs: (partition) => performance.now() - confirmedMs[partition],
    /** The last entry read. @param {number} partition */
    position: (partition) => positions[partition] ?? '0-0',
    /** @param {number} partition */
    generation: (partition) => generations[partition],

    async close () {
      stop.abort()
      await Promise.all(running)
    }
  }
}

/**
 * One session of some partitions.
 * @param {number[]} own @param {AbortSignal} signal
 * @param {Omit<Parameters<typeof followOutboxes>[0], 'partitions'> & { positions: string[], generations: string[],
 *   confirmedMs: number[], split: () => void }} parts by partition: `positions` of the last entries read, `generations`, `confirmedMs`;
 *   `split` lets each partition have sessions of its own
 * @returns {() => Promise<import('../store/index.js').SessionOutcome>}
 */
function createSession (own, signal, parts) {
  const { open, isSpread = () => false, agreed = async () => {}, keyOf, sinceMs, isFollowed = () => true } = parts
  const { positions, generations, confirmedMs, onEntry, onReset, log, split } = parts
  let followed = /** @type {number[]} */ ([])
  const outboxOf = (/** @type {number} */ partition) => keyOf(partition)('outbox')

  /** @param {Connection} connection */
  async function begin (connection) {
    followed = own.filter(isFollowed)
    const ends = await endsOf(connection, own.map(outboxOf))
    const found = await generationsOf(connection, own.map((one) => keyOf(one)('generation')))
    for (const [i, partition] of own.entries()) {
      // by the clock of the ids, which is not that of this process
      positions[partition] = sinceMs === undefined ? ends[i] : `${Math.max(0, parseInt(ends[i]) - sinceMs)}-0`
      generations[partition] = found[i]
      onReset(partition)
    }
  }

  /** @param {Connection} connection @param {number[]} wanted */
  async function follow (connection, wanted) {
    const added = wanted.filter((partition) => !followed.includes(partition))
    const ends = await endsOf(connection, added.map(outboxOf))
    for (const [i, partition] of added.entries()) positions[partition] = ends[i]
    added.forEach(onReset)
    followed = wanted
  }

  /** @param {Connection} connection */
  async function read (connection) {
    await follow(connection, own.filter(isFollowed))
    const sentMs = performance.now()
    if (followed.length === 0) return sleep(BLOCK_MS)
    const keys = followed.map(outboxOf)
    const streams = await connection.send('XREAD', 'COUNT', COUNT, 'BLOCK', BLOCK_MS, 'STREAMS',
      ...keys, ...followed.map((partition) => positions[partition]))
    let isWhole = true
    for (const [key, entries] of streams ?? []) {
      const partition = followed[keys.indexOf(String(key))]
      isWhole &&= entries.length < COUNT
      for (const [id, flat] of entries) onEntry(partition, entryOf(id, flat))
      positions[partition] = String(entries.at(-1)[0])
    }
    if (isWhole) for (const partition of own) confirmedMs[partition] = sentMs
  }

  /**
   * @param {Connection} connection
   * @returns {Promise<boolean>} false: a replica has got another primary, whose entries may have ids below the last one read
   */
  async function check (connection) {
    const found = await generationsOf(connection, own.map((partition) => keyOf(partition)('generation')))
    const isSame = own.every((partition, i) =>
      generations[partition] === '' || lineageOf(found[i]) === lineageOf(generations[partition]))
    for (const [i, partition] of own.entries()) {
      if (found[i] !== generations[partition]) onReset(partition)
      generations[partition] = found[i]
    }
    return isSame
  }

  return async () => {
    /** @type {Session | null} */
    let opened = null
    try {
      while (!own.some(isFollowed) && !signal.aborted) await sleep(BLOCK_MS)
      await agreed()
      opened = await open(signal, outboxOf(own[0]))
      if (own.length > 1 && isSpread()) return split() ?? 'used'
      await begin(opened.connection)
      let checkedMs = performance.now()
      while (!signal.aborted && !opened.isLeft()) {
        await read(opened.connection)
        const nowMs = performance.now()
        if (nowMs - checkedMs > MAX_PAUSE_MS) break
        if (nowMs - checkedMs < CHECK_MS) continue
        checkedMs = nowMs
        if (!await check(opened.connection)) break
      }
      return 'used'
    } catch (error) {
      if (!signal.aborted) log.warn({ code: error.code, reason: error.message }, 'following outboxes was interrupted')
      return error.retryable ? 'unused' : 'refused'
    } finally {
      own.forEach((partition) => { confirmedMs[partition] = -Infinity })
      opened?.end(null)
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
    .map(generationOf)

const lineageOf = (/** @type {string} */ generation) => generation.split('.')[0]

/** An entry of an outbox, from a reply to XREAD. @param {unknown} id @param {readonly unknown[]} flat @returns {Entry} */
export function entryOf (id, flat) {
  // the fields of an event, which follow, may have any name
  const [, rule, , key, ...own] = flat.map(String)
  const fields = fieldsOf(own)
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
  const [[ms, n], [otherMs, otherN]] = [id, other].map((one) => one.split('-').map(Number))
  return ms > otherMs || (ms === otherMs && n >= otherN)
}
