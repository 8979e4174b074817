/**
 * The floor: orders in PostgreSQL alone, with one statement and one event a step, in one process. It is what the same steps cost without
 * replicas, views, deadlines, cancelling and parked orders. A second process would drive the same orders.
 *
 *     placed -> held -> capture_requested -> captured -> confirmed        each arrow is one statement, which is one commit
 *                  \-> declined -> cancelled
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { bodyOf } from '../../../src/http/index.js'
import { createPayments } from '../../../src/systems/orders/index.js'
import { serveGateway } from '../gateway.js'
import { EVENTS_OF_ORDERS, eventOf, orderOf } from './rows.js'

const CONNECTIONS = 10
const PRICE = 500
const PAYMENT_TIMEOUT_MS = 500
const PAY_AGAIN_MS = 50
const LOOK_EVERY_MS = 1000
/** of orders that a process which has ended may have left */
const LEFT_AFTER = '5 s'
const CHECK_VIOLATION = '23514'

const TABLES = `CREATE TABLE stock (sku text PRIMARY KEY, units bigint NOT NULL CHECK (units >= 0));
  CREATE TABLE orders (id text PRIMARY KEY, status text NOT NULL, version integer NOT NULL, total bigint NOT NULL, lines jsonb NOT NULL,
    placed_at timestamptz NOT NULL DEFAULT now(), changed_at timestamptz NOT NULL DEFAULT now());
  CREATE TABLE events (aggregate text, version integer, type text NOT NULL, partition integer NOT NULL DEFAULT 0, data jsonb,
    at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (aggregate, version))`
const PLACE = `WITH placed AS (INSERT INTO orders (id, status, version, total, lines) VALUES ($1, 'placed', 1, $2, $3) RETURNING *)
  INSERT INTO events (aggregate, version, type, data)
  SELECT id, version, status, jsonb_build_object('total', total, 'lines', lines) FROM placed`

/** @param {string} [more] what happens to the stock in the same statement */
const stepWith = (more = '') => `WITH moved AS (
    UPDATE orders SET status = $2, version = version + 1, changed_at = now() WHERE id = $1 AND status = $3 RETURNING *)${more}
  INSERT INTO events (aggregate, version, type) SELECT id, version, status FROM moved`
const stockBy = (/** @type {'+' | '-'} */ sign) => `, wanted AS (
    SELECT sku, sum(quantity) AS units FROM moved, jsonb_to_recordset(lines) AS line (sku text, quantity integer) GROUP BY sku
  ), counted AS (UPDATE stock SET units = stock.units ${sign} wanted.units FROM wanted WHERE stock.sku = wanted.sku)`
/** by the status to which they lead */
const STEPS = Object.freeze(/** @type {Record<string, string>} */ ({
  held: stepWith(stockBy('-')),
  capture_requested: stepWith(),
  captured: stepWith(),
  confirmed: stepWith(),
  cancelled: stepWith(),
  declined: stepWith(),
  'declined, units back': stepWith(stockBy('+'))
}))
const OPEN = `SELECT id, total, status FROM orders
  WHERE status NOT IN ('confirmed', 'cancelled') AND changed_at < now() - interval '${LEFT_AFTER}'`
const ORDERS = `SELECT id AS aggregate, status, '' AS reason, total, lines, extract(epoch FROM placed_at) * 1000 AS placed,
  extract(epoch FROM changed_at - placed_at) * 1000 AS ms FROM orders`

serveGateway(async (_technique, { databaseUrl, paymentUrl }) => {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: CONNECTIONS })
  const payments = createPayments({ provider: 'local', url: paymentUrl, key: null, timeoutMs: PAYMENT_TIMEOUT_MS })
  const running = new Set()
  let isOver = false
  await pool.query(TABLES)
  const query = (/** @type {string} */ name, /** @type {string} */ text, /** @type {unknown[]} */ values) =>
    pool.query({ name, text, values })

  /** Until the provider has said something. @template T @param {() => Promise<T>} call @returns {Promise<T>} */
  async function insist (call) {
    for (;;) {
      try {
        return await call()
      } catch (error) {
        if (isOver) throw error
        await sleep(PAY_AGAIN_MS)
      }
    }
  }

  /** What follows a status. @type {Record<string, (payment: { key: string, amount: number }) => Promise<string>>} */
  const next = {
    placed: async () => 'held',
    held: async (payment) => (await insist(() => payments.authorize(payment))).status === 'declined'
      ? 'declined, units back'
      : 'capture_requested',
    capture_requested: async (payment) => (await insist(() => payments.capture(payment))).status === 'captured'
      ? 'captured'
      : 'declined, units back',
    captured: async () => 'confirmed',
    declined: async () => 'cancelled'
  }

  /** @param {{ id: string, total: number, status: string }} order */
  async function drive ({ id, total, status }) {
    if (running.has(id)) return
    running.add(id)
    try {
      for (let from = status; from in next;) {
        let step = await next[from]({ key: id, amount: total })
        const move = () => query(step, STEPS[step], [id, step.split(',')[0], from])
        await move().catch((error) => {
          if (error.code !== CHECK_VIOLATION) throw error
          step = 'declined'
          return move()
        })
        from = step.split(',')[0]
      }
    } catch {
      // the next look finds it
    } finally {
      running.delete(id)
    }
  }

  const looks = setInterval(async () => {
    const { rows } = await query('open', OPEN, []).catch(() => ({ rows: [] }))
    for (const { total, ...order } of rows) drive({ ...order, total: Number(total) })
  }, LOOK_EVERY_MS)

  return {
    pool,
    query,
    drive,
    async close () {
      isOver = true
      clearInterval(looks)
      await pool.end()
    }
  }
}, (app, { query, drive }) => {
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
    await query('place', PLACE, [id, total, JSON.stringify(lines)])
    drive({ id, total, status: 'placed' })
    return reply.code(201).send({ id, status: 'pending' })
  })
  app.get('/v1/orders/:id', async (request, reply) => {
    const { id } = /** @type {any} */ (request.params)
    const { rows: [row] } = await query('status', 'SELECT status FROM orders WHERE id = $1', [id])
    return row ?? reply.code(404).send({ code: 'ORDER_UNKNOWN' })
  })
}, {
  stored: async ({ pool }) => ({
    orders: (await pool.query(ORDERS)).rows.map(orderOf),
    events: (await pool.query(EVENTS_OF_ORDERS('true'))).rows.map(eventOf)
  })
})
