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
  /** Events of this turn that are one write; null: there are none. @type {Buffer[] | null} */
  #gathered = null
  #gatheredBytes = 0
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
    if (this.#gathered !== null) return this.#gatheredBytes <= this.#budget.chunkBytes / 2
    return this.#waiting <= this.#budget.roomBytes
  }

  /** Sends a heartbeat if nothing was sent for some time. @param {number} nowMs @param {string} [comment] */
  keepAlive (nowMs, comment = EMPTY_HEARTBEAT) {
    if (nowMs - this.sentMs > HEARTBEAT_MS && this.hasRoom()) this.send(comment)
  }

  /** @param {Buffer | string} bytes whole events */
  send (bytes) {
    this.#release()
    if (this.isOver) return
    this.sentMs = performance.now()
    this.#response.write(bytes)
    this.#count(this.sentMs)
  }

  /**
   * What is gathered until the event loop goes on is one write, of half a chunk and an event at most.
   * @param {Buffer} frame an event (events.js) @param {number} nowMs
   */
  gather (frame, nowMs) {
    if (this.isOver) return
    if (this.#gathered === null) {
      this.#gathered = []
      process.nextTick(() => this.#release())
    }
    this.#gathered.push(frame)
    this.#gatheredBytes += frame.length
    this.sentMs = nowMs
  }

  #release () {
    const frames = this.#gathered
    if (frames === null) return
    this.#gathered = null
    this.#gatheredBytes = 0
    this.#write(frames, this.sentMs)
  }

  /** @param {Buffer} frame an event (events.js) @param {number} nowMs */
  sendFrame (frame, nowMs) { this.#write([frame], nowMs) }

  /** @param {Buffer[]} frames at least one @param {number} nowMs */
  #write (frames, nowMs) {
    if (this.isOver) return
    const response = this.#response
    const { socket } = response
    // the response makes three writes of a chunk; what waits in it comes first
    if (!socket || !response.chunkedEncoding || (this.#waiting > 0 && socket.writableLength < response.writableLength)) {
      return this.send(Buffer.concat(frames.map(eventOf)))
    }
    this.sentMs = nowMs
    socket.write(joined(frames))
    this.#count(nowMs)
  }

  /** @param {string} reason one word, for metrics @param {string} last sent before the end */
  end (reason, last) {
    this.#release()
    if (this.isOver) return
    this.#response.end(last)
    this.#over(reason)
  }
}

/** What streams that are alike gather in a turn, by its first frame. @type {WeakMap<Buffer, { frames: Buffer[], bytes: Buffer }>} */
const joins = new WeakMap()

/** @param {Buffer[]} frames @returns {Buffer} */
function joined (frames) {
  const [first] = frames
  if (frames.length === 1) return first
  const known = joins.get(first)
  if (known?.frames.length === frames.length && known.frames.every((frame, i) => frame === frames[i])) return known.bytes
  const bytes = Buffer.concat(frames)
  joins.set(first, { frames, bytes })
  return bytes
}
