/**
 * The local payment provider over HTTP.
 *
 *     POST /v1/payments {key, amount, currency}     authorize
 *     POST /v1/payments/:key/capture, /void, /refund
 *     GET  /v1/payments/:key
 *     GET  /ledger?after=&limit=                    its entries, and totals
 *
 * Each operation has at most one effect, and its reply says how the payment is. Faults are switched as bin/local says.
 *
 * @typedef {{ latencyMs: number | null, declineRate: number, captureDeclineRate: number, errorRate: number, silentRate: number,
 *   isDown: boolean, callbacks: number, callbackAfterMs: number }} Faults `captureDeclineRate`: the issuer refuses to capture what it has
 *   authorized; `silentRate`: effects without a reply; `callbacks` of each change
 */
import { once } from 'node:events'
import { Agent as HttpAgent, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { signatureOf } from '../../src/systems/orders/index.js'
import { createLocalService } from '../local/service.js'

const RATE = Object.freeze({ off: 0, range: /** @type {const} */ ([0, 1]) })
/** @type {import('../local/service.js').FaultTable} */
const FAULTS = Object.freeze({
  latencyMs: { off: null, range: [0, 60_000] },
  declineRate: RATE,
  captureDeclineRate: RATE,
  errorRate: RATE,
  silentRate: RATE,
  isDown: { off: false },
  callbacks: { off: 1, range: [0, 10] },
  callbackAfterMs: { off: 0, range: [0, 3_600_000] }
})
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
/** Time that it takes to reply; a fault `latencyMs` is another one. */
const LATENCY_MS = 5

/**
 * @param {{ ledger: import('./ledger.js').Ledger, latencyMs?: number, callbackUrl: string | null, secret: string | null,
 *   log: import('pino').Logger }} parts
 * @returns {import('fastify').FastifyInstance} not listening yet
 */
export function createPaymentServer ({ ledger, latencyMs = LATENCY_MS, callbackUrl, secret, log }) {
  const { app, faults } = /** @type {{ app: import('fastify').FastifyInstance, faults: () => Faults }} */ (
    createLocalService({ table: FAULTS, log }))
  const callbacks = createCallbacks({ url: callbackUrl, secret, log })
  const due = /** @type {Record<string, number>} */ ({})
  app.addHook('onClose', async () => callbacks.close())

  /** Faults have exactly their share. @param {'declineRate' | 'captureDeclineRate' | 'errorRate' | 'silentRate'} name */
  function isDue (name) {
    due[name] = (due[name] ?? 0) + faults()[name]
    if (due[name] < 1) return false
    due[name] -= 1
    return true
  }

  /**
   * @param {import('fastify').FastifyReply} reply @param {string} key
   * @param {() => import('./ledger.js').Entry} effect
   */
  async function perform (reply, key, effect) {
    await sleep(faults().latencyMs ?? latencyMs)
    if (faults().isDown) return lose(reply)
    if (isDue('errorRate')) return reply.code(500).send({ error: 'fault errorRate' })
    const before = ledger.get(key)
    const entry = effect()
    if (entry !== before) callbacks.note(entry, faults())
    // the effect stays, without a reply
    return isDue('silentRate') ? lose(reply) : entry
  }

  /** @param {import('fastify').FastifyReply} reply */
  function lose (reply) {
    reply.hijack()
    if (faults().isDown) reply.raw.destroy()
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
    await sleep(faults().latencyMs ?? latencyMs)
    if (faults().isDown) return lose(reply)
    return ledger.get(key) ?? reply.code(404).send({ error: `there is no payment ${key}` })
  })
  app.get('/ledger', { schema: { querystring: PAGE } }, async (request) =>
    ({ totals: ledger.totals(), ...ledger.page(/** @type {any} */ (request.query)) }))
  return app
}

// Callbacks: after each change of a payment its key and status are sent to a URL, signed; a callback that fails is not repeated.

const TIMEOUT_MS = 2000

/** @param {{ url: string | null, secret: string | null, log: import('pino').Logger }} options */
function createCallbacks ({ url, secret, log }) {
  /** @type {Set<NodeJS.Timeout>} */
  const timers = new Set()
  let isClosed = false
  const isSecure = url?.startsWith('https:') ?? false
  const agent = new (isSecure ? HttpsAgent : HttpAgent)({ keepAlive: true })
  const request = isSecure ? requestHttps : requestHttp

  /** @param {string} body */
  async function send (body) {
    const seconds = Math.floor(Date.now() / 1000)
    /** @type {Record<string, string>} */
    const signature = secret === null ? {} : { 'payment-signature': signatureOf(secret, body, seconds) }
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...signature }
    const sent = request(String(url), { method: 'POST', agent, headers, timeout: TIMEOUT_MS })
    sent.once('timeout', () => sent.destroy(new Error('no reply in time')))
    sent.end(body)
    const [reply] = await once(sent, 'response')
    reply.resume()
    if (reply.statusCode >= 300) throw new Error(`status ${reply.statusCode}`)
  }

  return {
    /** @param {import('./ledger.js').Entry} entry @param {Faults} faults */
    note ({ key, status }, { callbacks, callbackAfterMs }) {
      if (url === null) return
      const body = JSON.stringify({ key, status })
      for (let i = 0; i < callbacks; i++) {
        const timer = setTimeout(() => {
          timers.delete(timer)
          send(body).catch((error) => {
            if (!isClosed) log.warn({ key, reason: error.message }, 'a callback failed')
          })
        }, callbackAfterMs)
        timers.add(timer)
      }
    },

    /** Ends those on their way, too. */
    close () {
      isClosed = true
      for (const timer of timers) clearTimeout(timer)
      agent.destroy()
    }
  }
}
