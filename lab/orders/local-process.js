/**
 * A replica as published: orders are in the memory of the replica that took them, stock and payments are messages on a bus, and each
 * message goes to whichever replica is free. A result that reaches another replica than the one with the order is lost.
 * Messages: `open`, `stored`, `stop`.
 */
import { randomUUID } from 'node:crypto'
import { Registry } from 'prom-client'
import { createServer } from '../../src/http/index.js'
import { createPayments } from '../../src/systems/orders/index.js'
import { tellParent } from '../../src/runtime/index.js'
import { openConnection } from '../../src/store/index.js'
import { serveParent } from '../serving/child-process.js'
import { NOOP } from './techniques.js'

const GROUP = 'replicas'
const DEADLINE_MS = 20_000
const BLOCK_MS = 1000
const COUNT = 100
const PAYMENT_TIMEOUT_MS = 500
const PRICE = 500

/** @typedef {{ sku: string, quantity: number }} Line */
/** @typedef {{ status: string, reason: string | null, total: number, lines: Line[], placedMs: number, ms: number }} Saga */
/** @type {Map<string, Saga>} */
const sagas = new Map()
const stop = new AbortController()
/** @type {Awaited<ReturnType<typeof openConnection>>} */
let server

serveParent('ready', {
  async open ({ technique, redisUrl, keyPrefix, paymentUrl }) {
    const open = (/** @type {string} */ name) => openConnection(redisUrl, { name, deadlineMs: DEADLINE_MS, signal: stop.signal })
    server = await open('lab-orders')
    const payments = createPayments({ provider: 'local', url: paymentUrl, key: null, timeoutMs: PAYMENT_TIMEOUT_MS })
    const key = (/** @type {string} */ name) => `${keyPrefix}lab-${name}`
    const send = (/** @type {string} */ name, /** @type {object} */ message) =>
      server.send('XADD', key(name), '*', 'm', JSON.stringify(message))
    const move = (/** @type {Line[]} */ lines, /** @type {1 | -1} */ by) => Promise.all(lines.map(({ sku, quantity }) =>
      server.send('HINCRBY', key('stock'), sku, by * quantity)))

    /** All lines or none. @param {Line[]} lines */
    async function reserve (lines) {
      const left = await move(lines, -1)
      if (left.every((units) => Number(units) >= 0)) return true
      await move(lines, 1)
      return false
    }

    /** Until the provider has said something. @param {string} id @param {number} amount @returns {Promise<boolean>} */
    async function pay (id, amount) {
      for (;;) {
        try {
          const { status } = await payments.authorize({ key: id, amount })
          return status !== 'declined' && (await payments.capture({ key: id, amount })).status === 'captured'
        } catch (error) {
          if (stop.signal.aborted) throw error
        }
      }
    }

    const HANDLERS = {
      /** @param {any} message */
      async requests ({ id, lines, total }) {
        const [yes, no] = lines ? ['held', 'insufficient'] : ['captured', 'declined']
        await send('results', { id, outcome: await (lines ? reserve(lines) : pay(id, total)) ? yes : no })
      },

      /** @param {any} message */
      async results ({ id, outcome }) {
        const saga = sagas.get(id)
        if (!saga) return // of another replica
        if (outcome === 'held') return send('requests', { id, total: saga.total })
        if (outcome === 'declined') await move(saga.lines, 1)
        Object.assign(saga, outcome === 'captured' ? { status: 'confirmed' } : { status: 'cancelled', reason: outcome })
        saga.ms = performance.now() - saga.placedMs
      }
    }
    const isNoop = technique === NOOP
    for (const [name, handle] of Object.entries(isNoop ? {} : HANDLERS)) follow(await open(`lab-${name}`), key(name), handle)
    tellParent({ event: 'opened', url: await listen({ send, move, key, isNoop }) })
  },

  stored: () => tellParent({ event: 'stored', orders: [...sagas].map(([id, { placedMs: _, ...saga }]) => ({ id, ...saga })) }),

  async stop () {
    stop.abort()
    process.exit(0)
  }
})

/** @param {typeof server} connection @param {string} stream @param {(message: any) => Promise<unknown>} handle */
async function follow (connection, stream, handle) {
  await connection.send('XGROUP', 'CREATE', stream, GROUP, '0', 'MKSTREAM').catch((error) => {
    if (!String(error.message).includes('BUSYGROUP')) throw error
  })
  while (!stop.signal.aborted) {
    const found = await connection.send('XREADGROUP', 'GROUP', GROUP, String(process.pid), 'COUNT', COUNT, 'BLOCK', BLOCK_MS, 'NOACK',
      'STREAMS', stream, '>')
    const [[, entries]] = Array.isArray(found) ? found : [[null, []]]
    for (const [, [, text]] of entries) handle(JSON.parse(String(text)))
  }
}

/** @param {any} parts */
async function listen ({ send, move, key, isNoop }) {
  const app = createServer({ registry: new Registry() })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => done(null, JSON.parse(String(body))))
  /** @param {string} path @param {number} status @param {(body: any, params: any) => Promise<object>} run */
  const post = (path, status, run) =>
    app.post(path, async (request, reply) => reply.code(status).send(await run(request.body, request.params)))

  post('/v1/customers', 201, async ({ email }) => {
    await server.send('HSET', key('customers'), email, '1')
    return { customerId: email }
  })
  post('/v1/products', 201, async ({ sku, quantity }) => {
    await server.send('HSET', key('stock'), sku, quantity)
    return { sku }
  })
  post('/v1/products/:sku/reserve', 200, async ({ quantity }, { sku }) => {
    await move([{ sku, quantity }], -1)
    return { sku }
  })
  post('/v1/products/:sku/release', 200, async (_body, { sku }) => {
    await move([{ sku, quantity: 1 }], 1)
    return { sku }
  })
  post('/v1/orders', 201, async ({ lines }) => {
    const id = randomUUID()
    const total = lines.reduce((/** @type {number} */ sum, /** @type {Line} */ { quantity }) => sum + PRICE * quantity, 0)
    sagas.set(id, { status: isNoop ? 'confirmed' : 'pending', reason: null, total, lines, placedMs: performance.now(), ms: 0 })
    if (!isNoop) await send('requests', { id, lines })
    return { orderId: id, status: 'pending' }
  })
  app.get('/v1/orders/:id', async (request, reply) => {
    const saga = sagas.get(/** @type {any} */ (request.params).id)
    return saga ? { status: saga.status } : reply.code(404).send({ code: 'ORDER_UNKNOWN' })
  })
  return app.listen({ host: '127.0.0.1', port: 0, backlog: 4096 })
}
