/**
 * One client's stream of server-sent events: what it wants, up to where it was served, and how much waits in its socket.
 *
 *     due -> is there room (budget.js)? -> events -> socket
 *              no: nothing is built for it; once there is room it gets the newest version of every changed id
 *
 * So a client that reads slowly, or not at all, costs at most its budget and delays no one. A stream whose socket accepts
 * nothing for 15 to 30 s is ended; the client may reconnect and resume.
 */
import { whenClosed } from '../http/index.js'
import { eventOf } from './events.js'

/** Socket timeout; heartbeats come more often. */
const STALLED_MS = 15_000
/** Deliveries that are due within this time are made now, since the caller runs in ticks. */
const EARLY_MS = 3
/** Socket timeout while the budget is exceeded (budget.js). */
const STUCK_MS = 5000

/** @typedef {ReturnType<typeof createStream>} Stream */
/** @typedef {import('node:http').ServerResponse} Response */
/**
 * @typedef {{ name: 'items' | 'snapshot', ids: readonly string[], at: number }} List ids to send, from index `at` on;
 *   `name`: of the next event
 */

/**
 * @param {{ response: Response, budget: import('./budget.js').Budget,
 *   ids: ReadonlySet<string> | null, limit: number, encoding: string, periodMs: number, isPermitted: () => boolean,
 *   onEnd: (reason: string) => void }} options `ids`: latin1 strings of their bytes, null = all; `limit`: of the snapshot;
 *   `periodMs`: minimum between deliveries of changes
 */
export function createStream ({ response, budget, ids, limit, encoding, periodMs, isPermitted, onEnd }) {
  let isOver = false
  let waiting = 0
  let sentMs = performance.now()
  /** When the client last read something. */
  let readMs = sentMs
  /** When changes were last delivered. */
  let deliveredMs = -Infinity
  budget.enter()

  /** @param {string} reason */
  function over (reason) {
    if (isOver) return
    isOver = true
    budget.leave(waiting)
    onEnd(reason)
  }
  whenClosed(response, () => over('closed'))
  response.on('error', () => over('closed'))
  response.setTimeout(STALLED_MS, stall)
  count(sentMs)

  function stall () {
    over('stalled')
    response.destroy()
  }

  /** @param {number} nowMs */
  function count (nowMs) {
    const bytes = response.writableLength
    if (bytes < waiting || waiting === 0) readMs = nowMs
    if (bytes === waiting) return
    budget.change(bytes - waiting)
    waiting = bytes
  }

  // each write is counted, so when nothing waits there is nothing to count until the next one
  function measure () { if (waiting > 0) count(performance.now()) }

  return {
    ids,
    limit,
    encoding,
    isPermitted,
    /** Changed ids of `ids` that were not sent yet. @type {Set<string>} */
    changed: new Set(),
    /** Of a stream of all ids the changes up to here were sent, or are in `list`. */
    seq: 0,
    /** What is sent before further changes: a snapshot, or changes. @type {List | null} */
    list: /** @type {List | null} */ (null),
    /** What was sent of the last list of a stream of all ids. @type {import('./sent-parts.js').Sent | null} */
    sent: /** @type {import('./sent-parts.js').Sent | null} */ (null),
    needsSnapshot: false,
    /** Whether its first snapshot has no items, so that the changes since the head of the response follow it. */
    isFromHead: false,
    /** Whether it waited for its feed: its first snapshot has all items. */
    isFirst: false,
    /** The reason in the reset event before the snapshot. @type {string | null} */
    resetReason: /** @type {string | null} */ (null),
    /** Everything up to here was sent, null = unknown. @type {string | null} */
    position: /** @type {string | null} */ (null),
    /** Whether the changes since its position are being looked up. */
    isResuming: false,

    get isOver () { return isOver },
    /** When something was last sent. */
    get sentMs () { return sentMs },

    /** @param {number} nowMs */
    isDue: (nowMs) => nowMs - deliveredMs >= periodMs - EARLY_MS,

    /** Changes are delivered now. @param {number} nowMs */
    delivered (nowMs) {
      // early deliveries do not add up
      deliveredMs = Math.max(nowMs - EARLY_MS, Math.min(nowMs, deliveredMs + periodMs))
    },

    measure,

    /** Ends a stream whose client reads nothing, while the budget is exceeded. @param {number} nowMs */
    endIfStuck (nowMs) { if (budget.isOver && waiting > 0 && nowMs - readMs > STUCK_MS) stall() },

    /** Whether more may be sent. */
    hasRoom () {
      if (isOver) return false
      measure()
      return waiting <= budget.roomBytes
    },

    /** @param {Buffer | string} bytes whole events */
    send (bytes) {
      if (isOver) return
      sentMs = performance.now()
      response.write(bytes)
      count(sentMs)
    },

    /** @param {Buffer} frame an event (events.js) @param {number} nowMs */
    sendFrame (frame, nowMs) {
      if (isOver) return
      const { socket } = response
      // the response makes three writes of a chunk; what waits in it comes first
      if (!socket || !response.chunkedEncoding || (waiting > 0 && socket.writableLength < response.writableLength)) {
        return this.send(eventOf(frame))
      }
      sentMs = nowMs
      socket.write(frame)
      count(nowMs)
    },

    /** @param {string} reason one word, for metrics @param {string} last sent before the end */
    end (reason, last) {
      if (isOver) return
      response.end(last)
      over(reason)
    }
  }
}
