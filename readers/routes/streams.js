/** Responses that are streams of server-sent events. */
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
function openStream (reply) {
  reply.hijack()
  reply.raw.writeHead(200, Object.assign(/** @type {any} */ (reply.getHeaders()), HEAD))
  reply.raw.write(retryAfter(RETRY_MS * (0.5 + Math.random())))
  return reply.raw
}

/**
 * The client of a request, for src/push.
 * @param {import('fastify').FastifyRequest} request @param {import('fastify').FastifyReply} reply
 * @param {import('../../src/http/index.js').Access | null} access
 * @param {readonly string[]} whats feeds, and names of systems after an at sign
 * @returns {import('../../src/push/index.js').Client}
 */
export function clientOf (request, reply, access, whats) {
  const { grant } = /** @type {{ grant?: import('../../src/http/index.js').Grant }} */ (/** @type {unknown} */ (request))
  return {
    token: grant?.id ?? null,
    isPermitted: () => !access || !grant || whats.every((what) => access.stillPermits(grant, 'read', what)),
    open: () => openStream(reply)
  }
}

/** @param {import('fastify').FastifyRequest} request @returns {string | null} */
export function lastEventId ({ headers: { 'last-event-id': last } }) {
  return typeof last === 'string' && last !== '' ? last : null
}
