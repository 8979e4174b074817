/**
 * A gateway of the lab: the HTTP of a gateway (server, bodies, fields, replies), and a technique that decides. All arms have the same HTTP,
 * also the one that decides nothing.
 */
import { randomUUID } from 'node:crypto'
import { Registry } from 'prom-client'
import {
  createBodyRoom, createServer, idField, optional, readCommand, readRequestId, takeBodies
} from '../../../src/http/index.js'
import auctions, { createAuctions, moneyField } from '../../../src/systems/auctions/index.js'
import { openTechnique } from './techniques.js'

const BODIES_BYTES = 64 * 1024 * 1024
const MAX_BODY_BYTES = 16 * 1024
const COUNT_EVERY_MS = 50
const BID = { userId: idField('the bidder'), amount: moneyField('of the bid'), max: optional(moneyField('maximum')) }

const send = (/** @type {object} */ message) => process.send?.(message)

process.once('disconnect', () => process.exit(0))
process.once('message', async (/** @type {any} */ { technique: name, redisUrl, keyPrefix }) => {
  const technique = await openTechnique(name, { redisUrl, keyPrefix })
  const own = createAuctions({ submit: technique.submit, agreed: async () => ({ secret: 'lab' }) })
  const app = createServer({ registry: new Registry() })
  takeBodies(app, { types: ['application/json'], maxBytes: MAX_BODY_BYTES, room: createBodyRoom(BODIES_BYTES) })
  app.post('/v1/auctions/:id/bids', async (request, reply) => {
    const bid = /** @type {any} */ (readCommand(request, BID))
    const { id } = /** @type {any} */ (request.params)
    const given = { params: { id }, query: {}, body: bid, headers: {}, requestId: readRequestId(request) ?? randomUUID(), id: '' }
    const { status, body, isReplay } = await auctions.commands.bid.run(given, own)
    if (isReplay) reply.header('idempotent-replayed', 'true')
    return reply.code(status).send(body)
  })
  process.on('message', async (/** @type {any} */ { event, command, key }) => {
    if (event === 'submit') send({ event: 'decided', decision: await technique.submit(command) })
    if (event === 'stored') send({ event: 'stored', stored: await technique.stored(key) })
  })
  setInterval(() => {
    const { user, system } = process.cpuUsage()
    send({ event: 'counts', counts: { ...technique.counts, gatewayCpuMicros: user + system } })
  }, COUNT_EVERY_MS)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  send({ event: 'up', url })
})
