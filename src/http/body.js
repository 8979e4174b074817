/**
 * Request bodies as bytes: nothing is parsed here, because routes store parts of the body as they were sent. Refused:
 * other media types, other compression than gzip, bytes that are not UTF-8, bodies above the limit. What the headers show is
 * refused before the body is read.
 *
 * text/plain and forms are refused too. That protects a process without tokens from pages of other origins: for the
 * media types accepted here a browser sends a preflight request, which only `--cors-origin` grants. It does not protect from DNS
 * rebinding, where the page has the same origin; only a token does.
 *
 * @typedef {{ type: string, bytes: Buffer }} Body `type`: one of those accepted
 * @typedef {import('fastify').FastifyRequest & { freeBody: (() => void) | null }} Request `freeBody`: returns its bytes to the bound
 */
import { isUtf8 } from 'node:buffer'
import { createGunzip } from 'node:zlib'
import { whenClosed } from './closed.js'
import { FreshetError } from './errors.js'

const GZIP = Object.freeze(['gzip', 'x-gzip'])

/**
 * Before the routes; for those of `app` alone.
 * @param {import('fastify').FastifyInstance} app
 * @param {{ types: readonly string[], maxBytes: number, budget: BodyBudget }} bounds `types`: media types;
 *   `maxBytes`: of one body, compressed or not
 */
export function takeBodies (app, { types, maxBytes, budget }) {
  app.decorateRequest('freeBody', null)
  app.addHook('onRequest', (request, reply, done) => {
    const refusal = refusalOf(request.headers, types, maxBytes)
    if (refusal) return done(refusal)
    whenClosed(reply.raw, () => /** @type {Request} */ (request).freeBody?.())
    done()
  })
  app.removeAllContentTypeParsers()
  for (const type of types) {
    app.addContentTypeParser(type, (request, payload, done) => {
      const { 'content-length': length } = request.headers
      const announced = length === undefined ? null : Number(length)
      // an error passed to `done` would make fastify close the connection, which resets clients that are still sending
      const end = (/** @type {Error | null} */ error, /** @type {Buffer} */ bytes) => done(null, error ? { error } : { type, bytes })
      const held = /** @type {Request} */ (request)
      const free = collectBody(payload, { announced, maxBytes, budget }, (error, bytes) => {
        if (error || !GZIP.includes(codingOf(request.headers))) return end(error, bytes)
        const freeUnpacked = unpackBody(bytes, { maxBytes, budget }, (error, unpacked) => {
          free()
          end(error, unpacked)
        })
        held.freeBody = () => {
          free()
          freeUnpacked()
        }
      })
      held.freeBody = free
    })
  }
  app.addHook('preValidation', (request, _reply, done) => {
    const { error, bytes } = /** @type {any} */ (request.body) ?? {}
    if (error) done(error)
    else if (bytes && !isUtf8(bytes)) done(new FreshetError('REQUEST_INVALID', 'the body is not valid UTF-8; expected JSON text in UTF-8'))
    else done()
  })
}

/**
 * The error for a body that the headers show to be unacceptable.
 * @param {import('node:http').IncomingHttpHeaders} headers @param {readonly string[]} types @param {number} maxBytes
 * @returns {FreshetError | null}
 */
function refusalOf (headers, types, maxBytes) {
  const { 'content-type': type, 'content-length': length, 'transfer-encoding': transfer } = headers
  const hasBody = transfer !== undefined || (length !== undefined && Number(length) > 0)
  if (type === undefined ? hasBody : !types.includes(essenceOf(type))) {
    return new FreshetError('MEDIA_TYPE_UNSUPPORTED', `${type ?? 'no content type'}; expected Content-Type: ${types.join(' or ')}`)
  }
  const coding = codingOf(headers)
  if (coding !== 'identity' && !GZIP.includes(coding)) {
    return new FreshetError('MEDIA_TYPE_UNSUPPORTED', `Content-Encoding: ${coding}; expected gzip, or an uncompressed body`)
  }
  return Number(length) > maxBytes ? tooLarge(maxBytes, `a body of ${Number(length).toLocaleString('en')} bytes`) : null
}

/** @param {import('node:http').IncomingHttpHeaders} headers */
const codingOf = ({ 'content-encoding': coding = 'identity' }) => coding.trim().toLowerCase()

/** @param {string} type Content-Type @returns {string} without its parameters */
const essenceOf = (type) => (type.includes(';') ? type.slice(0, type.indexOf(';')) : type).trim().toLowerCase()

/**
 * @param {import('fastify').FastifyRequest} request
 * @returns {Body}
 * @throws {FreshetError} REQUEST_INVALID there is none
 */
export function bodyOf (request) {
  const body = /** @type {Body | undefined} */ (request.body)
  if (body) return body
  throw new FreshetError('REQUEST_INVALID', 'the request has no body; expected one')
}

/**
 * Decompresses a body that has arrived. The bytes that come out are bounded and counted as those of any other body, so a bomb is
 * decompressed no further than the bound.
 */

/**
 * @param {Buffer} packed
 * @param {{ maxBytes: number, budget: BodyBudget }} bounds of the bytes that come out
 * @param {(error: Error | null, bytes: Buffer) => void} done as that of collectBody; REQUEST_INVALID if it is not gzip, or cut off
 * @returns {() => void} frees the bytes
 */
function unpackBody (packed, bounds, done) {
  const gunzip = createGunzip()
  const free = collectBody(gunzip, { announced: null, ...bounds }, (error, bytes) => {
    gunzip.destroy()
    const isBroken = /** @type {{ code?: string } | null} */ (error)?.code?.startsWith('Z_')
    const fault = `the body is not gzip (${error?.message}); expected gzip, or no Content-Encoding`
    done(isBroken ? new FreshetError('REQUEST_INVALID', fault) : error, bytes)
  })
  gunzip.end(packed)
  return () => {
    gunzip.destroy()
    free()
  }
}

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
  const hasRoom = (/** @type {number} */ bytes, /** @type {number} */ heldByBody) => held === heldByBody || held + bytes <= maxBytes
  return {
    arriving,
    /** @param {number} bytes more @param {number} heldByBody held already by the same body @returns {FreshetError | null} INGEST_FULL */
    refusal: (bytes, heldByBody) => hasRoom(bytes, heldByBody) ? null : full(),
    /** Refuses bodies that are arriving until there is room for one that has arrived. @param {number} bytes @param {number} heldByBody */
    makeRoom (bytes, heldByBody) {
      for (const refuse of arriving) {
        if (hasRoom(bytes, heldByBody)) return
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
const tooLarge = (maxBytes, received) =>
  new FreshetError('PAYLOAD_TOO_LARGE',
    `${received}; expected at most ${maxBytes.toLocaleString('en')} bytes per request: send the items in several`)

/**
 * @param {import('node:stream').Readable} payload
 * @param {{ announced: number | null, maxBytes: number, budget: BodyBudget }} bounds `announced`: Content-Length, checked
 * @param {(error: Error | null, bytes: Buffer) => void} done called once, unless the bytes are freed before; PAYLOAD_TOO_LARGE,
 *   INGEST_FULL, or an error of the stream
 * @returns {() => void} frees the bytes
 */
function collectBody (payload, { announced, maxBytes, budget }, done) {
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
