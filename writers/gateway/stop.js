/**
 * Stops a gateway within `drainMs`: no new requests, those in progress are answered, then every feed flushes. Requests
 * that are left are answered with ACK_UNKNOWN, since their feed is closed, or are cut off if their body is still coming.
 */
import { within } from '../../src/runtime/index.js'

const ANSWER_WITHIN_MS = 500

/**
 * @param {{ app: import('fastify').FastifyInstance, feeds: import('./feeds.js').Feeds, drainMs: number,
 *   log: import('pino').Logger }} parts
 * @returns {Promise<number>} exit status: 1 when items were not acknowledged
 */
export async function stopGateway ({ app, feeds, drainMs, log }) {
  const endMs = performance.now() + drainMs
  const closed = app.close()
  feeds.drain()
  await within(closed, drainMs)
  await feeds.close({ drainMs: Math.max(0, endMs - performance.now()) })
  await within(closed, ANSWER_WITHIN_MS)
  app.server.closeAllConnections()
  await closed
  if (feeds.failed > 0) log.error({ failed: feeds.failed }, 'items were not acknowledged')
  return feeds.failed > 0 ? 1 : 0
}
