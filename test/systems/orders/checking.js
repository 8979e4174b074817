/**
 * What must hold of orders whatever was killed: the invariants of docs/orders.md, from the database, the ledger of the provider and the
 * stock, by the checker of the lab.
 */
import { checkOrders, isFinal } from '../../../lab/systems/orders/history.js'
import { eventOf, EVENTS_OF_ORDERS } from '../../../lab/systems/orders/rows.js'
import { eventually } from '../../servers.js'

const idOf = (/** @type {string} */ aggregate) => aggregate.slice('o:'.length)

/**
 * @param {import('tap').Test} t
 * @param {{ database: { query: (text: string, values?: unknown[]) => Promise<any[]> }, entries: () => Promise<any[]>,
 *   stock: (sku: string) => Promise<any> }} parts `entries` of the ledger
 * @param {{ orders: string[], units: Record<string, number>, deadlineMs?: number }} wanted `orders` that were acknowledged; `units` of each
 *   product, at the start and replenished
 * @returns {Promise<Record<string, number>>} orders by outcome
 */
export async function expectConsistent (t, { database, entries, stock }, { orders, units, deadlineMs }) {
  const keys = orders.map((id) => `o:${id}`)
  const rowsOf = () => database.query('SELECT aggregate, status, reason, total, lines FROM order_view WHERE aggregate = ANY($1)', [keys])
  const rows = await eventually(async () => {
    const found = await rowsOf()
    const open = found.filter(({ status }) => !isFinal(status))
    if (found.length < keys.length || open.length > 0) {
      throw new Error(`${found.length} of ${keys.length} orders, ${open.length} not final: ${JSON.stringify(open.slice(0, 5))}`)
    }
    return found
  }, { deadlineMs })

  const events = await database.query(
    EVENTS_OF_ORDERS('aggregate = ANY($1)'), [keys])
  const left = await Promise.all(Object.entries(units).map(async ([sku, all]) => {
    const { available, held, sold } = await eventually(async () => {
      const one = await stock(sku)
      return one.held === 0 && one
    })
    return { sku, units: all, available, held, sold }
  }))
  const broken = checkOrders({
    technique: 'consumers',
    placed: orders,
    unknown: [],
    orders: rows.map(({ aggregate, total, ...row }) => ({ ...row, id: idOf(aggregate), total: Number(total), ms: 0 })),
    events: events.map(eventOf),
    // others of the same provider have orders that are not asked about
    payments: (await entries()).filter((/** @type {any} */ { key }) => orders.includes(key))
      .map(({ key, captures, captured, refunded }) => ({ id: key, captures, captured, refunded })),
    stock: left,
    dead: []
  }).filter(({ ok }) => !ok)
  t.same(broken, [], 'every invariant of orders')

  /** @type {Record<string, number>} */
  const outcomes = {}
  for (const { status, reason } of rows) outcomes[reason || status] = (outcomes[reason || status] ?? 0) + 1
  return outcomes
}
