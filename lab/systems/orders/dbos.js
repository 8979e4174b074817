/**
 * A peer: an order is a workflow of DBOS in PostgreSQL, whose steps are stored with their results, so that a process with the same executor
 * id goes on when it was killed. A step may be repeated then, so the stock has a row for each reservation.
 *
 * Source: https://docs.dbos.dev/typescript/programming-guide
 */
import { loadPeers } from '../../peers/index.js'

const RESERVATIONS = 'CREATE TABLE reservations (id text PRIMARY KEY)'
const HOLD = `WITH kept AS (INSERT INTO reservations VALUES ($1) ON CONFLICT DO NOTHING RETURNING id), wanted AS (
    SELECT sku, sum(quantity) AS units FROM kept, jsonb_to_recordset($2::jsonb) AS line (sku text, quantity integer) GROUP BY sku)
  UPDATE stock SET units = stock.units - wanted.units FROM wanted WHERE stock.sku = wanted.sku`
const GIVE_BACK = `WITH gone AS (DELETE FROM reservations WHERE id = $1 RETURNING id), wanted AS (
    SELECT sku, sum(quantity) AS units FROM gone, jsonb_to_recordset($2::jsonb) AS line (sku text, quantity integer) GROUP BY sku)
  UPDATE stock SET units = stock.units + wanted.units FROM wanted WHERE stock.sku = wanted.sku`
const CHECK_VIOLATION = '23514'

/** @param {import('./sql-process.js').Parts} parts @returns {Promise<import('./sql-process.js').Way>} */
export async function openDbos ({ databaseUrl, query, retryUntilAnswered, payments }) {
  const { DBOS } = await (await loadPeers())('@dbos-inc/dbos-sdk')
  await query('reservations', RESERVATIONS, [])
  /** @type {Map<string, import('./local-process.js').Ended>} */
  const ended = new Map()
  const step = (/** @type {string} */ name, /** @type {() => Promise<any>} */ work) => DBOS.runStep(work, { name })

  /** @param {string} id @param {import('./local-process.js').Placed} order */
  async function run (id, { lines, total }) {
    const values = [id, JSON.stringify(lines)]
    const isHeld = await step('hold', () => query('hold', HOLD, values).then(() => true, (error) => {
      if (error.code !== CHECK_VIOLATION) throw error
      return false
    }))
    if (!isHeld) return 'cancelled'
    const payment = { key: id, amount: total }
    const { status } = await step('authorize', () => retryUntilAnswered(() => payments.authorize(payment)))
    const isPaid = status !== 'declined' &&
      (await step('capture', () => retryUntilAnswered(() => payments.capture(payment)))).status === 'captured'
    if (isPaid) return 'confirmed'
    await step('give back', () => query('give back', GIVE_BACK, values).then(() => true))
    return 'cancelled'
  }

  DBOS.setConfig({ name: 'lab', applicationVersion: '1', systemDatabaseUrl: databaseUrl, logLevel: 'error' })
  const workflow = DBOS.registerWorkflow(run, { name: 'order' })
  await DBOS.launch()
  return {
    async place (id, order) {
      const beganMs = performance.now()
      const handle = await DBOS.startWorkflow(workflow, { workflowID: id })(id, order)
      handle.getResult().then((/** @type {string} */ status) =>
        ended.set(id, { ...order, status, reason: null, ms: performance.now() - beganMs }), () => {})
    },
    statusOf: async (id) => ended.get(id)?.status ?? (await DBOS.getWorkflowStatus(id) ? 'pending' : null),
    stored: async () => ({ orders: [...ended].map(([id, order]) => ({ id, ...order })), events: [] }),
    close: () => DBOS.shutdown()
  }
}
