/**
 * One consumer of one partition whose effect are rows: a transaction per batch, in the order of the outbox, with the cursor.
 *
 *     own: token -> cursor row          an older owner can commit nothing from here on
 *     batch: rows + cursor (if the token is still ours), commit -> `after` on the server -> cursor on the server
 *
 * A batch that the database rejects is written entry by entry, each in a transaction of its own; an entry that is still rejected becomes
 * a dead letter, and the partition goes on. The next owner begins after the cursor on the server, so `after` has happened for all that is
 * before it; rows are written again without effect.
 *
 * @typedef {import('../admission/index.js').Entry} Entry
 * @typedef {object} SqlEffect
 * @property {string} name
 * @property {(client: SqlClient, entries: Entry[]) => Promise<void>} write rows; writing again has no effect
 * @property {(entries: Entry[]) => Promise<void>} [after] on the server, after the commit; idempotent
 * @property {(entry: Entry) => Promise<boolean>} [rejected] what the database rejects: true if that settled it, so it is no dead letter
 * @typedef {{ query: (text: string, values?: unknown[]) => Promise<{ rows: any[], rowCount: number | null }> }} SqlClient
 * @typedef {{ query: SqlClient['query'], transaction: <T>(run: (client: SqlClient) => Promise<T>) => Promise<T> }} Database
 */
import { FreshetError } from './errors.js'
import { retry } from './retry.js'

const OWN = `INSERT INTO consumer_cursor AS known (system, consumer, partition, entry, token) VALUES ($1, $2, $3, '0-0', $4)
  ON CONFLICT (system, consumer, partition) DO UPDATE SET token = $4 WHERE known.token < $4`
const ADVANCE = 'UPDATE consumer_cursor SET entry = $5 WHERE system = $1 AND consumer = $2 AND partition = $3 AND token = $4'

/**
 * @param {object} parts
 * @param {string} parts.system @param {SqlEffect} parts.effect @param {Database} parts.database
 * @param {import('./ownership.js').Owned} parts.owned
 * @param {() => import('../store/index.js').Connection} parts.connection to the primary
 * @param {(part: string) => string} parts.key of the partition
 * @param {(letter: { consumer: string, entry: Entry, reason: string, attempts: number }) => Promise<void>} parts.bury dead-letters.js
 * @param {import('./transport.js').Transport} parts.reader
 * @param {{ finished: (entries: number) => void, failed: (error: Error, attempt: number) => void }} parts.metrics
 * @returns {Promise<void>} when the partition is given back @throws {FreshetError} LEASE_LOST
 */
export async function consume ({ system, effect, database, owned, connection, key, bury, reader, metrics }) {
  const { partition, token, signal } = owned
  const place = [system, effect.name, partition, token]
  /** @template T @param {() => Promise<T>} run @param {number} [attempts] */
  const insist = (run, attempts = Infinity) => retry(run, { attempts, signal, onFailure: metrics.failed })
  const lost = () => new FreshetError('LEASE_LOST', `partition ${partition} has another owner than token ${token}`)

  const { rowCount } = await insist(() => database.query(OWN, place))
  if (rowCount !== 1) throw lost()
  const stored = await insist(() => connection().send('HGET', key('cursors'), effect.name))

  /** @param {Entry[]} entries */
  const write = (entries) => insist(() => database.transaction(async (client) => {
    await effect.write(client, entries)
    const { rowCount: moved } = await client.query(ADVANCE, [...place, /** @type {Entry} */ (entries.at(-1)).id])
    if (moved !== 1) throw lost()
  }), 1)

  /** @param {Entry} entry */
  async function writeOne (entry) {
    try {
      await write([entry])
    } catch (error) {
      if (error.code === 'LEASE_LOST') throw error
      signal.throwIfAborted()
      if (await insist(async () => await effect.rejected?.(entry) ?? false)) return
      await insist(() => bury({ consumer: effect.name, entry, reason: error.message, attempts: 1 }))
    }
  }

  /** @param {Entry[]} entries */
  async function take (entries) {
    try {
      await write(entries)
    } catch (error) {
      if (error.code === 'LEASE_LOST') throw error
      signal.throwIfAborted()
      for (const entry of entries) await writeOne(entry)
    }
    await insist(async () => effect.after?.(entries))
    const isStored = await insist(() => connection().runScript('advance', ['owner', 'cursors', 'generation'].map(key),
      [token, effect.name, /** @type {Entry} */ (entries.at(-1)).id]))
    if (Number(isStored) !== 1) throw lost()
    metrics.finished(entries.length)
  }

  await new Promise((resolve, reject) => {
    signal.addEventListener('abort', resolve, { once: true })
    // after a batch that failed nothing more is taken: the next owner begins at the cursor
    reader.follow(partition, stored === null ? '0-0' : String(stored), (entries) => take(entries).catch((error) => {
      reader.leave(partition)
      if (signal.aborted) resolve(null)
      else reject(error)
    }))
  })
  reader.leave(partition)
}
