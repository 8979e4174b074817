/**
 * A body is collected as it arrives, in a buffer that grows with it, so that it costs what was sent and not what its head
 * announces, or how many pieces it came in:
 *
 *     head: 1 MiB     nothing
 *     first piece     64 KiB, or all of a smaller body
 *     more            twice as much, up to what was announced
 *
 * All bodies together have a bound. One that is refused on its way is read to its end all the same, and thrown away: a
 * connection that is closed with bytes unread is reset, and its client would meet that in place of the answer. It ends
 * when the time for a request is over (server.js).
 *
 * @typedef {ReturnType<typeof createBodyRoom>} BodyRoom
 */
import { HttpError } from './problem.js'

const FIRST_BYTES = 64 * 1024
const FIRST_BYTES_UNANNOUNCED = 16 * 1024
const NOTHING = Buffer.alloc(0)

/**
 * The bound on the bodies of requests in progress, from their first bytes until their items are appended or they are
 * answered: they are received, and may wait, before anything else counts them.
 * @param {number} maxBytes one body that is larger is taken when there is no other
 */
export function createBodyRoom (maxBytes) {
  let held = 0
  return {
    /** @param {number} bytes more @param {number} own held already by the same body @returns {HttpError | null} INGEST_FULL */
    refusal: (bytes, own) => held === own || held + bytes <= maxBytes
      ? null
      : new HttpError('INGEST_FULL', `${held} bytes of bodies are in progress, of ${maxBytes} allowed; nothing was taken: send the same request again`),
    /** @param {number} bytes */
    take (bytes) { held += bytes },
    /** @param {number} bytes */
    give (bytes) { held -= bytes }
  }
}

/** @param {number} maxBytes @param {string} received @returns {HttpError} */
export const tooLarge = (maxBytes, received) => new HttpError('PAYLOAD_TOO_LARGE', `${received}; expected at most ${maxBytes.toLocaleString('en')} bytes in one request: send the items in several`)

/**
 * @param {import('node:stream').Readable} payload
 * @param {{ announced: number | null, maxBytes: number, room: BodyRoom }} bounds `announced`: by the head, checked
 * @param {(error: Error | null, bytes: Buffer) => void} done called once, unless the room is given back before; PAYLOAD_TOO_LARGE,
 *   INGEST_FULL, or what ended it
 * @returns {() => void} gives the room back: nothing of the body is needed any more
 */
export function collectBody (payload, { announced, maxBytes, room }, done) {
  let bytes = NOTHING
  let length = 0
  let isOver = false

  /** @param {Error | null} error */
  function end (error) {
    if (isOver) return
    isOver = true
    if (error) free()
    done(error, bytes.subarray(0, length))
  }

  function free () {
    room.give(bytes.length)
    bytes = NOTHING
    length = 0
  }

  /** @param {number} needed @returns {HttpError | null} why there is no room */
  function grow (needed) {
    const first = announced === null ? FIRST_BYTES_UNANNOUNCED : FIRST_BYTES
    const size = Math.min(announced ?? maxBytes, Math.max(needed, first, 2 * bytes.length))
    const refusal = room.refusal(size - bytes.length, bytes.length)
    if (refusal) return refusal
    room.take(size - bytes.length)
    const larger = Buffer.allocUnsafeSlow(size)
    bytes.copy(larger, 0, 0, length)
    bytes = larger
    return null
  }

  payload.on('data', (/** @type {Buffer} */ piece) => {
    if (isOver) return
    const needed = length + piece.length
    if (needed > maxBytes) return end(tooLarge(maxBytes, `a body of more than ${maxBytes.toLocaleString('en')} bytes`))
    const refusal = needed > bytes.length ? grow(needed) : null
    if (refusal) return end(refusal)
    piece.copy(bytes, length)
    length = needed
  })
  payload.on('end', () => end(null))
  payload.on('error', end)
  return () => {
    isOver = true
    free()
  }
}
