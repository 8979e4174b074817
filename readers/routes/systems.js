/** The queries and streams of a system, as its definition has them. */
import { inputOfQuery, queryRoutes, querySchemaOf } from '../../src/http/index.js'
import { matchesTag } from '../../src/replies/index.js'
import { clientOf, lastEventId } from './live.js'

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ system: import('../systems.js').Systems['all'][number], push: import('../../src/push/index.js').Push,
 *   keyStreams: import('../systems.js').KeyStreams, database: import('../../src/systems/inside.js').ReaderDatabase,
 *   access: import('../../src/http/index.js').Access | null }} parts
 */
export async function systemRoutes (app, { system, push, keyStreams, database, access }) {
  const { definition: { name, queries, unknown, stream } } = system
  const opened = () => system.opened(push)
  // a query with an ETag does not send again what the client has
  app.addHook('onSend', async (request, reply, payload) => {
    const tag = reply.statusCode === 200 ? reply.getHeader('etag') : undefined
    if (tag === undefined || !matchesTag(request.headers['if-none-match'], String(tag))) return payload
    reply.code(304).removeHeader('content-type')
    return ''
  })
  app.register(queryRoutes, { name, queries, unknown, opened, database, access })

  for (const row of stream) {
    // HEAD would never end
    app.get(row.path, {
      config: /** @type {any} */ ({ access: 'read', system: name }),
      schema: querySchemaOf(name, { ...row, type: 'text/event-stream' }),
      exposeHeadRoute: false
    }, async (request, reply) => {
      const open = await keyStreams.sourceOf(row, inputOfQuery(request))
      push.attach(clientOf(request, reply, access, [`@${name}`]), open(lastEventId(request)))
    })
  }
}
