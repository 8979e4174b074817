/**
 * The local payment provider over HTTP.
 *
 *     POST /v1/payments {key, amount, currency}     authorize
 *     POST /v1/payments/:key/capture, /void, /refund
 *     GET  /v1/payments/:key
 *     GET  /ledger?after=&limit=                    its entries, and totals
 *     GET, PUT, DELETE /faults
 *
 * Each operation has at most one effect, and its reply says how the payment is. Pages on this machine may use it, for example to switch
 * faults; those from elsewhere get 403.
 */
import cors from '@fastify/cors'
import fastify from 'fastify'
import { setTimeout as sleep } from 'node:timers/promises'
import { isLocalRequest, REFUSED } from '../../src/embedded/index.js'
import { createCallbacks } from './callbacks.js'
import { FAULTS, NO_FAULTS } from './faults.js'

const HERE = /^https?:\/\/(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/
const KEY = { type: 'string', pattern: '^[A-Za-z0-9_.:-]{1,64}$' }
const PAYMENT = {
  type: 'object',
  additionalProperties: false,
  required: ['key', 'amount', 'currency'],
  properties: { key: KEY, amount: { type: 'integer', minimum: 1 }, currency: { type: 'string', pattern: '^[a-z]{3}$' } }
}
const PAGE = {
  type: 'object',
  additionalProperties: false,
  properties: {
    after: { type: 'integer', minimum: 0, default: 0 },
    limit: { type: 'integer', minimum: 1, maximum: 100_000, default: 1000 }
  }
}
const SILENT = Symbol('no reply')

/**
 * @param {{ ledger: import('./ledger.js').Ledger, latencyMs: number, callbackUrl: string | null, secret: string | null,
 *   log: import('pino').Logger }} parts
 * @returns {import('fastify').FastifyInstance} not listening yet
 */
export function createPaymentServer ({ ledger, latencyMs, callbackUrl, secret, log }) {
  const app = fastify({ forceCloseConnections: true, ajv: { customOptions: { removeAdditional: false, coerceTypes: true } } })
  const callbacks = createCallbacks({ url: callbackUrl, secret, log })
  let faults = NO_FAULTS
  const due = /** @type {Record<string, number>} */ ({})
  app.addHook('onRequest', async (request, reply) => {
    if (!isLocalRequest(request.headers)) return reply.code(403).send({ error: REFUSED })
  })
  app.register(cors, { origin: HERE, methods: ['GET', 'PUT', 'DELETE'] })
  app.setErrorHandler((error, _request, reply) => {
    const { statusCode = 500, message } = /** @type {{ statusCode?: number, message: string }} */ (error)
    reply.code(statusCode).send({ error: message })
  })
  app.addHook('onClose', async () => callbacks.close())

  /** Faults have exactly their share. @param {'declineRate' | 'captureDeclineRate' | 'errorRate' | 'silentRate'} name */
  function isDue (name) {
    due[name] = (due[name] ?? 0) + faults[name]
    if (due[name] < 1) return false
    due[name] -= 1
    return true
  }

  /**
   * @param {import('fastify').FastifyReply} reply @param {string} key
   * @param {() => import('./ledger.js').Entry} effect
   */
  async function perform (reply, key, effect) {
    await sleep(faults.latencyMs ?? latencyMs)
    if (faults.isDown) return lose(reply)
    if (isDue('errorRate')) return reply.code(500).send({ error: 'fault errorRate' })
    const before = ledger.get(key)
    const entry = effect()
    if (entry !== before) callbacks.note(entry, faults)
    // the effect stays, without a reply
    return isDue('silentRate') ? lose(reply) : entry
  }

  /** @param {import('fastify').FastifyReply} reply */
  function lose (reply) {
    reply.hijack()
    if (faults.isDown) reply.raw.destroy()
    return SILENT
  }

  app.post('/v1/payments', { schema: { body: PAYMENT } }, (request, reply) => {
    const payment = /** @type {any} */ (request.body)
    const known = ledger.get(payment.key)
    if (known && known.status !== 'voided' && known.amount !== payment.amount) {
      return reply.code(422).send({ error: `payment ${payment.key} has the amount ${known.amount}, not ${payment.amount}` })
    }
    return perform(reply, payment.key, () => ledger.authorize(payment, !known && isDue('declineRate')))
  })
  for (const operation of /** @type {const} */ (['capture', 'void', 'refund'])) {
    app.post(`/v1/payments/:key/${operation}`, { schema: { params: { type: 'object', properties: { key: KEY } } } }, (request, reply) => {
      const { key } = /** @type {any} */ (request.params)
      if (operation !== 'void' && !ledger.get(key)) return reply.code(404).send({ error: `there is no payment ${key}` })
      return perform(reply, key, () => ledger[operation](key, () => isDue('captureDeclineRate')))
    })
  }
  app.get('/v1/payments/:key', async (request, reply) => {
    const { key } = /** @type {any} */ (request.params)
    await sleep(faults.latencyMs ?? latencyMs)
    if (faults.isDown) return lose(reply)
    return ledger.get(key) ?? reply.code(404).send({ error: `there is no payment ${key}` })
  })
  app.get('/ledger', { schema: { querystring: PAGE } }, async (request) =>
    ({ totals: ledger.totals(), ...ledger.page(/** @type {any} */ (request.query)) }))
  app.get('/faults', async () => faults)
  app.put('/faults', { schema: { body: FAULTS } }, async (request) => {
    faults = Object.freeze(Object.assign({}, NO_FAULTS, request.body))
    log.info({ faults }, 'faults')
    return faults
  })
  app.delete('/faults', async () => {
    faults = NO_FAULTS
    log.info({ faults }, 'faults')
    return faults
  })
  return app
}
