/**
 * Bodies as bytes. What a route keeps of a body is kept as it was sent, so nothing is parsed here; what cannot be text
 * of the types given is refused before anybody looks at it: other types, compressed bodies, bytes that are not UTF-8
 * (decoding would replace them in silence). How large a body may be, and how long it may take, is the server's.
 *
 * text/plain and forms are refused too. That is what keeps pages of other origins out of a process that needs no
 * token: for the types taken here a browser asks first, and nobody answers that it may.
 *
 * @typedef {{ type: string, bytes: Buffer }} Body `type`: one of those given
 */
import { isUtf8 } from 'node:buffer'
import { HttpError } from './problem.js'

/**
 * Before the routes; for those of `app` alone.
 * @param {import('fastify').FastifyInstance} app
 * @param {readonly string[]} types media types
 */
export function takeBodies (app, types) {
  const expected = `expected Content-Type: ${types.join(' or ')}`
  app.removeAllContentTypeParsers()
  for (const type of types) {
    app.addContentTypeParser(type, { parseAs: 'buffer' }, (_request, /** @type {Buffer} */ bytes, done) => {
      if (isUtf8(bytes)) done(null, { type, bytes })
      else done(new HttpError('REQUEST_INVALID', 'the body is not valid UTF-8; expected JSON text in UTF-8'))
    })
  }
  app.addContentTypeParser('*', (request, _payload, done) => {
    done(new HttpError('MEDIA_TYPE_UNSUPPORTED', `${request.headers['content-type'] ?? 'no content type'}; ${expected}`))
  })
  app.addHook('onRequest', (request, _reply, done) => {
    const encoding = request.headers['content-encoding']
    if (encoding === undefined || encoding.toLowerCase() === 'identity') done()
    else done(new HttpError('MEDIA_TYPE_UNSUPPORTED', `Content-Encoding: ${encoding}; expected the body as it is, not compressed`))
  })
}

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
