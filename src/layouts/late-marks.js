/**
 * Marks of late batches, for views that follow a feed by event time (view/set-partition.js). Such a view reads what is newer
 * than all it knows, and again what came in the last 2 s; older items, and deletions in `ids`, it would find much later.
 *
 *     fr:{feed:p}:late        stream, at most 1,000 entries: from <ts> to <ts>, and id <id> for each deletion
 *
 * A batch that is late when it is sent carries its mark in the same transaction. For one that became late under way the mark
 * follows before the batch counts as acknowledged.
 *
 * @typedef {{ from: number, to: number, ids: Buffer[] }} Mark event times of a batch, ms; ids that were deleted
 * @typedef {{ bytes: Buffer, replies: number }} Encoded commands
 */
import { EXEC, MULTI, bulk, command, wholeCommand } from './wire.js'

/** A batch with an older item is late. A view reads 2 s again, once a second; the rest is for clocks that differ. */
const LATE_MS = 500
const MAX_MARKS = 1000
/** with more deletions the whole partition is marked */
const MAX_DELETED = 32
const NO_MARK = '0-0'
const ID = bulk(Buffer.from('id'))

/** @typedef {ReturnType<typeof createLateMark>} LateMark */

/** The mark of one batch. @param {{ key: (part: string) => string, ttlMs: number, clock: () => number }} options */
export function createLateMark ({ key, ttlMs, clock }) {
  const name = key('late')
  const expire = ttlMs > 0 ? wholeCommand('PEXPIRE', name, ttlMs) : null
  let oldest = Infinity
  let newest = 0
  let isSent = false

  /** @param {Buffer[]} deleted @returns {Encoded | null} null = not late */
  function encode (deleted) {
    if (deleted.length === 0 && !(clock() - oldest > LATE_MS)) return null
    const ids = deleted.length > MAX_DELETED ? [] : deleted
    const from = deleted.length > MAX_DELETED ? 0 : oldest
    const head = command(9 + 2 * ids.length, 'XADD', name, 'MAXLEN', MAX_MARKS, '*', 'from', from, 'to', newest)
    const parts = [head, ...ids.flatMap((id) => [ID, bulk(id)])]
    return expire ? { bytes: Buffer.concat([...parts, expire]), replies: 2 } : { bytes: Buffer.concat(parts), replies: 1 }
  }

  return {
    /** @param {number} ts of an item of the batch, ms */
    add (ts) {
      if (ts < oldest) oldest = ts
      if (ts > newest) newest = ts
    },

    /**
     * The commands around those of a batch that is sent now.
     * @param {Buffer[]} [deleted] its ids whose last operation is a deletion, in layouts where a deleted id just disappears
     * @returns {{ before: Buffer, after: Buffer, replies: number } | null} a transaction with the mark; null = the batch is not late
     */
    around (deleted = []) {
      const mark = encode(deleted)
      isSent = mark !== null
      return mark && { before: MULTI, after: Buffer.concat([mark.bytes, EXEC]), replies: mark.replies + 2 }
    },

    /** The mark of a batch that was sent without one and is late now; null = none is needed. @returns {Encoded | null} */
    missed: () => isSent ? null : encode([]),

    reset () {
      oldest = Infinity
      newest = 0
      isSent = false
    }
  }
}

/**
 * Sends a batch, and its mark if it became late under way.
 * @param {import('../store/index.js').Connection} connection @param {import('./index.js').Batch} batch
 * @param {Encoded} [encoded] in another form
 * @returns {Promise<any>} the last reply
 */
export async function sendMarked (connection, batch, encoded = batch.encoded()) {
  const reply = await connection.sendEncoded(encoded)
  const mark = batch.missedMark?.()
  if (mark) await connection.sendEncoded(mark)
  return reply
}

/**
 * @param {import('./index.js').Connection} connection @param {(part: string) => string} key
 * @returns {Promise<string>} entry id of the newest mark
 */
export async function newestMark (connection, key) {
  const [entry] = await connection.send('XREVRANGE', key('late'), '+', '-', 'COUNT', 1)
  return entry ? String(entry[0]) : NO_MARK
}

/**
 * The marks behind an entry. A node that lags may not have that entry yet, and returns none.
 * @param {import('./index.js').Connection} connection @param {(part: string) => string} key @param {string} after of an earlier reply
 * @returns {Promise<{ marks: Mark[], last: string, isGap: boolean }>} `last`: entry id to continue from; `isGap`: marks in between
 *   were trimmed
 */
export async function marksAfter (connection, key, after) {
  /** @type {[Buffer, Buffer[]][]} */
  const entries = await connection.send('XRANGE', key('late'), after, '+')
  if (entries.length === 0) return { marks: [], last: after, isGap: false }
  const isThere = String(entries[0][0]) === after
  return {
    marks: entries.slice(isThere ? 1 : 0).map(([, fields]) => markOf(fields)),
    last: String(/** @type {[Buffer, Buffer[]]} */ (entries.at(-1))[0]),
    isGap: after === NO_MARK ? entries.length === MAX_MARKS : !isThere
  }
}

/** @param {Buffer[]} fields from <ts> to <ts> id <id> ... @returns {Mark} */
const markOf = ([, from, , to, ...ids]) => ({ from: Number(from), to: Number(to), ids: ids.filter((_, i) => i % 2 === 1) })
