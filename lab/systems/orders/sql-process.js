/**
 * A gateway of the lab for orders in PostgreSQL alone, in one process: the floor (floor.js), or workflows of a library (dbos.js).
 *
 * @typedef {{ query: (name: string, text: string, values: unknown[]) => Promise<import('pg').QueryResult>, databaseUrl: string,
 *   payments: ReturnType<typeof import('../../../src/systems/orders/index.js').createPayments>,
 *   retryUntilAnswered: <T>(call: () => Promise<T>) => Promise<T> }} Parts `query`: a prepared statement, by its name;
 *   `retryUntilAnswered`: until the payment provider answers
 * @typedef {import('./local-process.js').Ways & { stored: () => Promise<{ orders: object[], events: object[] }>,
 *   close: () => Promise<unknown> | void }} Way
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { bodyOf } from '../../../src/http/index.js'
import { createPayments } from '../../../src/systems/orders/index.js'
import { serveGateway } from '../gateway.js'
import { openDbos } from './dbos.js'
import { openFloor } from './floor.js'
import { DBOS } from './techniques.js'

const CONNECTIONS = 10
const PRICE = 500
const PAYMENT_TIMEOUT_MS = 500
const PAY_AGAIN_MS = 50

serveGateway(async (technique, { databaseUrl, paymentUrl }) => {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: CONNECTIONS })
  const payments = createPayments({ provider: 'local', url: paymentUrl, key: null, timeoutMs: PAYMENT_TIMEOUT_MS })
  let isOver = false
  await pool.query('CREATE TABLE stock (sku text PRIMARY KEY, units bigint NOT NULL CHECK (units >= 0))')
  /** @type {Parts['query']} */
  const query = (name, text, values) => pool.query({ name, text, values })
  const way = await (technique === DBOS ? openDbos : openFloor)({
    databaseUrl,
    query,
    payments,
    async retryUntilAnswered (call) {
      for (;;) {
        try {
          return await call()
        } catch (error) {
          if (isOver) throw error
          // an open breaker answers at once
          await sleep(PAY_AGAIN_MS)
        }
      }
    }
  })
  return {
    query,
    way,
    async close () {
      isOver = true
      await way.close()
      await pool.end()
    }
  }
}, (app, { query, way }) => {
  const read = (/** @type {any} */ request) => JSON.parse(String(bodyOf(request).bytes))

  app.post('/v1/customers', async (_request, reply) => reply.code(201).send({ id: randomUUID() }))
  app.put('/v1/products/:sku', async (request, reply) => {
    const { sku } = /** @type {any} */ (request.params)
    await query('product', 'INSERT INTO stock (sku, units) VALUES ($1, $2)', [sku, read(request).quantity])
    return reply.code(201).send({ sku })
  })
  app.post('/v1/orders', async (request, reply) => {
    const { lines } = read(request)
    const id = randomUUID()
    const total = lines.reduce((/** @type {number} */ sum, /** @type {{ quantity: number }} */ { quantity }) => sum + PRICE * quantity, 0)
    await way.place(id, { total, lines })
    return reply.code(201).send({ id, status: 'pending' })
  })
  app.get('/v1/orders/:id', async (request, reply) => {
    const status = await way.statusOf(/** @type {any} */ (request.params).id)
    return status === null ? reply.code(404).send({ code: 'ORDER_UNKNOWN' }) : { status }
  })
}, {
  stored: ({ way }) => way.stored()
})
