/**
 * The floor: orders in PostgreSQL with one statement and one event a step. It is what the same steps cost without replicas, views,
 * deadlines, cancelling and parked orders. A second process would drive the same orders.
 *
 *     placed -> held -> capture_requested -> captured -> confirmed        each arrow is one statement, which is one commit
 *                  \-> declined -> cancelled
 */
import { EVENTS_OF_ORDERS, eventOf, orderOf } from './rows.js'

const LOOK_EVERY_MS = 1000
/** of orders that a process which has ended may have left */
const LEFT_AFTER = '5 s'
const CHECK_VIOLATION = '23514'

const TABLES = Object.freeze([
  `CREATE TABLE orders (id text PRIMARY KEY, status text NOT NULL, version integer NOT NULL, total bigint NOT NULL, lines jsonb NOT NULL,
    placed_at timestamptz NOT NULL DEFAULT now(), changed_at timestamptz NOT NULL DEFAULT now())`,
  `CREATE TABLE events (aggregate text, version integer, type text NOT NULL, partition integer NOT NULL DEFAULT 0, data jsonb,
    at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (aggregate, version))`
])
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

/** @param {import('./sql-process.js').Parts} parts @returns {Promise<import('./sql-process.js').Way>} */
export async function openFloor ({ query, payments, retryUntilAnswered }) {
  const running = new Set()
  for (const [n, table] of TABLES.entries()) await query(`table ${n}`, table, [])

  /** What follows a status. @type {Record<string, (payment: { key: string, amount: number }) => Promise<string>>} */
  const next = {
    placed: async () => 'held',
    held: async (payment) => (await retryUntilAnswered(() => payments.authorize(payment))).status === 'declined'
      ? 'declined, units back'
      : 'capture_requested',
    capture_requested: async (payment) => (await retryUntilAnswered(() => payments.capture(payment))).status === 'captured'
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
    async place (id, { total, lines }) {
      await query('place', PLACE, [id, total, JSON.stringify(lines)])
      drive({ id, total, status: 'placed' })
    },
    statusOf: async (id) => (await query('status', 'SELECT status FROM orders WHERE id = $1', [id])).rows[0]?.status ?? null,
    stored: async () => ({
      orders: (await query('orders', ORDERS, [])).rows.map(orderOf),
      events: (await query('events', EVENTS_OF_ORDERS('true'), [])).rows.map(eventOf)
    }),
    close: () => clearInterval(looks)
  }
}
