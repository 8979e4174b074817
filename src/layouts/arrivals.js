/**
 * The log of arrivals of layouts `ids` and `values`: which versions a batch brought, without their values. One entry a batch, in the same
 * transaction:
 *
 *     fr:{feed:p}:arrivals    stream    a <segment without values>       (item/segment.js)
 *
 *     MULTI
 *     ...                                  commands of the batch
 *     XADD arrivals MAXLEN ~ n * a ...     n: as many entries as 16 MiB hold, by the sizes that this writer sent lately
 *     PEXPIRE arrivals ttl                 once a second, if the feed has an age limit
 *     EXEC
 *
 * Who follows a feed reads the log, and values from where they are stored. A batch that is sent again because its outcome is unknown has
 * the same origin and sequence, and is skipped. One that the server refused gets another sequence: its entry may be stored without its
 * values.
 *
 * The log keeps what arrived within the window and within 60 s, and its newest entry for as long as the feed has items.
 *
 * @typedef {{ id: Buffer, ts: number, seq: number, deleted: boolean }} Arrival
 */
import { ARRIVAL_HEAD_BYTES, METHODS, SEGMENT_HEAD_BYTES, eachVersion, segmentHead, writeArrival, writeSegmentHead } from '../item/index.js'
import { nextStamp, originOfProcess } from './log-origin.js'
import { EXEC, MULTI, NOTHING, Wire, command, wholeCommand } from './wire.js'

export const KEPT_BYTES = 16 * 1024 * 1024
const KEPT_MS = 60_000
/** of an entry in a stream, beside its value */
const ENTRY_BYTES = 40
const MIN_ENTRIES = 2
const LINE_END = Buffer.from('\r\n')

/** @type {Readonly<import('./log.js').Log>} */
export const arrivals = Object.freeze({ part: 'arrivals', field: 'a', head: segmentHead, each: eachVersion, isIndex: true })

/** How long an arrival is kept, ms. @param {{ windowMs: number }} retention */
export const keptMs = ({ windowMs }) => windowMs > 0 ? Math.min(windowMs, KEPT_MS) : KEPT_MS

/** The entry of one batch. @typedef {ReturnType<typeof createArrivals>} Arrivals */

/** @param {{ key: (part: string) => string, ttlMs: number, clock: () => number, origin?: import('./log-origin.js').Origin }} options */
export function createArrivals ({ key, ttlMs, clock, origin = originOfProcess() }) {
  const name = key(arrivals.part)
  const expire = ttlMs > 0 ? wholeCommand('PEXPIRE', name, ttlMs) : NOTHING
  const lifetime = String(ttlMs)
  const entry = new Wire(8 * 1024)
  let count = 0
  let firstTs = 0
  let lastTs = 0
  let stamp = 0
  /** 0 = none yet */
  let sequence = 0
  let isExpiring = false
  entry.length = SEGMENT_HEAD_BYTES

  return {
    get bytes () { return entry.length },

    /** @param {Buffer} id @param {number} ts @param {number} seq @param {boolean} deleted */
    add (id, ts, seq, deleted) {
      if (count === 0) {
        stamp = nextStamp(clock)
        firstTs = lastTs = ts
      } else if (ts > lastTs) lastTs = ts
      else if (ts < firstTs) firstTs = ts
      entry.reserve(ARRIVAL_HEAD_BYTES + id.length)
      entry.length = writeArrival(entry.bytes, entry.length, id, ts, seq, deleted)
      count++
    },

    /**
     * What stands around the commands of the batch.
     * @returns {{ before: Buffer, after: Buffer[], replies: number, isExpiring: boolean }} `replies`: of all of it; `isExpiring`:
     *   whether expiries are due
     */
    around () {
      if (sequence === 0) sequence = origin.next()
      const { writer, epoch } = origin
      writeSegmentHead(entry.bytes, 0, entry.length,
        { count, firstTs, lastTs, stamp, writer, epoch, sequence, method: METHODS.arrivals })
      isExpiring = ttlMs > 0 && origin.expiry(name).isDue(lifetime)
      const entries = Math.max(MIN_ENTRIES, Math.floor(KEPT_BYTES / (origin.meanBytes(name, entry.length) + ENTRY_BYTES)))
      const xadd = command(8, 'XADD', name, 'MAXLEN', '~', entries, '*', arrivals.field)
      const length = Buffer.from(`$${entry.length}\r\n`)
      return {
        before: MULTI,
        after: [xadd, length, entry.written(), LINE_END, isExpiring ? expire : NOTHING, EXEC],
        replies: isExpiring ? 4 : 3,
        isExpiring
      }
    },

    /** The batch is stored. */
    stored () { if (isExpiring) origin.expiry(name).stored(lifetime) },

    /** The server refused the last sending, or a part of it. */
    refused () { sequence = 0 },

    reset () {
      count = 0
      sequence = 0
      isExpiring = false
      entry.length = SEGMENT_HEAD_BYTES
    }
  }
}

/**
 * Sends a batch with its arrivals.
 * @param {import('../store/index.js').Connection} connection
 * @param {{ bytes: Buffer, replies: number }} encoded @param {Arrivals} [of]
 * @returns {Promise<any>} the last reply
 */
export async function sendWith (connection, encoded, of) {
  try {
    const reply = await connection.sendEncoded(encoded)
    if (reply !== null) of?.stored()
    return reply
  } catch (error) {
    if (error.outcome !== 'over') of?.refused()
    throw error
  }
}

/**
 * Removes arrivals that are older than the log reaches, and never its newest entry.
 * @param {import('./index.js').Connection} connection @param {(part: string) => string} key
 * @param {{ retention: import('./index.js').Retention, nowMs: number }} now
 */
export async function trimArrivals (connection, key, { retention, nowMs }) {
  const name = key(arrivals.part)
  const [newest] = await connection.send('XREVRANGE', name, '+', '-', 'COUNT', 1)
  if (!newest) return
  const untilMs = Math.floor(nowMs - keptMs(retention))
  const newestMs = Number.parseInt(String(newest[0]))
  await connection.send('XTRIM', name, 'MINID', '~', untilMs < newestMs ? String(Math.max(0, untilMs)) : String(newest[0]))
}
