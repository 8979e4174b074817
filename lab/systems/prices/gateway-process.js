/** A gateway of the lab for prices: the HTTP of a reader. */
import { serveGateway } from '../gateway.js'
import { openTechnique } from './techniques.js'

const JSON_TYPE = 'application/json; charset=utf-8'

/** replies sent, by level @type {Record<string, number>} */
const counts = {}

serveGateway(openTechnique, (app, technique) => {
  app.get('/v1/prices/:asset', async (request, reply) => {
    const { status, level, body, headers } = await technique.price(/** @type {any} */ (request.params).asset)
    counts[level] = (counts[level] ?? 0) + 1
    return reply.code(status).headers(headers ?? {}).header('freshet-cache', level).type(JSON_TYPE).send(body)
  })
}, {
  async begin (technique, { assets }) {
    await technique.begin(assets)
    return {}
  },
  stored: async (technique, { assets }) => ({ stored: await technique.stored?.(assets) ?? null }),
  counts: (technique) => ({ counts, fetches: technique.fetches?.() ?? null })
})
