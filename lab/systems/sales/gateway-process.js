/**
 * A gateway of the lab: the HTTP of a gateway (server, bodies, fields, replies), and a technique that sells. All arms have the same HTTP,
 * also the one that decides nothing.
 */
import { Registry } from 'prom-client'
import { createBodyRoom, createServer, idField, readCommand, readRequestId, takeBodies } from '../../../src/http/index.js'
import { readTicket } from '../../../src/systems/sales/index.js'
import { openTechnique } from './techniques.js'

const BODIES_BYTES = 64 * 1024 * 1024
const MAX_BODY_BYTES = 16 * 1024
const COUNT_EVERY_MS = 50
const USER = { userId: idField('the user') }

const send = (/** @type {object} */ message) => process.send?.(message)

process.once('disconnect', () => process.exit(0))
process.once('message', async (/** @type {any} */ { technique: name, ...place }) => {
  const technique = await openTechnique(name, place)
  const app = createServer({ registry: new Registry() })
  takeBodies(app, { types: ['application/json'], maxBytes: MAX_BODY_BYTES, room: createBodyRoom(BODIES_BYTES) })
  /** @param {string} path @param {(request: any, user: string) => Promise<import('./techniques.js').Reply>} run */
  const post = (path, run) => app.post(`/v1/sales/:id/${path}`, async (request, reply) => {
    const { userId } = readCommand(request, USER)
    const { status, body } = await run(request, userId)
    return reply.code(status).send(body)
  })
  const { claim, issue, join, look, place: placeOf } = technique
  post('claims', (request, user) => claim(request.params.id, user, readTicket(request.headers), String(readRequestId(request))))
  if (issue) post('tokens', (request, user) => issue(request.params.id, user, String(readRequestId(request))))
  if (join) post('queue', (request, user) => join(request.params.id, user, String(readRequestId(request))))
  if (look) app.get('/v1/sales/:id', async (request) => look(/** @type {any} */ (request.params).id))
  if (placeOf) {
    app.get('/v1/sales/:id/queue/:user', async (request) => {
      const { id, user } = /** @type {any} */ (request.params)
      const { body } = await placeOf(id, user, String(readTicket(request.headers)), Number(/** @type {any} */ (request.query).waitMs))
      return body
    })
  }
  process.on('message', async (/** @type {any} */ { event, sale, stock }) => {
    if (event === 'create') send({ event: 'created', done: await technique.create(sale, stock) })
    if (event === 'stored') send({ event: 'stored', stored: await technique.stored(sale), figures: technique.figures?.() ?? null })
  })
  const sendCpu = () => {
    const { user, system } = process.cpuUsage()
    send({ event: 'cpu', cpuMicros: user + system })
  }
  setInterval(sendCpu, COUNT_EVERY_MS)
  const url = await app.listen({ host: '127.0.0.1', port: 0, backlog: 4096 })
  send({ event: 'up', url })
})
