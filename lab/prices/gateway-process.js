/**
 * A gateway of the lab: the HTTP of a reader, and a technique that keeps prices. All arms have the same HTTP, also the one that keeps
 * nothing. Messages: `open`, `begin`, `stored`, `counts`, `stop`; each is answered with its past form.
 */
import { Registry } from 'prom-client'
import { createServer } from '../../src/http/index.js'
import { openTechnique } from './techniques.js'

const JSON_TYPE = 'application/json; charset=utf-8'

const send = (/** @type {object} */ message) => process.send?.(message)

process.once('disconnect', () => process.exit(0))
process.once('message', async function open (/** @type {any} */ { event, technique: name, ...place }) {
  if (event !== 'open') return process.once('message', open)
  try {
    await serve(name, place)
  } catch (error) {
    send({ event: 'opened', code: error.code ?? 'LOAD_FAILED', message: error.message })
  }
})

/** @param {string} name @param {import('./techniques.js').Place} place */
async function serve (name, place) {
  const technique = await openTechnique(name, place)
  /** replies sent, by level @type {Record<string, number>} */
  const counts = {}
  const app = createServer({ registry: new Registry() })
  app.get('/v1/prices/:asset', async (request, reply) => {
    const { status, level, body, headers } = await technique.price(/** @type {any} */ (request.params).asset)
    counts[level] = (counts[level] ?? 0) + 1
    return reply.code(status).headers(headers ?? {}).header('freshet-cache', level).type(JSON_TYPE).send(body)
  })
  process.on('message', async (/** @type {any} */ { event, assets }) => {
    if (event === 'begin') send({ event: 'begun', done: await technique.begin(assets) })
    if (event === 'stored') send({ event: 'told', stored: await technique.stored?.(assets) ?? null })
    if (event === 'counts') send({ event: 'counted', counts })
    if (event === 'stop') {
      await technique.close()
      process.exit(0)
    }
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0, backlog: 4096 })
  send({ event: 'opened', url })
}
