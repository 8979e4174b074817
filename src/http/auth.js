/**
 * Bearer authentication with one token, for requests that may change something; GET and HEAD stay open.
 * Digests are compared in constant time, so timing shows neither length nor prefix of the token.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { FreshetError } from './errors.js'

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

/** @param {string} text */
const digest = (text) => createHash('sha256').update(text).digest()

/**
 * @param {string} token
 * @returns {import('fastify').onRequestHookHandler} refuses with UNAUTHORIZED
 */
export function createAuth (token) {
  const expected = digest(token)
  return (request, _reply, done) => {
    if (SAFE_METHODS.has(request.method)) return done()
    const [, given] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? []
    if (given !== undefined && timingSafeEqual(digest(given), expected)) return done()
    const received = given === undefined ? 'no bearer token' : 'wrong bearer token'
    done(new FreshetError('UNAUTHORIZED',
      `${received}; ${request.method} needs "Authorization: Bearer <token>" with the token of --auth-token`))
  }
}
