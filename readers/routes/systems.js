/** The queries and streams of a system, as its definition has them. */
import { givenOfQuery, queryRoutes, querySchemaOf } from '../../src/http/index.js'
import { createEvents } from '../../src/systems/inside.js'
import { attachStream } from './live-stream.js'

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ system: import('../systems.js').Systems['all'][number], push: import('../../src/push/index.js').Push,
 *   database: import('../../src/systems/inside.js').ReaderDatabase, access: import('../../src/http/index.js').Access | null }} parts
 */
export async function systemRoutes (app, { system, push, database, access }) {
  const { definition: { name, queries, unknown, streams } } = system
  const opened = () => system.opened(push)
  app.register(queryRoutes, { name, queries, unknown, opened: async () => (await opened()).own.queries, database, access })

  for (const row of streams) {
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
      const found = await (source ? source(given, own.queries) : events(given, own, parts))
      attachStream(request, reply, { system: name, push, access, source: found })
    })
  }
}

/**
 * The events of the key that a path names.
 * @param {import('fastify').FastifyInstance} app @param {import('../../src/systems/inside.js').StreamRow} row
 */
function eventsOf (app, { snapshot, event, keyOf }) {
  /** @type {ReturnType<typeof createEvents> | null} */
  let events = null
  app.addHook('onClose', async () => events?.close())
  /**
   * @param {Pick<import('../../src/http/index.js').Given, 'params' | 'headers'>} given
   * @param {import('../../src/systems/inside.js').Reader} own
   * @param {import('../../src/systems/inside.js').ReaderParts} parts
   */
  return async ({ params, headers: { 'last-event-id': last } }, own, { reading, view, push, log }) => {
    const [id] = Object.values(params)
    const current = own.current ?? reading.current
    await current(id)
    events ??= createEvents({
      current,
      keyOf,
      snapshot: (one) => snapshot?.(one, own.queries),
      event: (one) => event ? event(one, own.queries) : { name: one.type, data: one },
      view,
      push,
      log
    })
    return events.sourceOf(id, typeof last === 'string' && last !== '' ? last : null)
  }
}
