/** A response that a push stream takes over. */
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
