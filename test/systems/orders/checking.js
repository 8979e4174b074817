/**
 * What must hold of orders whatever was killed: the invariants of docs/orders.md, from the database, the ledger of the provider and the
 * stock.
 */
import { eventually } from '../../servers.js'

const LEGAL = Object.freeze(/** @type {Record<string, string[]>} */ ({
  placed: ['held', 'declined', 'cancel_requested', 'deadline'],
  held: ['capture_requested', 'declined', 'cancel_requested', 'deadline'],
  capture_requested: ['captured', 'declined'],
  captured: ['confirmed'],
  declined: ['cancelled'],
  cancel_requested: ['cancelled'],
  deadline: ['cancelled'],
  confirmed: [],
  cancelled: []
}))
const FINAL = ['confirmed', 'cancelled']

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
    const open = found.filter(({ status }) => !FINAL.includes(status))
    if (found.length < keys.length || open.length > 0) {
      throw new Error(`${found.length} of ${keys.length} orders, ${open.length} not final: ${JSON.stringify(open.slice(0, 5))}`)
    }
    return found
  }, { deadlineMs })

  const events = await database.query(
    'SELECT aggregate, version, type FROM events WHERE aggregate = ANY($1) ORDER BY aggregate, version', [keys])
  /** @type {Map<string, { version: number, type: string }>} */
  const last = new Map()
  const illegal = events.filter(({ aggregate, version, type }) => {
    const before = last.get(aggregate)
    last.set(aggregate, { version: Number(version), type })
    if (!before) return Number(version) !== 1 || type !== 'placed'
    return Number(version) !== before.version + 1 || !LEGAL[before.type].includes(type)
  })
  t.same(illegal, [], 'steps are legal, versions without gaps')

  const ledger = new Map((await entries()).map((one) => [`o:${one.key}`, one]))
  const wrong = rows.filter(({ aggregate, status, total }) => {
    const { captured = 0, refunded = 0, captures = 0 } = ledger.get(aggregate) ?? {}
    return captures > 1 || captured - refunded !== (status === 'confirmed' ? Number(total) : 0)
  })
  t.same(wrong, [], 'what is captured, at most once, is what was confirmed')

  /** @type {Record<string, number>} */
  const sold = {}
  for (const { status, lines } of rows) {
    if (status === 'confirmed') for (const { sku, quantity } of lines) sold[sku] = (sold[sku] ?? 0) + quantity
  }
  for (const [sku, all] of Object.entries(units)) {
    const found = await eventually(async () => {
      const one = await stock(sku)
      return one.held === 0 && one
    })
    t.match(found, { held: 0, sold: sold[sku] ?? 0, available: all - (sold[sku] ?? 0) }, `stock of ${sku}`)
  }
  /** @type {Record<string, number>} */
  const outcomes = {}
  for (const { status, reason } of rows) outcomes[reason || status] = (outcomes[reason || status] ?? 0) + 1
  return outcomes
}
