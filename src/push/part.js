/**
 * One subject of a stream of several: a feed, or a key of a system. Its hub and encoder serve it as they serve a stream of its own; their
 * events have the name of the subject, and the position of the whole stream in place of their own.
 *
 *     hub of feed a -> part a -\
 *     hub of feed b -> part b --+-> stream: data of a part begins with "feed":"a"; one position (several.js)
 *     key lamp      -> part c -/
 *
 * A hub names its feed in the items it sends. Other events get the name here, once for all streams that get them. Events of one turn of the
 * clock are written to the socket together.
 *
 * @typedef {{ frame: Buffer, id: string | null | undefined }} Named an event without its position; `id`: the position that it had, null =
 *   it had an empty one
 */
import { EMPTY_HEARTBEAT, frameOf, NO_ITEMS, withPosition } from './events.js'
import { HEARTBEAT_MS } from './stream.js'
import { ViewerState } from './viewer.js'

const DATA = 'data: {'
const ID = '\nid:'
const [COLON, BRACE] = Buffer.from(':}')

/**
 * @typedef {import('./several.js').Wanted & { label: string, isFeed: boolean, position: string | null,
 *   several: { positionDue: (nowMs: number) => string | null, beat: () => string } }} Options `label`: the first member of its data, as
 *   JSON; `position`: that the client has; `several`: the position of the whole stream, if it is due, and a heartbeat
 */

export class Part extends ViewerState {
  /** Whether its feed does not exist yet. */
  isWaiting = false
  #stream
  #several
  #isFeed
  /** Everything up to here was sent, as far as its events have said. @type {import('./sealed-positions.js').Sealing | null} */
  #known

  /** @param {import('./stream.js').Stream} stream that it is a part of @param {Options} options */
  constructor (stream, { label, isFeed, position, several, ...wanted }) {
    super({ ...wanted, seal: plain(wanted.seal) })
    this.#stream = stream
    this.#several = several
    this.label = label
    this.#isFeed = isFeed
    this.#known = position === null ? null : { position }
  }

  get isOver () { return this.#stream.isOver }
  get sentMs () { return this.#stream.sentMs }
  isPermitted () { return this.#stream.isPermitted() }
  measure () { this.#stream.measure() }
  /** @param {number} nowMs */
  endIfStuck (nowMs) { this.#stream.endIfStuck(nowMs) }
  hasRoom () { return this.#stream.hasRoom() }
  /** @param {string} reason @param {string} last */
  end (reason, last) { this.#stream.end(reason, last) }

  /** Up to where everything was sent. @returns {string | null} null: nothing is */
  get position () {
    const isSettled = this.#isFeed && this.#known !== null && !this.needsSnapshot && this.list === null && !this.isResuming
    if (isSettled && this.reached !== null) this.#known = this.reached
    return this.#known?.position ?? null
  }

  /** @param {number} nowMs @param {string} [comment] */
  keepAlive (nowMs, comment = EMPTY_HEARTBEAT) {
    if (nowMs - this.sentMs > HEARTBEAT_MS && this.hasRoom()) this.send(comment)
  }

  /** @param {Buffer | string} bytes an event, or a comment */
  send (bytes) {
    if (this.isOver) return
    if (bytes === NO_ITEMS) this.isWaiting = true
    // a position of its own comes with the heartbeat of the whole
    if ((typeof bytes === 'string' ? bytes.charCodeAt(0) : bytes[0]) === COLON) this.#stream.send(this.#several.beat())
    else {
      const { frame, id } = named(bytes, /** @type {string} */ (this.label))
      if (id !== undefined) this.#known = id === null ? null : { position: id }
      this.#write(frame, id === null ? Infinity : performance.now())
    }
  }

  /** @param {Buffer} frame an event (events.js) with its label @param {number} nowMs @param {boolean} isLast its position is reached */
  sendFrame (frame, nowMs, isLast) {
    if (this.isOver) return
    if (isLast) this.#known = this.reached
    this.#write(frame, nowMs)
  }

  /** @param {Buffer} frame @param {number} nowMs Infinity: a position is due */
  #write (frame, nowMs) {
    this.isWaiting = false
    const whole = this.#several.positionDue(nowMs)
    this.#stream.gather(whole === null ? frame : withPosition(frame, whole), nowMs === Infinity ? performance.now() : nowMs)
  }
}

/**
 * The position of the whole is sealed, so those of its parts are not.
 * @param {import('./sealed-positions.js').PositionSeal | null} [seal]
 */
const plain = (seal) => seal ? { ...seal, shown: (/** @type {import('./sealed-positions.js').Sealing} */ { position }) => position } : null

/** Renamed events, by what encoders gave. They are of one subject each. @type {WeakMap<Buffer, Named>} */
const renamed = new WeakMap()

/** @param {Buffer | string} event @param {string} label @returns {Named} */
function named (event, label) {
  if (typeof event === 'string') return rename(Buffer.from(event), label)
  const known = renamed.get(event)
  if (known) return known
  const one = rename(event, label)
  renamed.set(event, one)
  return one
}

/** @param {Buffer} event @param {string} label @returns {Named} */
function rename (event, label) {
  const idAt = event.lastIndexOf(ID)
  const endAt = idAt < 0 ? event.length - 2 : idAt
  const dataAt = event.indexOf(DATA) + DATA.length
  const isBare = event[dataAt] === BRACE
  const head = [event.subarray(0, dataAt), Buffer.from(isBare ? label : `${label},`), event.subarray(dataAt, endAt), Buffer.from('\n\n')]
  const id = idAt < 0 ? undefined : event.toString('latin1', idAt + ID.length).trim() || null
  return { frame: frameOf(Buffer.concat(head)), id }
}
