/** The head of a response that is a stream of server-sent events. */
import { retryAfter } from '../../src/push/index.js'

/** average delay after which clients reconnect */
const RETRY_MS = 1000

const HEAD = Object.freeze({
  'content-type': 'text/event-stream; charset=utf-8',
  // a proxy that compresses would hold events back
  'cache-control': 'no-store, no-transform',
  // else nginx buffers the stream
  'x-accel-buffering': 'no'
})

/**
 * Takes a response over for a stream, with the headers that hooks have set, such as CORS.
 * @param {import('fastify').FastifyReply} reply @returns {import('node:http').ServerResponse} its head is sent
 */
export function openStream (reply) {
  reply.hijack()
  reply.raw.writeHead(200, Object.assign(/** @type {any} */ (reply.getHeaders()), HEAD))
  reply.raw.write(retryAfter(RETRY_MS * (0.5 + Math.random())))
  return reply.raw
}
