/**
 * Collects a body in a buffer that grows as bytes arrive, so that a body costs what was sent, not what its head announces
 * and not the number of its chunks (a body of one-byte chunks kept as chunks would cost a hundred times its bytes).
 *
 *     head: 1 MiB     nothing
 *     first chunk     64 KiB, or all of a smaller body
 *     more            twice as much, up to the announced length
 *
 * All bodies together are bounded. A body that has arrived takes the room of those still arriving, the oldest first, so that clients that
 * never finish theirs do not keep others out. A body refused midway is still read to its end and discarded: closing a connection with
 * unread bytes resets it, and the client would see the reset instead of the response. The request timeout (server.js) ends it.
 *
 * @typedef {ReturnType<typeof createBodyBudget>} BodyBudget
 */
import { FreshetError } from './errors.js'

const FIRST_BYTES = 64 * 1024
const FIRST_BYTES_UNANNOUNCED = 16 * 1024
const NOTHING = Buffer.alloc(0)

/**
 * The bound on bodies in progress, from their first bytes until the route has used them or the response is closed.
 * @param {number} maxBytes a larger body is accepted when there is no other
 */
export function createBodyBudget (maxBytes) {
  let held = 0
  /** how to refuse bodies that are arriving, the oldest first @type {Set<(error: FreshetError) => void>} */
  const arriving = new Set()
  const full = () => new FreshetError('INGEST_FULL',
    `${held} bytes of bodies are in progress, of ${maxBytes} allowed; nothing was taken: send the same request again`)
  const hasRoom = (/** @type {number} */ bytes, /** @type {number} */ own) => held === own || held + bytes <= maxBytes
  return {
    arriving,
    /** @param {number} bytes more @param {number} own held already by the same body @returns {FreshetError | null} INGEST_FULL */
    refusal: (bytes, own) => hasRoom(bytes, own) ? null : full(),
    /** Refuses bodies that are arriving until there is room for one that has arrived. @param {number} bytes @param {number} own */
    makeRoom (bytes, own) {
      for (const refuse of arriving) {
        if (hasRoom(bytes, own)) return
        refuse(full())
      }
    },
    /** @param {number} bytes */
    take (bytes) { held += bytes },
    /** @param {number} bytes */
    give (bytes) { held -= bytes }
  }
}

/** @param {number} maxBytes @param {string} received @returns {FreshetError} */
export const tooLarge = (maxBytes, received) =>
  new FreshetError('PAYLOAD_TOO_LARGE',
    `${received}; expected at most ${maxBytes.toLocaleString('en')} bytes per request: send the items in several`)

/**
 * @param {import('node:stream').Readable} payload
 * @param {{ announced: number | null, maxBytes: number, budget: BodyBudget }} bounds `announced`: Content-Length, checked
 * @param {(error: Error | null, bytes: Buffer) => void} done called once, unless the bytes are freed before; PAYLOAD_TOO_LARGE,
 *   INGEST_FULL, or an error of the stream
 * @returns {() => void} frees the bytes
 */
export function collectBody (payload, { announced, maxBytes, budget }, done) {
  let bytes = NOTHING
  let length = 0
  let isOver = false

  /** @param {Error | null} error */
  function end (error) {
    if (isOver) return
    isOver = true
    budget.arriving.delete(end)
    if (error) free()
    done(error, bytes.subarray(0, length))
  }

  function free () {
    budget.give(bytes.length)
    bytes = NOTHING
    length = 0
  }

  /** @param {number} needed @returns {FreshetError | null} */
  function grow (needed) {
    const first = announced === null ? FIRST_BYTES_UNANNOUNCED : FIRST_BYTES
    const size = Math.min(announced ?? maxBytes, Math.max(needed, first, 2 * bytes.length))
    if (needed === announced) {
      budget.arriving.delete(end)
      budget.makeRoom(size - bytes.length, bytes.length)
    } else budget.arriving.add(end)
    const refusal = budget.refusal(size - bytes.length, bytes.length)
    if (refusal) return refusal
    budget.take(size - bytes.length)
    const larger = Buffer.allocUnsafeSlow(size)
    bytes.copy(larger, 0, 0, length)
    bytes = larger
    return null
  }

  payload.on('data', (/** @type {Buffer} */ chunk) => {
    if (isOver) return
    const needed = length + chunk.length
    if (needed > maxBytes) return end(tooLarge(maxBytes, `a body of more than ${maxBytes.toLocaleString('en')} bytes`))
    const refusal = needed > bytes.length ? grow(needed) : null
    if (refusal) return end(refusal)
    chunk.copy(bytes, length)
    length = needed
  })
  payload.on('end', () => end(null))
  payload.on('error', end)
  return () => {
    isOver = true
    budget.arriving.delete(end)
    free()
  }
}
