/**
 * A gateway of the lab for orders, which keeps them in another way than the product: as jobs of a library (bullmq.js), or not at all.
 *
 * @typedef {{ sku: string, quantity: number }} Line
 * @typedef {{ lines: Line[], total: number }} Placed
 * @typedef {Placed & { status: string, reason: string | null, ms: number }} Ended
 * @typedef {{ place: (id: string, order: Placed) => Promise<unknown>, statusOf: (id: string) => Promise<string | null> }} Ways
 * @typedef {{ redisUrl: string, key: (name: string) => string, ended: Map<string, Ended>, reserve: (lines: Line[]) => Promise<boolean>,
 *   giveBack: (lines: Line[]) => Promise<unknown>, pay: (id: string, total: number) => Promise<boolean> }} Parts `ended`: by this replica
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { bodyOf } from '../../../src/http/index.js'
import { createPayments } from '../../../src/systems/orders/index.js'
import { openConnection } from '../../../src/store/index.js'
import { serveGateway } from '../gateway.js'
import { openBullmq } from './bullmq.js'
import { BULLMQ, NOOP } from './techniques.js'

const DEADLINE_MS = 20_000
const PAYMENT_TIMEOUT_MS = 500
const PAY_AGAIN_MS = 50
const PRICE = 500

/** @type {Readonly<Record<string, (parts: Parts) => Promise<Ways>>>} */
const OPEN = Object.freeze({
  [BULLMQ]: openBullmq,
  [NOOP]: async ({ ended }) => ({
    async place (id, order) { ended.set(id, { ...order, status: 'confirmed', reason: null, ms: 0 }) },
    statusOf: async (id) => ended.get(id)?.status ?? null
  })
})

/** @type {Map<string, Ended>} */
const ended = new Map()

serveGateway(async (technique, { redisUrl, keyPrefix, paymentUrl }) => {
  const stop = new AbortController()
  const server = await openConnection(redisUrl, { name: 'lab-orders', deadlineMs: DEADLINE_MS, signal: stop.signal })
  const payments = createPayments({ provider: 'local', url: paymentUrl, key: null, timeoutMs: PAYMENT_TIMEOUT_MS })
  const key = (/** @type {string} */ name) => `${keyPrefix}lab-${name}`
  const move = (/** @type {Line[]} */ lines, /** @type {1 | -1} */ by) => Promise.all(lines.map(({ sku, quantity }) =>
    server.send('HINCRBY', key('stock'), sku, by * quantity)))

  const ways = await OPEN[technique]({
    redisUrl,
    key,
    ended,

    /** All lines or none. */
    async reserve (lines) {
      const left = await move(lines, -1)
      if (left.every((units) => Number(units) >= 0)) return true
      await move(lines, 1)
      return false
    },

    giveBack: (lines) => move(lines, 1),

    /** Until the provider has said something. */
    async pay (id, amount) {
      for (;;) {
        try {
          const { status } = await payments.authorize({ key: id, amount })
          return status !== 'declined' && (await payments.capture({ key: id, amount })).status === 'captured'
        } catch (error) {
          if (stop.signal.aborted) throw error
          // an open breaker answers at once
          await sleep(PAY_AGAIN_MS)
        }
      }
    }
  })
  return { server, key, move, ways, async close () { stop.abort() } }
}, (app, { server, key, move, ways }) => {
  /** @param {'POST' | 'PUT'} method @param {string} url @param {number} status @param {(body: any, params: any) => Promise<object>} run */
  const take = (method, url, status, run) => app.route({
    method,
    url,
    async handler (request, reply) {
      return reply.code(status).send(await run(JSON.parse(String(bodyOf(request).bytes)), request.params))
    }
  })

  take('POST', '/v1/customers', 201, async ({ email }) => {
    await server.send('HSET', key('customers'), email, '1')
    return { id: email }
  })
  take('PUT', '/v1/products/:sku', 201, async ({ quantity }, { sku }) => {
    await server.send('HSET', key('stock'), sku, quantity)
    return { sku }
  })
  take('POST', '/v1/products/:sku/reserve', 200, async ({ quantity }, { sku }) => {
    await move([{ sku, quantity }], -1)
    return { sku }
  })
  take('POST', '/v1/products/:sku/release', 200, async (_body, { sku }) => {
    await move([{ sku, quantity: 1 }], 1)
    return { sku }
  })
  take('POST', '/v1/orders', 201, async ({ lines }) => {
    const id = randomUUID()
    const total = lines.reduce((/** @type {number} */ sum, /** @type {Line} */ { quantity }) => sum + PRICE * quantity, 0)
    await ways.place(id, { total, lines })
    return { id, status: 'pending' }
  })
  app.get('/v1/orders/:id', async (request, reply) => {
    const status = await ways.statusOf(/** @type {any} */ (request.params).id)
    return status === null ? reply.code(404).send({ code: 'ORDER_UNKNOWN' }) : { status }
  })
}, {
  stored: () => ({ orders: [...ended].map(([id, order]) => ({ id, ...order })) })
})
