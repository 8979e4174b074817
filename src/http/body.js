/**
 * Bodies as bytes. What a route keeps of a body is kept as it was sent, so nothing is parsed here; what cannot be text
 * of the types given is refused before anybody looks at it: other types, compressed bodies, bytes that are not UTF-8
 * (decoding would replace them in silence), more than one request may bring. What the head tells of these is refused
 * before the body is read. How long a body may take to come is the server's.
 *
 * text/plain and forms are refused too. That keeps pages of other origins out of a process that needs no token: for the
 * types taken here a browser asks first, and nobody answers that it may. It does not keep out a page whose own name was
 * made to lead to this process, which is of the same origin then: only a token does.
 *
 * @typedef {{ type: string, bytes: Buffer }} Body `type`: one of those given
 * @typedef {import('fastify').FastifyRequest & { freeBody: (() => void) | null }} Request `freeBody`: gives back its room
 */
import { isUtf8 } from 'node:buffer'
import { collectBody, tooLarge } from './body-bytes.js'
import { whenClosed } from './closed.js'
import { wantBody } from './expect.js'
import { HttpError } from './problem.js'

const NOTHING = Buffer.alloc(0)

/**
 * Before the routes; for those of `app` alone.
 * @param {import('fastify').FastifyInstance} app
 * @param {{ types: readonly string[], maxBytes: number, room: import('./body-bytes.js').BodyRoom }} taken `types`: media types;
 *   `maxBytes`: of one body
 */
export function takeBodies (app, { types, maxBytes, room }) {
  app.decorateRequest('freeBody', null)
  app.addHook('onRequest', (request, reply, done) => {
    const refusal = refusalOf(request.headers, types, maxBytes)
    if (refusal) return done(refusal)
    whenClosed(request.raw, reply.raw, () => /** @type {Request} */ (request).freeBody?.())
    done()
  })
  app.removeAllContentTypeParsers()
  for (const type of types) {
    app.addContentTypeParser(type, (request, payload, done) => {
      const { 'content-length': length } = request.headers
      const announced = length === undefined ? null : Number(length)
      // faults are handed on as a body: for an error of a parser fastify closes the connection, and its client may be sending
      const end = (/** @type {Error | null} */ error, /** @type {Buffer} */ bytes) => done(null, error ? { error } : { type, bytes })
      const refusal = announced === null ? null : room.refusal(announced, 0)
      if (refusal) return end(refusal, NOTHING)
      wantBody(request.raw)
      const held = /** @type {Request} */ (request)
      held.freeBody = collectBody(payload, { announced, maxBytes, room }, end)
    })
  }
  app.addHook('preValidation', (request, _reply, done) => {
    const { error, bytes } = /** @type {any} */ (request.body) ?? {}
    if (error) done(error)
    else if (bytes && !isUtf8(bytes)) done(new HttpError('REQUEST_INVALID', 'the body is not valid UTF-8; expected JSON text in UTF-8'))
    else done()
  })
}

/**
 * What a head has against its body.
 * @param {import('node:http').IncomingHttpHeaders} headers @param {readonly string[]} types @param {number} maxBytes
 * @returns {HttpError | null}
 */
function refusalOf ({ 'content-type': type, 'content-length': length, 'content-encoding': encoding, 'transfer-encoding': transfer }, types, maxBytes) {
  const isWithBody = transfer !== undefined || (length !== undefined && Number(length) > 0)
  if (type === undefined ? isWithBody : !types.includes(essenceOf(type))) {
    return new HttpError('MEDIA_TYPE_UNSUPPORTED', `${type ?? 'no content type'}; expected Content-Type: ${types.join(' or ')}`)
  }
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    return new HttpError('MEDIA_TYPE_UNSUPPORTED', `Content-Encoding: ${encoding}; expected the body as it is, not compressed`)
  }
  return Number(length) > maxBytes ? tooLarge(maxBytes, `a body of ${Number(length).toLocaleString('en')} bytes`) : null
}

/** @param {string} type Content-Type @returns {string} without its parameters */
const essenceOf = (type) => (type.includes(';') ? type.slice(0, type.indexOf(';')) : type).trim().toLowerCase()

/**
 * @param {import('fastify').FastifyRequest} request
 * @returns {Body}
 * @throws {HttpError} REQUEST_INVALID there is none
 */
export function bodyOf (request) {
  const body = /** @type {Body | undefined} */ (request.body)
  if (body) return body
  throw new HttpError('REQUEST_INVALID', 'no body; expected items')
}
