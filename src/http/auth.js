/**
 * With a token every request that may change something needs it as bearer; reading stays open.
 * Digests are compared, in constant time: neither length nor common prefix of the token shows in the time taken.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { HttpError } from './problem.js'

const READING = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

/** @param {string} text */
const digest = (text) => createHash('sha256').update(text).digest()

/**
 * @param {string} token
 * @returns {import('fastify').onRequestHookHandler} refuses with UNAUTHORIZED
 */
export function createAuth (token) {
  const expected = digest(token)
  return (request, _reply, done) => {
    if (READING.has(request.method)) return done()
    const [, given] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? []
    if (given !== undefined && timingSafeEqual(digest(given), expected)) return done()
    const received = given === undefined ? 'no bearer token' : 'another bearer token'
    done(new HttpError('UNAUTHORIZED', `${received}; ${request.method} needs "Authorization: Bearer <token>" with the token this process was started with`))
  }
}
