/**
 * One subject of a stream of several: a feed, or a key of a system. Its hub and encoder serve it as they serve a stream of its own; here
 * their events get the name of the subject, and the position of the whole stream in place of their own.
 *
 *     hub of feed a -> part a -\
 *     hub of feed b -> part b --+-> stream: data of a part begins with "feed":"a"; one position (several.js)
 *     key lamp      -> part c -/
 *
 * An event is renamed once for all streams that get it. Events of one turn of the clock are written to the socket together.
 *
 * @typedef {ReturnType<typeof createPart>} Part
 * @typedef {{ head: Buffer, frame: Buffer, id: string | null | undefined }} Named an event without its position, and its end; `frame`: with
 *   it, for one write; `id`: the position that it had, null = it had an empty one
 */
import { EMPTY_HEARTBEAT, eventOf, frameOf, NO_ITEMS } from './events.js'
import { HEARTBEAT_MS } from './stream.js'
import { createRate, stateOf } from './viewer.js'

const DATA = 'data: {'
const ID = '\nid:'
const [COLON, DIGIT_0, BRACE] = Buffer.from(':0}')

/**
 * @param {import('./stream.js').Stream} stream
 * @param {import('./several.js').Wanted & { label: string, isFeed: boolean, position: string | null,
 *   several: { positionDue: (nowMs: number) => string | null, beat: () => string } }} options `label`: the first member of its data, as
 *   JSON; `position`: that the client has; `several`: the position of the whole stream, if it is due, and a heartbeat
 */
export function createPart (stream, { label, isFeed, periodMs, position, several, ...wanted }) {
  const named = namerOf(label)
  /** Everything up to here was sent, as far as its events have said. */
  let known = position
  let isWaiting = false

  /** @param {Named} event @param {number} nowMs */
  function write ({ head, frame, id }, nowMs) {
    isWaiting = false
    if (id !== undefined) known = id
    const whole = several.positionDue(id === null ? Infinity : nowMs)
    stream.together()
    stream.sendFrame(whole === null ? frame : frameOf([head, `id: ${whole}\n\n`]), nowMs)
  }

  const part = {
    ...stateOf({ ...wanted, seal: plain(wanted.seal) }),
    ...createRate(periodMs),
    /** Whether its feed does not exist yet. */
    get isWaiting () { return isWaiting },
    get isOver () { return stream.isOver },
    get sentMs () { return stream.sentMs },
    isPermitted: stream.isPermitted,
    measure: stream.measure,
    endIfStuck: stream.endIfStuck,
    hasRoom: stream.hasRoom,
    together: stream.together,
    end: stream.end,

    /** Up to where everything was sent. @returns {string | null} null: nothing is */
    reached () {
      const isSettled = isFeed && known !== null && !part.needsSnapshot && part.list === null && !part.isResuming
      return isSettled && part.position !== null ? (known = part.position) : known
    },

    /** @param {number} nowMs @param {string} [comment] */
    keepAlive (nowMs, comment = EMPTY_HEARTBEAT) {
      if (nowMs - stream.sentMs > HEARTBEAT_MS && stream.hasRoom()) part.send(comment)
    },

    /** @param {Buffer | string} bytes an event, or a comment */
    send (bytes) {
      if (stream.isOver) return
      if (bytes === NO_ITEMS) isWaiting = true
      // a position of its own comes with the heartbeat of the whole
      if ((typeof bytes === 'string' ? bytes.charCodeAt(0) : bytes[0]) === COLON) stream.send(several.beat())
      else write(named(bytes), performance.now())
    },

    /** @param {Buffer} frame an event (events.js) @param {number} nowMs */
    sendFrame (frame, nowMs) {
      if (!stream.isOver) write(named(frame), nowMs)
    }
  }
  return part
}

/**
 * The position of the whole is sealed, so those of its parts are not.
 * @param {import('./sealed-positions.js').PositionSeal | null} [seal]
 */
const plain = (seal) => seal ? { ...seal, shown: (/** @type {import('./sealed-positions.js').Sealing} */ { position }) => position } : null

/** Renamed events, by what encoders gave. They are of one subject each. @type {WeakMap<Buffer, Named>} */
const renamed = new WeakMap()

/** @param {string} label @returns {(event: Buffer | string) => Named} a frame of a feed, or an event as it is */
const namerOf = (label) => (event) => {
  if (typeof event === 'string') return rename(Buffer.from(event), label)
  const known = renamed.get(event)
  if (known) return known
  const one = rename(event[0] === DIGIT_0 ? eventOf(event) : event, label)
  renamed.set(event, one)
  return one
}

/** @param {Buffer} event @param {string} label @returns {Named} */
function rename (event, label) {
  const idAt = event.lastIndexOf(ID)
  const endAt = idAt < 0 ? event.length - 2 : idAt
  const dataAt = event.indexOf(DATA) + DATA.length
  const isBare = event[dataAt] === BRACE
  const head = Buffer.concat([
    event.subarray(0, dataAt), Buffer.from(isBare ? label : `${label},`), event.subarray(dataAt, endAt), Buffer.from('\n')
  ])
  const id = idAt < 0 ? undefined : event.toString('latin1', idAt + ID.length).trim() || null
  return { head, frame: frameOf([head, '\n']), id }
}
