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
import { EMPTY_HEARTBEAT, eventOf } from './events.js'
import { createRate, stateOf } from './viewer.js'

/** A stream is never silent for longer. */
export const HEARTBEAT_MS = 10_000

/** Socket timeout; heartbeats come more often. */
const STALLED_MS = 15_000
/** Socket timeout while the budget is exceeded (budget.js). */
const STUCK_MS = 5000

/** @typedef {ReturnType<typeof createStream>} Stream */
/** @typedef {import('./viewer.js').List} List */
/** @typedef {import('node:http').ServerResponse} Response */
/**
 * @param {{ response: Response, budget: import('./budget.js').Budget,
 *   isPermitted: () => boolean, onEnd: (reason: string) => void } &
 *   Pick<import('./index.js').Wanted, 'ids' | 'beginnings' | 'limit' | 'encoding' | 'periodMs' | 'seal' | 'start'>} options
 */
export function createStream ({ response, budget, periodMs, isPermitted, onEnd, ...wanted }) {
  let isOver = false
  let waiting = 0
  /** What may wait until the one write of several events; null: there is none. @type {number | null} */
  let togetherBytes = null
  let sentMs = performance.now()
  /** When the client last read something. */
  let readMs = sentMs
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
    ...stateOf(wanted),
    ...createRate(periodMs),
    isPermitted,

    get isOver () { return isOver },
    /** When something was last sent. */
    get sentMs () { return sentMs },

    measure,

    /** Ends a stream whose client reads nothing, while the budget is exceeded. @param {number} nowMs */
    endIfStuck (nowMs) { if (budget.isOver && waiting > 0 && nowMs - readMs > STUCK_MS) stall() },

    /** Whether more may be sent. */
    hasRoom () {
      if (isOver) return false
      measure()
      return togetherBytes === null ? waiting <= budget.roomBytes : waiting <= togetherBytes
    },

    /** Sends a heartbeat if nothing was sent for some time. @param {number} nowMs @param {string} [comment] */
    keepAlive (nowMs, comment = EMPTY_HEARTBEAT) {
      if (nowMs - sentMs > HEARTBEAT_MS && this.hasRoom()) this.send(comment)
    },

    /** @param {Buffer | string} bytes whole events */
    send (bytes) {
      if (isOver) return
      sentMs = performance.now()
      response.write(bytes)
      count(sentMs)
    },

    /** What is sent until the event loop goes on is one write, of half a chunk and an event at most. */
    together () {
      const { socket } = response
      if (togetherBytes !== null || !socket) return
      togetherBytes = waiting + budget.chunkBytes / 2
      socket.cork()
      process.nextTick(() => {
        togetherBytes = null
        socket.uncork()
      })
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
