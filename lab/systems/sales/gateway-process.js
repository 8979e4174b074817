/** A gateway of the lab for sales. */
import { bodySchema, idField } from '../../../src/fields/index.js'
import { readObject, requestIdOf } from '../../../src/http/index.js'
import { readTicket } from '../../../src/systems/sales/index.js'
import { serveGateway } from '../gateway.js'
import { openTechnique } from './techniques.js'

const USER = { schema: { body: bodySchema({ userId: idField('the user') }) }, preValidation: readObject }

serveGateway(openTechnique, (app, { claim, issue, join, look, place }) => {
  /** @param {string} path @param {(request: any, user: string) => Promise<import('./techniques.js').Reply>} run */
  const post = (path, run) => app.post(`/v1/sales/:id/${path}`, USER, async (request, reply) => {
    const { userId } = /** @type {any} */ (request.body)
    const { status, body } = await run(request, userId)
    return reply.code(status).send(body)
  })
  post('claims', (request, user) => claim(request.params.id, user, readTicket(request.headers), requestIdOf(request.headers)))
  if (issue) post('tokens', (request, user) => issue(request.params.id, user, requestIdOf(request.headers)))
  if (join) post('queue', (request, user) => join(request.params.id, user, requestIdOf(request.headers)))
  if (look) app.get('/v1/sales/:id', async (request) => look(/** @type {any} */ (request.params).id))
  if (place) {
    app.get('/v1/sales/:id/queue/:user', async (request) => {
      const { id, user } = /** @type {any} */ (request.params)
      const { body } = await place(id, user, String(readTicket(request.headers)), Number(/** @type {any} */ (request.query).waitMs))
      return body
    })
  }
}, {
  async create ({ create }, { sale, stock }) {
    await create(sale, stock)
    return {}
  },
  stored: async ({ stored, figures }, { sale }) => ({ stored: await stored(sale), figures: figures?.() ?? null })
})
