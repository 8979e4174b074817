/**
 * What every consumer of a partition does: it takes the entries after its cursor, batch by batch, and advances the cursor on the server.
 *
 *     cursor -> batch -> write -> after -> cursor, if the token is still ours
 *
 * A batch that is rejected for good is written entry by entry. An entry that is still rejected becomes a dead letter, and the partition
 * goes on.
 *
 * @typedef {import('../admission/index.js').Entry} Entry
 * @typedef {object} Place
 * @property {import('./ownership.js').Owned} owned
 * @property {() => import('../store/index.js').Connection} connection to the primary
 * @property {(part: string) => string} key of the partition
 * @property {(letter: { consumer: string, entry: Entry, reason: string, attempts: number }) => Promise<void>} bury dead-letters.js
 * @property {import('./transport.js').Transport} reader
 * @property {{ finished: (entries: number) => void, failed: (error: Error, attempt: number) => void }} metrics
 * @typedef {object} Steps
 * @property {(entries: Entry[]) => Promise<void>} write tried again while its error is retryable
 * @property {(entries: Entry[]) => Promise<void>} [after] the write
 * @property {(entry: Entry) => Promise<boolean>} [rejected] true if that settled it, so it is no dead letter
 */
import { FreshetError } from './errors.js'
import { retry } from './retry.js'

/** of an entry that is rejected, alone */
const ATTEMPTS = 3

/** @param {import('./ownership.js').Owned} owned @returns {FreshetError} */
export const lost = ({ partition, token }) =>
  new FreshetError('LEASE_LOST', `partition ${partition} has another owner than token ${token}`)

/**
 * @param {string} consumer its name
 * @param {Place} place
 * @param {Steps} steps
 * @returns {Promise<void>} when the partition is given back @throws {FreshetError} LEASE_LOST
 */
export async function followPartition (consumer, { owned, connection, key, bury, reader, metrics }, steps) {
  const { partition, token, signal } = owned
  /** @template T @param {() => Promise<T>} run @param {number} [attempts] */
  const insist = (run, attempts = Infinity) => retry(run, { attempts, signal, onFailure: metrics.failed })
  /** @param {Entry[]} entries @param {number} [attempts] */
  const write = (entries, attempts = 1) => insist(() => steps.write(entries), attempts)

  const position = await insist(() => positionOf(connection(), key, consumer))

  /** @param {Entry} entry */
  async function writeOne (entry) {
    try {
      await write([entry], ATTEMPTS)
    } catch (error) {
      if (error.code === 'LEASE_LOST') throw error
      signal.throwIfAborted()
      if (await insist(async () => await steps.rejected?.(entry) ?? false)) return
      await insist(() => bury({ consumer, entry, reason: error.message, attempts: ATTEMPTS }))
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
    await insist(async () => steps.after?.(entries))
    const isStored = await insist(() => connection().runScript('advance', ['owner', 'cursors', 'generation'].map(key),
      [token, consumer, /** @type {Entry} */ (entries.at(-1)).id]))
    if (Number(isStored) !== 1) throw lost(owned)
    metrics.finished(entries.length)
  }

  await new Promise((resolve, reject) => {
    signal.addEventListener('abort', resolve, { once: true })
    // after a batch that failed nothing more is taken: the next owner begins at the cursor
    reader.follow(partition, position, (entries) => take(entries).catch((error) => {
      reader.leave(partition)
      if (signal.aborted) resolve(null)
      else reject(error)
    }))
  })
  reader.leave(partition)
}

/**
 * Where a consumer begins. What a cursor names is never trimmed, unless somebody else trims the outbox.
 * @param {import('../store/index.js').Connection} connection @param {(part: string) => string} key @param {string} consumer
 * @returns {Promise<string>} @throws {FreshetError} OUTBOX_TRIMMED
 */
async function positionOf (connection, key, consumer) {
  const stored = await connection.send('HGET', key('cursors'), consumer)
  if (stored === null) return '0-0'
  const cursor = String(stored)
  const found = await connection.send('XRANGE', key('outbox'), cursor, cursor)
  if (found.length === 1) return cursor
  throw new FreshetError('OUTBOX_TRIMMED', `${key('outbox')} was trimmed past ${cursor}, the cursor of ${consumer}, so entries may be ` +
    `lost; to go on with the first entry that is left, delete the cursor: HDEL ${key('cursors')} ${consumer}`)
}
