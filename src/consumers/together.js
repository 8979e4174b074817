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
 * @typedef {import('../admission/index.js').Entry} Entry
 * @typedef {import('./consume.js').SqlClient} SqlClient
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
 * @param {{ system: string, effect: { name: string, writeAll: (client: SqlClient, batches: Batch[]) => Promise<unknown> },
 *   database: import('./consume.js').Database }} parts
 */
export function createTogether ({ system, effect, database }) {
  /** @type {Part[]} */
  let waiting = []

  /** @param {Part[]} parts */
  const writeAll = (parts) => database.transaction(async (client) => {
    await effect.writeAll(client, parts)
    const { rowCount } = await client.query(ADVANCE_ALL, [system, effect.name, parts.map(({ partition }) => partition),
      parts.map(({ token }) => token), parts.map(({ entries }) => /** @type {Entry} */ (entries.at(-1)).id)])
    if (rowCount !== parts.length) throw new Error('a partition has another owner')
  })

  /** @param {Part} part */
  const writeAlone = (part) => part.alone().then(part.resolve, part.reject)

  async function flush () {
    const parts = waiting
    waiting = []
    if (parts.length === 1) return writeAlone(parts[0])
    try {
      await writeAll(parts)
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
