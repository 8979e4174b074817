/**
 * A gateway of the lab: the HTTP of a reader, and a technique that keeps prices. All arms have the same HTTP, also the one that keeps
 * nothing. Messages: `open`, `begin`, `stored`, `counts`, `stop`.
 */
import { Registry } from 'prom-client'
import { createServer } from '../../../src/http/index.js'
import { tellParent } from '../../../src/runtime/index.js'
import { serveParent } from '../../serving/child-process.js'
import { openTechnique } from './techniques.js'

const JSON_TYPE = 'application/json; charset=utf-8'

/** @type {import('./techniques.js').Technique} */
let technique
/** replies sent, by level @type {Record<string, number>} */
const counts = {}

serveParent('ready', {
  async open ({ technique: name, ...place }) {
    try {
      technique = await openTechnique(name, place)
      tellParent({ event: 'opened', url: await listen() })
    } catch (error) {
      tellParent({ event: 'opened', code: error.code ?? 'LOAD_FAILED', message: error.message })
    }
  },

  async begin ({ assets }) {
    await technique.begin(assets)
    tellParent({ event: 'begun' })
  },
  stored: async ({ assets }) => tellParent({ event: 'stored', stored: await technique.stored?.(assets) ?? null }),
  counts: () => tellParent({ event: 'counted', counts, fetches: technique.fetches?.() ?? null }),

  async stop () {
    await technique?.close()
    process.exit(0)
  }
})

async function listen () {
  const app = createServer({ registry: new Registry() })
  app.get('/v1/prices/:asset', async (request, reply) => {
    const { status, level, body, headers } = await technique.price(/** @type {any} */ (request.params).asset)
    counts[level] = (counts[level] ?? 0) + 1
    return reply.code(status).headers(headers ?? {}).header('freshet-cache', level).type(JSON_TYPE).send(body)
  })
  return app.listen({ host: '127.0.0.1', port: 0, backlog: 4096 })
}
