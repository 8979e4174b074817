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
import { ViewerState } from './viewer.js'

/** A stream is never silent for longer. */
export const HEARTBEAT_MS = 10_000

/** Socket timeout; heartbeats come more often. */
const STALLED_MS = 15_000
/** Socket timeout while the budget is exceeded (budget.js). */
const STUCK_MS = 5000

/** @typedef {import('./viewer.js').List} List */
/** @typedef {import('node:http').ServerResponse} Response */
/**
 * @typedef {{ response: Response, budget: import('./budget.js').Budget,
 *   isPermitted: () => boolean, onEnd: (reason: string) => void } &
 *   Pick<import('./index.js').Wanted, 'ids' | 'beginnings' | 'limit' | 'encoding' | 'periodMs' | 'seal' | 'start'>} Options
 */

export class Stream extends ViewerState {
  isOver = false
  /** When something was last sent. */
  sentMs = performance.now()
  /** When the client last read something. */
  #readMs = this.sentMs
  /** Bytes in its socket, as last counted. */
  #waiting = 0
  /** What may wait until the one write of several events; null: there is none. @type {number | null} */
  #togetherBytes = null
  #response
  #budget
  #onEnd

  /** @param {Options} options */
  constructor ({ response, budget, isPermitted, onEnd, ...wanted }) {
    super(wanted)
    this.#response = response
    this.#budget = budget
    this.#onEnd = onEnd
    this.isPermitted = isPermitted
    budget.enter()
    whenClosed(response, () => this.#over('closed'))
    response.on('error', () => this.#over('closed'))
    response.setTimeout(STALLED_MS, () => this.#stall())
    this.#count(this.sentMs)
  }

  /** @param {string} reason */
  #over (reason) {
    if (this.isOver) return
    this.isOver = true
    this.#budget.leave(this.#waiting)
    this.#onEnd(reason)
  }

  #stall () {
    this.#over('stalled')
    this.#response.destroy()
  }

  /** @param {number} nowMs */
  #count (nowMs) {
    const bytes = this.#response.writableLength
    if (bytes < this.#waiting || this.#waiting === 0) this.#readMs = nowMs
    if (bytes === this.#waiting) return
    this.#budget.change(bytes - this.#waiting)
    this.#waiting = bytes
  }

  /** Each write is counted, so when nothing waits there is nothing to count until the next one. */
  measure () { if (this.#waiting > 0) this.#count(performance.now()) }

  /** Ends a stream whose client reads nothing, while the budget is exceeded. @param {number} nowMs */
  endIfStuck (nowMs) { if (this.#budget.isOver && this.#waiting > 0 && nowMs - this.#readMs > STUCK_MS) this.#stall() }

  /** Whether more may be sent. */
  hasRoom () {
    if (this.isOver) return false
    this.measure()
    return this.#waiting <= (this.#togetherBytes ?? this.#budget.roomBytes)
  }

  /** Sends a heartbeat if nothing was sent for some time. @param {number} nowMs @param {string} [comment] */
  keepAlive (nowMs, comment = EMPTY_HEARTBEAT) {
    if (nowMs - this.sentMs > HEARTBEAT_MS && this.hasRoom()) this.send(comment)
  }

  /** @param {Buffer | string} bytes whole events */
  send (bytes) {
    if (this.isOver) return
    this.sentMs = performance.now()
    this.#response.write(bytes)
    this.#count(this.sentMs)
  }

  /** What is sent until the event loop goes on is one write, of half a chunk and an event at most. */
  together () {
    const { socket } = this.#response
    if (this.#togetherBytes !== null || !socket) return
    this.#togetherBytes = this.#waiting + this.#budget.chunkBytes / 2
    socket.cork()
    process.nextTick(() => {
      this.#togetherBytes = null
      socket.uncork()
    })
  }

  /** @param {Buffer} frame an event (events.js) @param {number} nowMs */
  sendFrame (frame, nowMs) {
    if (this.isOver) return
    const response = this.#response
    const { socket } = response
    // the response makes three writes of a chunk; what waits in it comes first
    if (!socket || !response.chunkedEncoding || (this.#waiting > 0 && socket.writableLength < response.writableLength)) {
      return this.send(eventOf(frame))
    }
    this.sentMs = nowMs
    socket.write(frame)
    this.#count(nowMs)
  }

  /** @param {string} reason one word, for metrics @param {string} last sent before the end */
  end (reason, last) {
    if (this.isOver) return
    this.#response.end(last)
    this.#over(reason)
  }
}
