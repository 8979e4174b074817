/**
 * Streams of several subjects: feeds, and keys of systems. Each is a part with the source that a stream of its own would have. Its encoder
 * serves it as a stream; its events have the name of the subject, and the position of the whole stream in place of their own.
 *
 *     hub of feed a -> part a -\
 *     hub of feed b -> part b --+-> stream: data of a part begins with "feed":"a"; one position
 *     key lamp      -> part c -/
 *
 * A hub names its feed in the items it sends. Other events get the name here, once for all streams that get them. Events of one turn of the
 * clock are written to the socket together.
 *
 * One position has those of all parts (src/item/position.js). It comes with the first event, then at most once a second, and with
 * heartbeats, so a client that resumes may get changes of up to a second again.
 *
 * All parts together have a bounded number of partitions. A feed that comes later, or comes again with more partitions, may exceed it: then
 * the stream ends, and the client, which asks again, gets the reason as a refusal (opening.js).
 *
 * @typedef {import('./streams.js').Source} Source
 * @typedef {{ name: string, label: string, isFeed: boolean, sourceOf: (position: string | null) => Source }} Subject `name`: of a feed, or
 *   of a key, such as `auction:lamp`; `label`: the first member of the data of its events, as JSON; `sourceOf` a position, or what is none
 * @typedef {{ frame: Buffer, id: string | null | undefined }} Named an event without its position; `id`: the position that it had, null =
 *   it had an empty one
 */
import { encodeSeveral, longestSeveral, partitionsIn } from '../item/index.js'
import { EMPTY_HEARTBEAT, frameOf, NO_ITEMS, retrySoon, withPosition } from './events.js'
import { HEARTBEAT_MS, ViewerState } from './stream.js'

/** Most partitions of the feeds of one stream: their positions fit into 6 KiB. */
export const MAX_PARTITIONS = 256
/** A key counts as so many. */
export const PARTITIONS_PER_KEY = 4
const POSITION_EVERY_MS = 1000
/** What no subject has as a position: it costs a reset. */
const INVALID = '-'

const DATA = 'data: {'
const ID = '\nid:'
const [COLON, BRACE] = Buffer.from(':}')
/** Renamed events, by what encoders gave. They are of one subject each. @type {WeakMap<Buffer, Named>} */
const renamed = new WeakMap()

/** @typedef {Pick<import('./index.js').Wanted, 'limit' | 'encoding' | 'periodMs' | 'ids' | 'beginnings' | 'seal' | 'start'>} Wanted */

/**
 * @param {readonly Subject[]} subjects
 * @param {{ positions: ReadonlyMap<string, string | null> | null, isResumed: boolean,
 *   wanted: Wanted }} options `positions`: by name, null = the client has none that is valid; `isResumed`: it has sent one
 * @returns {Source}
 */
export function severalOf (subjects, { positions, isResumed, wanted }) {
  /** @type {{ name: string, isFeed: boolean, part: Part, source: Source }[]} */
  const parts = []
  let positionMs = -Infinity
  let end = () => {}

  function position () {
    const reached = parts.map(({ name, isFeed, part }) =>
      ({ name, isFeed, position: part.position, isWaiting: part.isWaiting || part.isFirst }))
    const partitions = countPartitions(reached)
    if (partitions > MAX_PARTITIONS) end()
    const whole = encodeSeveral(reached)
    // while there is none, another reader may not have the secret, either
    const isNone = reached.every(({ position }) => position === null)
    return wanted.seal && !isNone ? wanted.seal.shown({ position: whole }, longestSeveral(partitions)) : whole
  }

  const several = {
    /** @param {number} nowMs Infinity: it is due */
    positionDue (nowMs) {
      if (nowMs - positionMs < POSITION_EVERY_MS) return null
      positionMs = nowMs === Infinity ? performance.now() : nowMs
      return position()
    },

    /** Names the feeds that do not exist yet. */
    beat () {
      const waiting = parts.filter(({ part }) => part.isWaiting).map(({ name }) => `: no items yet in ${name}\n`)
      return `${waiting.join('') || ': \n'}id: ${position()}\n\n`
    }
  }

  return {
    add (viewer) {
      // only a stream has parts
      const stream = /** @type {import('./stream.js').Stream} */ (viewer)
      end = () => stream.end('failed', retrySoon())
      for (const { name, label, isFeed, sourceOf } of subjects) {
        const own = positions?.get(name)
        const part = new Part(stream, { ...wanted, label, isFeed, position: own ?? null, several })
        // its feed has begun since
        part.isFirst = isFeed && own === null
        // without a snapshot nothing else says what it missed
        const isLost = isResumed && (positions === null || (own === undefined && isFeed && wanted.limit === 0))
        parts.push({ name, isFeed, part, source: sourceOf(isLost ? INVALID : own ?? null) })
      }
      for (const { part, source } of parts) if (!stream.isOver) source.add(part)
    },

    remove () { for (const { part, source } of parts) source.remove(part) }
  }
}

/**
 * A feed without a position counts as one.
 * @param {readonly { isFeed: boolean, position: string | null }[]} reached
 */
const countPartitions = (reached) => reached.reduce((sum, { isFeed, position }) =>
  sum + (isFeed ? position === null ? 1 : partitionsIn(position) : PARTITIONS_PER_KEY), 0)

/**
 * @typedef {Wanted & { label: string, isFeed: boolean, position: string | null,
 *   several: { positionDue: (nowMs: number) => string | null, beat: () => string } }} Options `label`: the first member of its data, as
 *   JSON; `position`: that the client has; `several`: the position of the whole stream, if it is due, and a heartbeat
 */

export class Part extends ViewerState {
  /** Whether its feed does not exist yet. */
  isWaiting = false
  #stream
  #several
  #isFeed
  /** Everything up to here was sent, as far as its events say. @type {import('./sealed-positions.js').Sealing | null} */
  #upTo

  /** @param {import('./stream.js').Stream} stream that it is a part of @param {Options} options */
  constructor (stream, { label, isFeed, position, several, ...wanted }) {
    super({ ...wanted, seal: plain(wanted.seal) })
    this.#stream = stream
    this.#several = several
    this.label = label
    this.#isFeed = isFeed
    this.#upTo = position === null ? null : { position }
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
    const isFromHead = this.isFromHead && this.resetReason === null
    const isSettled = this.#isFeed && (!this.needsSnapshot || isFromHead) && this.list === null && !this.isResuming
    if (isSettled && this.reached !== null) this.#upTo = this.reached
    return this.#upTo?.position ?? null
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
      if (id !== undefined) this.#upTo = id === null ? null : { position: id }
      this.#write(frame, id === null ? Infinity : performance.now())
    }
  }

  /** @param {Buffer} frame an event (events.js) with its label @param {number} nowMs @param {boolean} isLast its position is reached */
  sendFrame (frame, nowMs, isLast) {
    if (this.isOver) return
    if (isLast) this.#upTo = this.reached
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

/** @param {Buffer | string} event @param {string} label @returns {Named} */
function named (event, label) {
  if (typeof event === 'string') return rename(Buffer.from(event), label)
  const before = renamed.get(event)
  if (before) return before
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
