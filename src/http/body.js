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
import { FreshetError } from './errors.js'
import { collectBody, tooLarge } from './body-bytes.js'
import { whenClosed } from './closed.js'
import { unpackBody } from './gzip-body.js'

const GZIP = Object.freeze(['gzip', 'x-gzip'])

/**
 * Before the routes; for those of `app` alone.
 * @param {import('fastify').FastifyInstance} app
 * @param {{ types: readonly string[], maxBytes: number, budget: import('./body-bytes.js').BodyBudget }} bounds `types`: media types;
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
