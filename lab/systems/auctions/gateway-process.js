/** A gateway of the lab for bids. */
import { bodySchema, idField, optional } from '../../../src/fields/index.js'
import { readObject, requestIdOf } from '../../../src/http/index.js'
import { maskWith } from '../../../src/admission/index.js'
import { fields } from '../../../src/systems/index.js'
import { loadSystems } from '../../../src/systems/list.js'
import { serveGateway } from '../gateway.js'
import { openTechnique } from './techniques.js'

const BID = { userId: idField('the bidder'), amount: fields.money('of the bid'), max: optional(fields.money('maximum')) }

const [{ commands }] = await loadSystems(['auctions'])

serveGateway(openTechnique, (app, { submit, read }) => {
  const mask = maskWith('lab')
  const parts = /** @type {any} */ ({ submit, mask: async (/** @type {string} */ id) => mask(id) })
  app.post('/v1/auctions/:id/bids', { schema: { body: bodySchema(BID) }, preValidation: readObject }, async (request, reply) => {
    const bid = /** @type {any} */ (request.body)
    const { id } = /** @type {any} */ (request.params)
    const given = { params: { id }, query: {}, body: bid, headers: {}, requestId: requestIdOf(request.headers), id: '' }
    const { status, body, isReplay } = await commands.bid.run(given, null, parts)
    if (isReplay) reply.header('idempotent-replayed', 'true')
    return reply.code(status).send(body)
  })
  app.get('/v1/auctions/:id', async (request) => ({ price: await read?.(/** @type {any} */ (request.params).id) }))
}, {
  submit: async ({ submit }, { command }) => ({ decision: await submit(command) }),
  stored: async ({ stored }, { key }) => ({ stored: await stored(key) }),
  counts: ({ counts }) => ({ counts })
})
