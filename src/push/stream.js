/**
 * One client's stream of server-sent events: what it wants, up to where it was served, and how much waits in its socket.
 *
 *     due -> is there room (caps.js)? -> events -> socket
 *              no: nothing is built for it; once there is room it gets the newest version of every changed id
 *
 * So a client that reads slowly, or not at all, costs at most its budget and delays no one. A stream whose socket accepts
 * nothing for 15 to 30 s is ended; the client may reconnect and resume.
 */
import { whenClosed } from '../http/index.js'
import { EMPTY_HEARTBEAT, eventOf } from './events.js'

/** A stream is never silent for longer. */
export const HEARTBEAT_MS = 10_000
/** Socket timeout; heartbeats come more often. */
const STALLED_MS = 15_000
/** Socket timeout while the budget is exceeded (caps.js). */
const STUCK_MS = 5000
/** Deliveries that are due within this time are made now, since the caller runs in ticks. */
const EARLY_MS = 3
/** There may be thousands of streams. @type {Set<string>} */
const NONE = new Set()
/** @type {readonly string[]} */
const NO_IDS = Object.freeze([])
/** What streams that are alike gather in a turn, by its first frame. @type {WeakMap<Buffer, { frames: Buffer[], bytes: Buffer }>} */
const joins = new WeakMap()

/**
 * What one viewer of a feed has and lacks: a stream, or a part of a stream of several feeds (several.js).
 *
 * Classes, because a turn looks at thousands of them: objects of literals with getters and functions of their own have a shape each, and
 * every look at a field is then a search.
 *
 * @typedef {Stream | import('./several.js').Part} Viewer
 */

/**
 * @typedef {{ name: 'items' | 'snapshot', ids: readonly string[], at: number, isCut?: boolean }} List ids to send, from index `at` on;
 *   `name`: of the next event; `isCut`: it ended at a bound
 */

/** The state that encoders read and change. */
export class ViewerState {
  /** Changed ids of `ids` and `beginnings` that were not sent yet; of a stream of all ids it stays empty. @type {Set<string>} */
  changed
  /** Of a stream of all ids the changes up to here were sent, or are in `list`. */
  seq = 0
  /** What is sent before further changes: a snapshot, or changes. @type {List | null} */
  list = null
  /** What was sent of the last list of a stream of all ids. @type {import('./delivery.js').Sent | null} */
  sent = null
  needsSnapshot = false
  /** Whether its first snapshot has no items, so that the changes since the head of the response follow it. */
  isFromHead = false
  /** Whether it waited for its feed: its snapshot has all items, until all of one was sent. */
  isFirst = false
  /** The reason in the reset event before the snapshot. @type {string | null} */
  resetReason = null
  /** Everything up to here was sent, null = unknown. @type {import('./sealed-positions.js').Sealing | null} */
  reached = null
  /** The first member of the data of its events, as JSON; such events have no position. @type {string | undefined} */
  label
  /** Whether the changes since its position, or the items of its snapshot, are being looked up. */
  isResuming = false
  #periodMs
  /** When changes were last delivered. */
  #deliveredMs = -Infinity

  /**
   * @param {Pick<import('./index.js').Subscription, 'ids' | 'beginnings' | 'limit' | 'encoding' | 'periodMs' | 'seal' | 'start'>} options
   *   `periodMs`: minimum between deliveries of changes
   */
  constructor ({ ids, beginnings = NO_IDS, limit, encoding, periodMs, seal = null, start = null }) {
    this.changed = ids === null ? NONE : new Set()
    this.ids = ids
    this.beginnings = beginnings
    this.limit = limit
    this.encoding = encoding
    this.#periodMs = periodMs
    /** Of a client that may see some ids only; null: its positions are plain. */
    this.seal = seal
    /** Where it begins in place of a snapshot. */
    this.start = start
  }

  /** @param {number} nowMs */
  isDue (nowMs) { return nowMs - this.#deliveredMs >= this.#periodMs - EARLY_MS }

  /** Changes are delivered now. @param {number} nowMs */
  delivered (nowMs) {
    // early deliveries do not add up
    this.#deliveredMs = Math.max(nowMs - EARLY_MS, Math.min(nowMs, this.#deliveredMs + this.#periodMs))
  }
}

/** @typedef {import('node:http').ServerResponse} Response */
/**
 * @typedef {{ response: Response, budget: import('./caps.js').Budget,
 *   isPermitted: () => boolean, onEnd: (reason: string) => void } &
 *   Pick<import('./index.js').Subscription, 'ids' | 'beginnings' | 'limit' | 'encoding' | 'periodMs' | 'seal' | 'start'>} Options
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
  constructor ({ response, budget, isPermitted, onEnd, ...options }) {
    super(options)
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
    return this.#waiting <= this.#budget.budgetBytes
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

/** @param {Buffer[]} frames @returns {Buffer} */
function joined (frames) {
  const [first] = frames
  if (frames.length === 1) return first
  const before = joins.get(first)
  if (before?.frames.length === frames.length && before.frames.every((frame, i) => frame === frames[i])) return before.bytes
  const bytes = Buffer.concat(frames)
  joins.set(first, { frames, bytes })
  return bytes
}
