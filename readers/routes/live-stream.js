/** A response that a push stream takes over. */
import { NO_FIELDS, readId, readQuery } from '../../src/http/index.js'
import { openStream } from './stream-head.js'

/**
 * @param {import('fastify').FastifyRequest} request @param {import('fastify').FastifyReply} reply
 * @param {{ system: string, push: import('../../src/push/index.js').Push, access: import('../../src/http/index.js').Access | null,
 *   source: import('../../src/push/index.js').Source }} parts
 */
export function attachStream (request, reply, { system, push, access, source }) {
  const { grant } = /** @type {{ grant?: import('../../src/http/index.js').Grant }} */ (/** @type {unknown} */ (request))
  push.attach({
    token: grant?.id ?? null,
    isPermitted: () => !access || !grant || access.stillPermits(grant, 'read', `@${system}`),
    open: () => openStream(reply)
  }, source)
}

/**
 * The events of one key, such as an auction or an order, as a stream; it resumes after Last-Event-ID (src/systems/live.js).
 * @param {import('fastify').FastifyInstance} app @param {string} url with the parameter `id`
 * @param {{ system: string, config: any, schema: object, push: import('../../src/push/index.js').Push,
 *   access: import('../../src/http/index.js').Access | null,
 *   opened: () => Promise<{ queries: { known: (id: string) => Promise<unknown> },
 *     live: { sourceOf: (id: string, last: string | null) => import('../../src/push/index.js').Source } }> }} parts
 */
export function keyStreamRoute (app, url, { system, config, schema, push, access, opened }) {
  // HEAD would never end
  app.get(url, { config, schema, exposeHeadRoute: false }, async (request, reply) => {
    readQuery(request, NO_FIELDS)
    const { 'last-event-id': last } = request.headers
    const id = readId(/** @type {any} */ (request.params).id, 'id')
    const { queries, live } = await opened()
    await queries.known(id)
    const source = live.sourceOf(id, typeof last === 'string' && last !== '' ? last : null)
    attachStream(request, reply, { system, push, access, source })
  })
}
