/**
 * What every consumer of a partition does: it takes the entries after its cursor, batch by batch, and advances the cursor on the server.
 *
 *     cursor -> batch -> attempt is counted -> write -> after -> cursor, if the token is still ours
 *
 * After an attempt that failed, or did not end, the entries of a batch are taken one at a time. An entry that still fails becomes a dead
 * letter, and the partition goes on.
 *
 * @typedef {import('../admission/index.js').Entry} Entry
 * @typedef {object} Target
 * @property {import('./ownership.js').Owned} owned
 * @property {() => import('../store/index.js').Connection} connection to the primary
 * @property {(part: string) => string} key of the partition
 * @property {(letter: { consumer: string, entry: Entry, reason: string, attempts: number }) => Promise<void>} deadLetter dead-letters.js
 * @property {Pick<import('./effects.js').OutboxReader, 'follow'>} reader
 * @property {{ finished: (entries: number) => void, failed: (error: Error, attempt: number) => void }} metrics
 * @typedef {object} Steps
 * @property {(entries: Entry[], begin: () => Promise<number>) => Promise<void>} write tried again while its error is retryable; calls
 *   `begin` before the effect, as late as it can
 * @property {(entries: Entry[]) => Promise<void>} [after] the write
 * @property {number} [attempts] at an entry that is taken alone
 * @property {boolean} [isAwaited] the partition is given back only after the running `write` has ended
 * @property {(entry: Entry) => Promise<boolean>} [rejected] true if that settled it, so it is no dead letter
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { FreshetError } from './errors.js'

/** Attempts at an entry that is taken alone, unless its consumer has others. */
const ATTEMPTS = 3
/** The position before all entries. */
const BEGINNING = '0-0'
/** The keys of `advance`, which stores a cursor, and its reply about an entry that this primary never had. */
const CURSORS = Object.freeze(['owner', 'cursors', 'generation', 'outbox'])
const LOST_WITH_PRIMARY = -1

/**
 * @param {string} consumer its name
 * @param {Target} target
 * @param {Steps} steps
 * @returns {Promise<void>} when the partition is given back @throws {FreshetError} LEASE_LOST
 */
export async function followPartition (consumer, target, steps) {
  const { owned, connection, key, reader, metrics } = target
  const { partition, token, signal } = owned
  const position = await retry(() => positionOf(connection(), key, { token, consumer }), { signal, onFailure: metrics.failed })
  // the lease may have ended before the reply came; no abort follows then
  if (signal.aborted) return
  const able = createAble()
  owned.drives?.(able.ms)
  const taker = createTaker(consumer, target, steps, able)
  let taking = Promise.resolve()
  let leave = () => {}

  await new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => taker.close().finally(() => steps.isAwaited ? taking : null).finally(() => resolve(null)),
      { once: true })
    // after a batch that failed nothing more is taken: the next owner begins at the cursor
    leave = reader.follow(partition, position, (entries) => {
      taking = taker.take(entries).catch((error) => {
        leave()
        if (!signal.aborted) reject(error)
      })
      able.during(taking)
      return taking
    })
  })
  leave()
}

/**
 * For how long a consumer has been able to work: what waits while the database is away does not wait for it. Nothing waits while it has no
 * entries.
 */
function createAble () {
  /** null: it is not @type {number | null} */
  let sinceMs = performance.now()
  let taking = 0
  return {
    ms: () => sinceMs === null || taking === 0 ? 0 : performance.now() - sinceMs,
    note (/** @type {boolean} */ isAble) { sinceMs = isAble ? sinceMs ?? performance.now() : null },
    /** @param {Promise<unknown>} work on entries */
    during (work) {
      taking++
      work.finally(() => { taking-- }).catch(() => {})
    }
  }
}

/** @param {string} consumer @param {Target} target @param {Steps} steps @param {ReturnType<typeof createAble>} able */
function createTaker (consumer, { owned, connection, key, deadLetter, metrics }, steps, able) {
  const { token, signal } = owned
  /** The attempt that runs. @type {Attempt | null} */
  let current = null
  /** @template T @param {() => Promise<T>} run @param {(error: Error) => boolean} [isLast] */
  const withRetries = (run, isLast) => retry(run, { signal, isLast, onFailure: metrics.failed })

  /**
   * Write and what comes after it, until they succeed or were tried too often.
   * @param {Entry[]} entries @param {number} most attempts
   * @returns {Promise<{ error: Error, attempts: number, isWritten: boolean } | null>} null: they succeeded
   * @throws {FreshetError} LEASE_LOST
   */
  async function attempt (entries, most) {
    signal.throwIfAborted()
    const mine = current = createAttempt({ owned, connection, key }, { consumer, entry: entries[0].id, most })
    let isWritten = false
    async function once () {
      if (!isWritten) await steps.write(entries, mine.begin)
      isWritten = true
      await mine.begin()
      await steps.after?.(entries)
      able.note(true)
    }
    const endWith = async (/** @type {any} */ error) => {
      able.note(mayBeEntryFault(error))
      await mine.end(mayBeEntryFault(error))
      throw error
    }
    try {
      await withRetries(() => once().catch(endWith), (/** @type {any} */ error) =>
        error.code === 'LEASE_LOST' || (mayBeEntryFault(error) && mine.begun >= most))
      return null
    } catch (error) {
      if (error.code === 'LEASE_LOST') throw error
      signal.throwIfAborted()
      return { error, attempts: mine.begun, isWritten }
    }
  }

  /** @param {Entry[]} entries that are finished */
  async function advance (entries) {
    const { id } = /** @type {Entry} */ (entries.at(-1))
    const stored = Number(await withRetries(() => connection().runScript('advance', CURSORS.map(key), [token, consumer, id])))
    if (stored === LOST_WITH_PRIMARY) throw entryLost(owned, id)
    if (stored !== 1) throw lost(owned)
    metrics.finished(entries.length)
  }

  /** @param {Entry} entry */
  async function takeAlone (entry) {
    const failure = await attempt([entry], steps.attempts ?? ATTEMPTS)
    if (failure) {
      const { error, attempts, isWritten } = failure
      const isSettled = !isWritten &&
        await withRetries(async () => await steps.rejected?.(entry) ?? false, mayBeEntryFault).catch(() => false)
      signal.throwIfAborted()
      if (!isSettled) await withRetries(() => deadLetter({ consumer, entry, reason: error.message, attempts }))
    }
    await advance([entry])
  }

  return {
    /** @param {Entry[]} entries @throws {FreshetError} LEASE_LOST */
    async take (entries) {
      if (entries.length > 1 && await attempt(entries, 1) === null) return advance(entries)
      for (const entry of entries) await takeAlone(entry)
    },

    /** The next owner does not count what was given back. */
    close: async () => current?.close()
  }
}

/**
 * Where a consumer begins. What is after a cursor is never trimmed, unless another program does it; so one that begins has a cursor,
 * too, before its first entry is finished.
 * @param {import('../store/index.js').Connection} connection @param {(part: string) => string} key
 * @param {{ token: number, consumer: string }} owner
 * @returns {Promise<string>} @throws {FreshetError} OUTBOX_TRIMMED
 */
async function positionOf (connection, key, { token, consumer }) {
  const stored = await connection.send('HGET', key('cursors'), consumer)
  if (stored === null) await connection.runScript('advance', CURSORS.map(key), [token, consumer, BEGINNING])
  const cursor = String(stored ?? BEGINNING)
  if (cursor === BEGINNING) return cursor
  const entries = await connection.send('XRANGE', key('outbox'), cursor, cursor)
  if (entries.length === 1) return cursor
  throw new FreshetError('OUTBOX_TRIMMED', `${key('outbox')} was trimmed past ${cursor}, the cursor of ${consumer}, so entries may be ` +
    `lost; to go on with the first entry that is left, delete the cursor: HDEL ${key('cursors')} ${consumer}`)
}

/**
 * Age of the oldest entry that a consumer has not finished, ms.
 * @param {import('../store/index.js').Connection} connection @param {(part: string) => string} key @param {string} consumer
 */
export async function lagOf (connection, key, consumer) {
  const [[seconds, micros], back, cursor] = await connection.sendAll(
    [['TIME'], ['HGET', key('generation'), 'back'], ['HGET', key('cursors'), consumer]])
  const [oldest] = await connection.send('XRANGE', key('outbox'), cursor === null ? '-' : `(${cursor}`, '+', 'COUNT', 1)
  // ids follow a clock that does not go back (lua/includes/partition.lua)
  const nowMs = Number(seconds) * 1000 + Number(micros) / 1000 + Number(back ?? 0)
  return oldest === undefined ? 0 : Math.max(0, nowMs - parseInt(String(oldest[0])))
}

/**
 * Attempts at entries, counted on the server before their effect: an entry that ends its connection or its process each time is found by
 * whichever process comes next.
 *
 *     batch            one count for all its entries -> effect -> cursor
 *     did not end      its entries one at a time, each with a count of its own -> dead letter after the last attempt
 *
 * An attempt that fails because a server is down is taken back. If that server does not answer either, the attempt stays counted.
 *
 * @typedef {ReturnType<typeof createAttempt>} Attempt
 */

const EXHAUSTED = -1
const OLDER_TOKEN = -2

/**
 * @param {{ owned: import('./ownership.js').Owned, connection: () => import('../store/index.js').Connection,
 *   key: (part: string) => string }} target
 * @param {{ consumer: string, entry: string, most: number }} what `entry`: id of the first one; `most`: attempts
 */
export function createAttempt ({ owned, connection, key }, { consumer, entry, most }) {
  let begun = 0
  let isCounted = false
  let isClosed = false
  /** The count that `begin` waits for. */
  let beginning = Promise.resolve()
  const count = async (/** @type {number} */ limit) =>
    Number(await connection().runScript('attempt', ['owner', 'attempts'].map(key), [owned.token, consumer, entry, limit]))

  /** @param {boolean} isBlamed */
  async function end (isBlamed) {
    if (isCounted) isCounted = !isBlamed && await count(0).then(() => false, () => true)
  }

  async function begin () {
    const n = await count(most)
    if (n === OLDER_TOKEN) throw lost(owned)
    begun = n === EXHAUSTED ? most : n
    isCounted = n !== EXHAUSTED
    if (isCounted) return
    const attempts = most === 1 ? 'an attempt' : `${most} attempts`
    throw new FreshetError('ENTRY_UNFINISHED', `${attempts} began and did not end; the log says what ended the process`)
  }

  return {
    /** How many attempts have begun. */
    get begun () { return begun },

    /**
     * To be called before the effect; again in the same attempt it does nothing.
     * @returns {Promise<number>} attempts that have begun @throws {FreshetError} LEASE_LOST, ENTRY_UNFINISHED
     */
    async begin () {
      if (!isCounted && !isClosed) await (beginning = begin())
      return begun
    },

    /** After a failure. @param {boolean} isBlamed */
    end,

    /** When the work is given back: the next owner does not count it. */
    async close () {
      isClosed = true
      await beginning.catch(() => {})
      await end(false)
    }
  }
}

/** @param {import('./ownership.js').Owned} owned @returns {FreshetError} */
export const lost = ({ partition, token }) =>
  new FreshetError('LEASE_LOST', `partition ${partition} has another owner than token ${token}`)

/**
 * The primary that an entry was read from was replaced by one that never had it. The partition is taken again, from the cursor there.
 * @param {Pick<import('./ownership.js').Owned, 'partition'>} owned @param {string} entry its id @returns {FreshetError}
 */
export const entryLost = ({ partition }, entry) => new FreshetError('LEASE_LOST',
  `entry ${entry} of partition ${partition} was lost with the primary that had it; the partition is taken again`)

/**
 * Whether the entries may be the reason. Errors of a database say so by `isOfStatement`, though another attempt may succeed.
 * @param {Error & { retryable?: boolean, isOfStatement?: boolean }} error
 */
const mayBeEntryFault = ({ retryable, isOfStatement }) => !retryable || isOfStatement === true

const FIRST_MS = 50
const LONGEST_MS = 5000

/**
 * Attempts with exponential back-off and full jitter (AWS Architecture Blog, "Exponential Backoff And Jitter", 2015).
 * @template T
 * @param {() => Promise<T>} run
 * @param {{ signal: AbortSignal, isLast?: (error: any) => boolean, onFailure?: (error: Error, attempt: number) => void }} options
 *   `isLast`: whether an error ends it; without it none does
 * @returns {Promise<T>} @throws the last error, or the reason of the signal
 */
export async function retry (run, { signal, isLast = () => false, onFailure = () => {} }) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run()
    } catch (error) {
      signal.throwIfAborted()
      onFailure(error, attempt)
      if (isLast(error)) throw error
    }
    await sleep(Math.random() * Math.min(LONGEST_MS, FIRST_MS * 2 ** attempt), undefined, { signal })
  }
}
