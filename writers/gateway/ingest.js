/**
 * Takes the items of a request, all or none: acknowledged, refused at the bound, or of unknown outcome.
 *
 * Requests share batches: a request appends and waits until everything appended so far is acknowledged. The bound on
 * bytes in flight holds for all feeds of the process together, since they share its memory and usually a server.
 *
 *     fits?  yes -> append -> acknowledged within ackWithinMs -> 200
 *                                                      else  -> 503 ACK_UNKNOWN (still held, and sent later)
 *            no  -> refuse: 503 INGEST_FULL | drop: 200, dropped | block: wait for room, then as above
 *
 * An item at the edge of the window may become too old between the check and the append. It is counted as refused, in the
 * response too, and the other items are taken.
 *
 * Requests that wait for room hold their bodies. They have a bound of the same size; beyond it requests are refused.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { FreshetError } from './errors.js'
import { ERRORS } from '../../src/errors.js'
import { countRefused, refusedOf } from '../../src/pipeline/index.js'

/** other feeds free room under the bound of the process without an event here */
const CHECK_ROOM_MS = 5

/** refusals of a server that may pass: the feed is opened again, or the user regains its rights; others are passed on */
const PASSING = Object.freeze(['PIPELINE_CLOSED', 'FEED_DEFINITION_DIFFERS', 'SERVER_REFUSED'])
/** known to the client from its response */
const NOT_LOGGED = Object.freeze(['DEADLINE_PASSED', 'PIPELINE_CLOSED'])

/**
 * @typedef {object} IngestRequest
 * @property {number} count items
 * @property {number} bytes estimate of what will be held for them
 * @property {(feed: Feed) => void} check throws when the feed refuses them now
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
    // a request larger than the bound is taken when nothing else is held
    return heldBytes === 0 || (feed.fitsBudget(bytes) && heldBytes + bytes <= inFlightBytes)
  }

  /** @param {Feed} feed @param {number} bytes @param {() => number} leftMs @returns {Promise<boolean>} whether there was room in time */
  async function waitForBudget (feed, bytes, leftMs) {
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
        throw outcomeOf(error, false)
      }
      if (fits(feed, bytes)) return true
      await sleep(CHECK_ROOM_MS)
    }
    return false
  }

  /** @param {Feed} feed @param {number} bytes */
  const whyFull = ({ writer: { pipeline } }, bytes) => pipeline.isFull
    ? `SERVER_FULL: ${ERRORS.SERVER_FULL.meaning}`
    : `about ${bytes} more bytes do not fit: ${feeds.heldBytes} of ${inFlightBytes} wait for their acknowledgement (--in-flight-bytes)`

  /** @param {any} error @param {boolean} isAppended @returns {Error} for the client */
  function outcomeOf (error, isAppended) {
    if (!error.retryable && !PASSING.includes(error.code)) return error
    if (!NOT_LOGGED.includes(error.code)) log.warn({ code: error.code, reason: error.message }, 'feed failed during a request')
    if (!isAppended) {
      return new FreshetError('NOT_READY', 'the feed was closed before there was room; nothing was taken: send the same request again')
    }
    const why = error.code === 'DEADLINE_PASSED'
      ? `not acknowledged within ${ackWithinMs} ms`
      : 'the feed was closed before the items were acknowledged'
    return new FreshetError('ACK_UNKNOWN',
      `${why}; the items may be stored or not: send the same request again; items with their own ts are then stored once`)
  }

  return {
    /**
     * @param {Feed} feed
     * @param {IngestRequest} request
     * @returns {Promise<Taken>}
     * @throws {FreshetError} INGEST_FULL, ACK_UNKNOWN, NOT_READY, errors of `check`, permanent refusals of the server
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
        if (whenFull === 'refuse' || !await waitForBudget(feed, bytes, leftMs)) {
          feed.account.offered += count
          countRefused(feed.account, 'full', count)
          throw new FreshetError('INGEST_FULL', `${whyFull(feed, bytes)}; nothing was taken: send the same request again`)
        }
        check(feed)
      }
      const refusedBefore = refusedOf(feed.account)
      let refused = 0
      try {
        append(feed)
        if (feeds.isDraining) feed.flush().catch(() => {})
        refused = refusedOf(feed.account) - refusedBefore
        await feed.acknowledged({ deadlineMs: Math.max(1, Math.ceil(leftMs())) })
      } catch (error) {
        throw outcomeOf(error, true)
      }
      return refused > 0 ? { accepted: count - refused, refused } : { accepted: count }
    }
  }
}
