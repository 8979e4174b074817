/** The queries and streams of a system, as its definition has them. */
import { givenOfQuery, queryRoutes, querySchemaOf } from '../../src/http/index.js'
import { eventOf } from '../../src/admission/index.js'
import { matchesTag } from '../../src/replies/index.js'
import { createEvents } from '../../src/systems/inside.js'
import { clientOf, lastEventId } from './streams.js'

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ system: import('../systems.js').Systems['all'][number], push: import('../../src/push/index.js').Push,
 *   database: import('../../src/systems/inside.js').ReaderDatabase, access: import('../../src/http/index.js').Access | null }} parts
 */
export async function systemRoutes (app, { system, push, database, access }) {
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
    const { source } = row
    const events = eventsOf(app, row)
    // HEAD would never end
    app.get(row.path, {
      config: /** @type {any} */ ({ access: 'read', system: name }),
      schema: querySchemaOf(name, { ...row, type: 'text/event-stream' }),
      exposeHeadRoute: false
    }, async (request, reply) => {
      const given = givenOfQuery(request, row.fields)
      const { own, parts } = await opened()
      const found = await (source ? source(given, own.queries) : events(Object.values(given.params)[0], lastEventId(request), own, parts))
      push.attach(clientOf(request, reply, access, `@${name}`), found)
    })
  }
}

/**
 * The events of the key that a path names.
 * @param {import('fastify').FastifyInstance} app @param {import('../../src/systems/inside.js').StreamRow} row
 */
function eventsOf (app, { snapshot, event, named, keyOf }) {
  /** @type {ReturnType<typeof createEvents> | null} */
  let events = null
  app.addHook('onClose', async () => events?.close())
  /**
   * @param {string} id @param {string | null} last as createEvents
   * @param {Awaited<ReturnType<import('../../src/systems/inside.js').Definition['reader']>>} own
   * @param {import('../../src/systems/inside.js').ReaderParts} parts
   */
  return async (id, last, own, { reading, view, push, log }) => {
    const current = own.current ?? reading.current
    await current(id)
    events ??= createEvents({
      current,
      keyOf,
      snapshot: (one) => snapshot(view.storedOf(one), own.queries, (/** @type {number} */ count) =>
        one.events.slice(-count).reverse().map(eventOf)),
      event (fields) {
        const one = eventOf(fields)
        return { name: named(one), data: event(one, own.queries) }
      },
      view,
      push,
      log
    })
    return events.sourceOf(id, last)
  }
}
