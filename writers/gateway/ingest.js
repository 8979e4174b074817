/**
 * What becomes of the items of a request: taken and acknowledged, refused at the bound, or of unknown fate. All of them
 * or none.
 *
 * Requests share batches: a request appends and waits until everything appended so far is acknowledged, which a batch
 * of many requests answers at once. The bound on what is in flight holds for all feeds of the process together, since
 * they share its memory, and mostly a server too.
 *
 *     fits?  yes -> append -> acknowledged within ackWithinMs -> 200
 *                                                      else  -> 503 ACK_UNKNOWN (still held, and sent on)
 *            no  -> refuse: 503 INGEST_FULL | drop: 200, dropped | block: wait for room, then as above
 *
 * The clock goes on between looking at the items and appending them: one at the edge of the window may be too old by
 * then. It is counted as refused, in the answer too, and the others are taken.
 *
 * Requests that wait for room hold their bodies, so they have the same bound again; beyond it nobody waits.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ERRORS } from '../../src/errors.js'
import { HttpError } from '../../src/http/problem.js'
import { countRefused, refusedOf } from '../../src/pipeline/account.js'

/** room under the bound of the process is made by other feeds, which wake nobody here */
const LOOK_AGAIN_MS = 5

/** what sending again may mend: the feed is opened anew, the user gets his rights back. What else a server refuses for good, the answer says */
const PASSING = Object.freeze(['PIPELINE_CLOSED', 'FEED_DEFINITION_DIFFERS', 'SERVER_REFUSED'])

/**
 * @typedef {object} Wanted
 * @property {number} count items
 * @property {number} bytes about as many as will be held for them
 * @property {(feed: Feed) => void} check throws what the feed has against them now
 * @property {(feed: Feed) => void} append all of them; synchronous
 *
 * @typedef {import('./feeds.js').Feed} Feed
 * @typedef {{ accepted: number, dropped?: number, refused?: number }} Taken
 * @typedef {ReturnType<typeof createIngest>} Ingest
 */

/**
 * @param {{ feeds: import('./feeds.js').Feeds, whenFull: 'block' | 'refuse' | 'drop', ackWithinMs: number,
 *   inFlightBytes: number, log: import('fastify').FastifyBaseLogger }} options
 */
export function createIngest ({ feeds, whenFull, ackWithinMs, inFlightBytes, log }) {
  let waitingBytes = 0

  /** @param {Feed} feed @param {number} bytes */
  function fits (feed, bytes) {
    const heldBytes = feeds.heldBytes
    // one that can never fit is taken when nothing else is held
    return heldBytes === 0 || (feed.room(bytes) && heldBytes + bytes <= inFlightBytes)
  }

  /** @param {Feed} feed @param {number} bytes @param {() => number} leftMs @returns {Promise<boolean>} whether there was room in time */
  async function waitForRoom (feed, bytes, leftMs) {
    if (waitingBytes > 0 && waitingBytes + bytes > inFlightBytes) return false
    waitingBytes += bytes
    try {
      return await roomInTime(feed, bytes, leftMs)
    } finally {
      waitingBytes -= bytes
    }
  }

  /** @param {Feed} feed @param {number} bytes @param {() => number} leftMs */
  async function roomInTime (feed, bytes, leftMs) {
    while (leftMs() > 0) {
      try {
        await feed.ready({ deadlineMs: Math.ceil(leftMs()) })
      } catch (error) {
        if (error.code === 'DEADLINE_PASSED') return false
        throw unknown(error, false)
      }
      if (fits(feed, bytes)) return true
      await sleep(LOOK_AGAIN_MS)
    }
    return false
  }

  /** A server that takes no writes is the cause, however much would fit here. @param {Feed} feed @param {number} bytes */
  const whyFull = ({ writer: { pipeline } }, bytes) => pipeline.isFull
    ? `SERVER_FULL: ${ERRORS.SERVER_FULL.meaning}`
    : `about ${bytes} bytes more do not fit: ${feeds.heldBytes} of ${inFlightBytes} wait for their acknowledgement (--in-flight-bytes)`

  /** @param {any} error @param {boolean} appended @returns {Error} */
  function unknown (error, appended) {
    if (!error.retryable && !PASSING.includes(error.code)) return error
    // closing under a request is no news; the rest the log must know, since the answer does not say it
    if (!['DEADLINE_PASSED', 'PIPELINE_CLOSED'].includes(error.code)) log.warn({ code: error.code, reason: error.message }, 'a feed failed under a request')
    if (!appended) return new HttpError('NOT_READY', 'the feed was closed before there was room; nothing was taken: send the same request again')
    return new HttpError('ACK_UNKNOWN', error.code === 'DEADLINE_PASSED'
      ? `not acknowledged within ${ackWithinMs} ms; the items may be stored or not: send the same request again; items that bring their own ts are then stored once`
      : 'the feed was closed before the items were acknowledged; they may be stored or not: send the same request again; items that bring their own ts are then stored once')
  }

  return {
    /**
     * @param {Feed} feed
     * @param {Wanted} wanted
     * @returns {Promise<Taken>}
     * @throws {HttpError | import('../../src/errors.js').FreshetError} INGEST_FULL, ACK_UNKNOWN, NOT_READY, what `check` throws, what the server refused for good
     */
    async take (feed, { count, bytes, check, append }) {
      const endMs = performance.now() + ackWithinMs
      const leftMs = () => endMs - performance.now()
      check(feed)
      if (!fits(feed, bytes)) {
        if (whenFull === 'drop') {
          feed.writer.pipeline.skip(count)
          return { accepted: 0, dropped: count }
        }
        if (whenFull === 'refuse' || !await waitForRoom(feed, bytes, leftMs)) {
          feed.account.offered += count
          countRefused(feed.account, 'full', count)
          throw new HttpError('INGEST_FULL', `${whyFull(feed, bytes)}; nothing was taken: send the same request again`)
        }
        check(feed)
      }
      const refusedBefore = refusedOf(feed.account)
      let refused = 0
      try {
        append(feed)
        if (feeds.isHurried) feed.flush().catch(() => {})
        refused = refusedOf(feed.account) - refusedBefore
        await feed.acknowledged({ deadlineMs: Math.max(1, Math.ceil(leftMs())) })
      } catch (error) {
        throw unknown(error, true)
      }
      return refused > 0 ? { accepted: count - refused, refused } : { accepted: count }
    }
  }
}
