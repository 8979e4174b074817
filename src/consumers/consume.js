/**
 * One consumer of one partition. If its effect is rows, each batch is one transaction with its cursor, in the order of the outbox:
 *
 *     own: token -> cursor row          an older owner can commit nothing from here on
 *     batch: attempt counted, rows + cursor (if the token is still ours), commit -> `after` on the server -> cursor on the server
 *     with `writeAll`: one transaction for the batches of several partitions
 *
 * The next owner begins after the cursor on the server, so `after` has happened for all that is before it; rows are written again without
 * effect.
 *
 * An effect elsewhere, such as in DynamoDB or Kafka, has no transaction with its cursor: a batch is written again after a crash, or by a
 * former owner that has not noticed, so writing must be idempotent and older entries must not replace newer ones. The cursor is fenced.
 *
 * @typedef {import('../admission/index.js').Entry} Entry
 * @typedef {object} SqlEffect
 * @property {string} name
 * @property {(client: SqlClient, entries: Entry[], prepared?: unknown) => Promise<void>} write rows; writing again has no effect
 * @property {(client: SqlClient, batches: Batch[], prepared?: unknown) => Promise<unknown>} [writeAll] as `write`, of many partitions
 * @property {(batches: Batch[]) => Promise<unknown>} [prepare] before the transaction; what it resolves with is `prepared`
 * @property {(entries: Entry[]) => Promise<void>} [after] on the server, after the commit; idempotent
 * @property {(entry: Entry) => Promise<boolean>} [rejected] what the database rejects: true if that settled it, so it is no dead letter
 * @typedef {object} BatchEffect
 * @property {string} name
 * @property {(entries: Entry[], partition: number) => Promise<void>} write idempotent; repeated after a retryable error; any other one
 *   means that an entry of the batch is rejected for good
 * @typedef {{ query: (text: string, values?: unknown[]) => Promise<{ rows: any[], rowCount: number | null }> }} SqlClient
 * @typedef {{ query: SqlClient['query'], transaction: <T>(run: (client: SqlClient) => Promise<T>) => Promise<T>,
 *   readonly isUp: boolean }} Database
 */
import { followPartition, lost, retry } from './partition.js'

const OWN = `INSERT INTO consumer_cursor AS stored (system, consumer, partition, entry, token) VALUES ($1, $2, $3, '0-0', $4)
  ON CONFLICT (system, consumer, partition) DO UPDATE SET token = $4 WHERE stored.token < $4`
const ADVANCE = 'UPDATE consumer_cursor SET entry = $5 WHERE system = $1 AND consumer = $2 AND partition = $3 AND token = $4'

/**
 * @param {import('./partition.js').Target & { system: string, effect: SqlEffect, database: Database,
 *   together?: Together }} parts `together` of the effect, in this process
 * @returns {Promise<void>} when the partition is given back @throws {import('./errors.js').FreshetError} LEASE_LOST
 */
export async function consume ({ system, effect, database, together, ...target }) {
  const { owned, metrics } = target
  const row = [system, effect.name, owned.partition, owned.token]

  const { rowCount } = await retry(() => database.query(OWN, row), { signal: owned.signal, onFailure: metrics.failed })
  if (rowCount !== 1) throw lost(owned)

  /** @param {Entry[]} entries @param {() => Promise<number>} begin */
  async function write (entries, begin) {
    const prepared = await effect.prepare?.([{ partition: owned.partition, entries }])
    await database.transaction(async (client) => {
      // the database answers: what ends the connection from here on may be an entry
      await begin()
      await effect.write(client, entries, prepared)
      const { rowCount: moved } = await client.query(ADVANCE, [...row, /** @type {Entry} */ (entries.at(-1)).id])
      if (moved !== 1) throw lost(owned)
    })
  }

  await followPartition(effect.name, target, {
    write: (entries, begin) => together === undefined
      ? write(entries, begin)
      : together.write({ ...owned, entries, begin, alone: () => write(entries, begin) }),
    after: effect.after,
    rejected: effect.rejected
  })
}

/**
 * @param {import('./partition.js').Target & { effect: BatchEffect }} parts
 * @returns {Promise<void>} as consume
 */
export const consumeBatches = ({ effect, ...target }) => followPartition(effect.name, target, {
  async write (entries, begin) {
    await begin()
    await effect.write(entries, target.owned.partition)
  }
})

/**
 * Rows of several partitions in one transaction, with their cursors. A transaction costs more than its rows, and a process owns many
 * partitions.
 *
 *     attempt counted ─▶ what comes within GATHER_MS ─▶ rows + cursors, commit ─▶ failed? ─▶ each partition by itself
 *
 * What failed is the fault of one of them, such as an entry that the database rejects or a lost lease, so each is written again in a
 * transaction of its own, where only its own faults count. An entry whose attempt before did not end, as when it kills its process, is
 * written by itself from then on: it takes no other one along.
 *
 * @typedef {{ partition: number, entries: Entry[] }} Batch
 * @typedef {Batch & { token: number, alone: () => Promise<void>, resolve: () => void, reject: (error: Error) => void }} Part
 *   `alone`: writes it in a transaction of its own
 */

/** Partitions are read in the same turn. */
const GATHER_MS = 5

const ADVANCE_ALL = `UPDATE consumer_cursor AS stored SET entry = one.entry
  FROM unnest($3::int[], $4::bigint[], $5::text[]) AS one (partition, token, entry)
  WHERE stored.system = $1 AND stored.consumer = $2 AND stored.partition = one.partition AND stored.token = one.token`

/** @typedef {ReturnType<typeof createTogether>} Together */

/**
 * @param {{ system: string, effect: Pick<SqlEffect, 'name' | 'prepare'> & { writeAll: NonNullable<SqlEffect['writeAll']> },
 *   database: Database }} parts
 */
export function createTogether ({ system, effect, database }) {
  /** @type {Part[]} */
  let waiting = []

  /** @param {Part[]} parts @param {unknown} prepared */
  async function writeAll (parts, prepared) {
    await database.transaction(async (client) => {
      await effect.writeAll(client, parts, prepared)
      const { rowCount } = await client.query(ADVANCE_ALL, [system, effect.name, parts.map(({ partition }) => partition),
        parts.map(({ token }) => token), parts.map(({ entries }) => /** @type {Entry} */ (entries.at(-1)).id)])
      if (rowCount !== parts.length) throw new Error('a partition has another owner')
    })
  }

  /** @param {Part} part */
  const writeAlone = (part) => part.alone().then(part.resolve, part.reject)

  async function flush () {
    const parts = waiting
    waiting = []
    if (parts.length === 1) return writeAlone(parts[0])
    let prepared
    try {
      prepared = await effect.prepare?.(parts)
    } catch {
      // one primary that does not answer keeps no other partition waiting
      return Promise.all(parts.map(writeAlone))
    }
    try {
      await writeAll(parts, prepared)
      for (const { resolve } of parts) resolve()
    } catch (error) {
      // the database is away: that is the fault of no partition
      if (error.retryable && !error.isOfStatement) parts.forEach(({ reject }) => reject(error))
      else await Promise.all(parts.map(writeAlone))
    }
  }

  return {
    /**
     * @param {Batch & { token: number, begin: () => Promise<number>, alone: () => Promise<void> }} part `begin` counts the attempt
     * @returns {Promise<void>} after the commit
     */
    async write ({ begin, ...part }) {
      // the count is taken only once the database answers
      if (!database.isUp || await begin() > 1) return part.alone()
      await /** @type {Promise<void>} */ (new Promise((resolve, reject) => {
        if (waiting.length === 0) setTimeout(flush, GATHER_MS)
        waiting.push({ ...part, resolve, reject })
      }))
    }
  }
}
