/**
 * How batches of layout `ids` are compared with what is stored, with `late: newest`, on each connection.
 *
 *     script     EVALSHA append-newest, which compares each item: any batch, any number in flight
 *     watched    a batch that is newer than everything stored needs no comparison by item:
 *
 *         WATCH ids deletions | ZREVRANGE ids 0 0 | PTTL deletions        sent behind the batch before
 *         MULTI | MSETEX, or SETs | ZADD | PEXPIRE | EVALSHA mend-scores | XADD arrivals | EXEC
 *                                                                           null: the set has changed since then, nothing was done
 *
 * The transaction is not sent before the reply to WATCH is known. If both went together, a refused WATCH (a permission that was
 * revoked) would leave the transaction without its condition. So such batches are sent one at a time.
 *
 * The form follows from what the last batches met: a batch that does not fit, or whose transaction fails because another writer was
 * faster, goes through the script, and so do the next ones, twice as many after each miss, half as many after each hit. So do those
 * to a server that is far away: one batch at a time would be too slow.
 *
 * Rejected: a guard key that the values are written with (MSETEX XX) after ZADD in a script: it costs the primary 1.5 to 1.9 x of
 * overwriting, WATCH 1.0 to 1.4 x (experiment 024), and items must be stored already.
 */
import { sendWith } from './arrivals.js'
import { EXEC, MULTI } from './wire.js'

/** batches through the script before the first attempt, so that a writer of a few items does not wait for WATCH */
const FIRST_BATCHES = 4
const MOST_BATCHES = 256
/** a server is far if none of so many batches in a row was answered in less */
const FAR_MS = 20
const FAR_BATCHES = 8
const NO_TOMBSTONE = -2
/** ends WATCH, whether the set has changed or not */
const UNWATCH = Object.freeze({ bytes: Buffer.concat([MULTI, EXEC]), replies: 2 })

/** @typedef {import('../store/index.js').Connection} Connection */
/** @typedef {import('./index.js').Batch} Batch */
/** @typedef {NonNullable<Batch['watched']>} Watched */
/** @type {WeakMap<Connection, ReturnType<typeof createForms>>} */
const forms = new WeakMap()

/** Whether the next batch waits until all earlier ones are answered. @param {Connection} connection */
export const isAlone = (connection) => forms.get(connection)?.isAlone ?? false

/**
 * Stores a batch. While `isAlone`, the caller has no other batch unanswered on the connection.
 * @type {import('./index.js').Layout['append']}
 */
export async function appendIds (connection, batch) {
  if (!batch.watched) return sendWhole(connection, batch)
  const connectionForms = forms.get(connection) ?? createForms(connection)
  forms.set(connection, connectionForms)
  return connectionForms.append(batch, batch.watched)
}

/** Sends a batch in its usual form. @type {import('./index.js').Layout['append']} */
async function sendWhole (connection, batch) {
  const reply = await sendWith(connection, batch.encoded(), batch.log)
  // the transaction of the script met a WATCH that was in force, and has ended it: nothing was stored
  if (reply === null && batch.watched) return sendWhole(connection, batch)
  return batch.dropped?.(reply) ?? { late: 0 }
}

/** @param {Connection} connection */
function createForms (connection) {
  /** batches through the script before the next attempt; Infinity = this user may not run WATCH */
  let left = FIRST_BATCHES
  /** what `left` becomes with the next miss */
  let penalty = 1
  let fastestMs = Infinity
  let answered = 0
  /**
   * WATCH is in force for that set; `highest`: its highest score, Infinity = there may be tombstones.
   * @type {{ ids: string, highest: Promise<number> } | null}
   */
  let watching = null

  /** @param {Watched} keys */
  async function highestOf ({ ids, deletions }) {
    const refused = connection.sendDispensable('WATCH', ids, deletions).then(() => false, (error) => {
      // there are servers and proxies that do not know it
      if (!['forbidden', 'refused'].includes(error.outcome)) throw error
      return true
    })
    const [isRefused, [, highest = -1], ttl] = await Promise.all([
      refused, connection.send('ZREVRANGE', ids, 0, 0, 'WITHSCORES'), connection.send('PTTL', deletions)
    ])
    if (isRefused) left = penalty = Infinity
    return isRefused || ttl !== NO_TOMBSTONE ? Infinity : Number(highest)
  }

  /** @param {Watched} keys */
  function watch (keys) {
    const mine = watching = { ids: keys.ids, highest: highestOf(keys) }
    // WATCH itself may have been accepted
    mine.highest.catch(() => { if (watching === mine) unwatch() })
    return mine
  }

  function unwatch () {
    if (watching !== null) connection.sendEncoded(UNWATCH).catch(() => {})
    watching = null
  }

  /** @param {Batch} batch @param {Watched} watched @returns {Promise<boolean>} whether it was stored */
  async function storeWatched (batch, watched) {
    if (watching?.ids !== watched.ids) unwatch()
    const { highest } = watching ?? watch(watched)
    if (!watched.isAbove(await highest)) return false
    const stored = sendWith(connection, watched.encoded(), batch.log)
    watch(watched)
    return await stored !== null
  }

  /** A batch was stored. @param {number} tookMs */
  function hit (tookMs) {
    penalty = Math.max(1, penalty / 2)
    fastestMs = Math.min(fastestMs, tookMs)
    if (++answered < FAR_BATCHES) return
    if (fastestMs > FAR_MS) left = MOST_BATCHES
    fastestMs = Infinity
    answered = 0
  }

  /** @param {Batch} batch @returns {Promise<import('./index.js').Stored>} */
  function throughScript (batch) {
    unwatch()
    return sendWhole(connection, batch)
  }

  return {
    get isAlone () { return left === 0 },

    /** @param {Batch} batch @param {Watched} watched @returns {Promise<import('./index.js').Stored>} */
    async append (batch, watched) {
      if (left > 0) {
        left--
        return throughScript(batch)
      }
      const beganMs = performance.now()
      if (await storeWatched(batch, watched)) {
        hit(performance.now() - beganMs)
        return { late: 0, form: 'watched' }
      }
      left = penalty
      penalty = Math.min(MOST_BATCHES, 2 * penalty)
      return throughScript(batch)
    }
  }
}
