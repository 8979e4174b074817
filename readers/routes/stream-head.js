/** The head of a response that is a stream of server-sent events. */

/** average delay after which clients reconnect */
export const RETRY_MS = 1000

const HEAD = Object.freeze({
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // else nginx buffers the stream
  'x-accel-buffering': 'no'
})

/**
 * With what hooks have set, such as CORS.
 * @param {import('fastify').FastifyReply} reply @returns {import('node:http').OutgoingHttpHeaders}
 */
export const headOf = (reply) => Object.assign(/** @type {any} */ (reply.getHeaders()), HEAD)
