/**
 * Checks orders: what clients were told, the stored events and views, the ledger of the provider, and the stock.
 *
 *     D1  every acknowledged order is final; within its deadline, a lease and 2 s, while the provider answers
 *     D2  steps are legal, versions without gaps
 *     D3  units of a product = available + held + sold; none is held at the end; sold are those of confirmed orders
 *     D4  at most one capture of an order; captured - refunded = the total of a confirmed one, else 0
 *     D7  the view of an order says what its events say
 *     D8  a reader knows every acknowledged order
 *     D9  no order has a dead letter
 *
 * @typedef {{ id: string, status: string, reason: string | null, total: number, lines: { sku: string, quantity: number }[],
 *   ms: number, placedMs?: number }} Order
 *   of the view; `total` in minor units; `ms` from placing to the last change; `placedMs` since 1970
 * @typedef {{ id: string, version: number, type: string, reason?: string, total?: number, lines?: Order['lines'],
 *   partition?: number, atMs?: number }} Event of an order, by version; `total` and `lines` of the first; `atMs` since 1970
 * @typedef {{ id: string, captures: number, captured: number, refunded: number }} Payment amounts in minor units
 * @typedef {{ sku: string, units: number, available: number, held: number, sold: number }} Stock `units` at the start and replenished
 * @typedef {{ technique: string, placed: string[], unknown: string[], orders: Order[], events: Event[], payments: Payment[],
 *   stock: Stock[], dead: string[], boundMs?: number | null, outages?: [number, number][] }} History `placed`: acknowledged; `unknown`:
 *   those that a reader did not know; `dead`: of dead letters; `boundMs`: of an order, null: none; `outages` of the provider: from and to,
 *   ms since 1970
 * @typedef {import('../invariants.js').Invariant} Invariant
 */
import { sumByName } from '../../analysis/counts.js'
import { result } from '../invariants.js'

const FINAL = Object.freeze(['confirmed', 'cancelled'])
/** steps that may follow a step */
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

/** @param {string} status */
export const isFinal = (status) => FINAL.includes(status)

/** @param {History} history @returns {Invariant[]} */
export function checkOrders ({ placed, unknown, orders, events, payments, stock, dead, boundMs = null, outages = [] }) {
  const known = new Map(orders.map((order) => [order.id, order]))
  return [
    result('D1 every acknowledged order is final', placed.filter((id) => !isFinal(String(known.get(id)?.status)))
      .map((id) => `${id}: ${known.get(id)?.status ?? 'unknown'}`)),
    ...boundMs === null
      ? []
      : [result(`D1 within ${boundMs / 1000} s, while the provider answers`, lateFaults(orders, boundMs, outages))],
    result('D2 steps are legal, versions without gaps', stepFaults(events)),
    result('D3 units are available, held or sold, as confirmed orders say', stockFaults(orders, stock)),
    result('D4 the ledger has what was confirmed, once', paymentFaults(orders, payments)),
    result('D7 the view is the fold of the events', viewFaults(orders, events)),
    result('D8 a reader knows every acknowledged order', unknown),
    result('D9 no order has a dead letter', dead)
  ]
}

/** @param {Order[]} orders @param {number} boundMs @param {[number, number][]} outages */
const lateFaults = (orders, boundMs, outages) => orders.flatMap(({ id, status, ms, placedMs = 0 }) => {
  const downMs = outages.reduce((sum, [from, to]) => sum + Math.max(0, Math.min(to, placedMs + ms) - Math.max(from, placedMs)), 0)
  return isFinal(status) && ms - downMs > boundMs ? [`${id}: ${Math.round(ms)} ms, ${Math.round(downMs)} of them without the provider`] : []
})

/** @param {Order[]} orders @param {Event[]} events */
function viewFaults (orders, events) {
  const first = new Map(events.filter(({ version }) => version === 1).map((event) => [event.id, event]))
  const last = new Map(events.map((event) => [event.id, event]))
  return orders.flatMap(({ id, status, reason, total, lines }) => {
    const [placed, end] = [first.get(id), last.get(id)]
    if (isFinal(status) && end?.type !== status) return [`${id}: ${status} after ${end?.type}`]
    const seen = JSON.stringify([reason ?? '', total, lines])
    const folded = JSON.stringify([end?.reason ?? '', placed?.total, placed?.lines])
    return seen === folded ? [] : [`${id}: ${seen}, of events ${folded}`]
  })
}

/** @param {Event[]} events */
function stepFaults (events) {
  /** @type {Map<string, Event>} */
  const before = new Map()
  return events.flatMap((event) => {
    const { id, version, type } = event
    const prior = before.get(id)
    before.set(id, event)
    const isLegal = prior ? version === prior.version + 1 && LEGAL[prior.type]?.includes(type) : version === 1 && type === 'placed'
    return isLegal ? [] : [`${id}: ${type} ${version} after ${prior ? `${prior.type} ${prior.version}` : 'nothing'}`]
  })
}

/** @param {Order[]} orders @param {Stock[]} stock */
function stockFaults (orders, stock) {
  const confirmed = sumByName(orders.flatMap(({ status, lines }) =>
    status === 'confirmed' ? lines.map(({ sku, quantity }) => ({ [sku]: quantity })) : []))
  return stock.filter(({ sku, units, available, held, sold }) => held !== 0 || sold !== (confirmed[sku] ?? 0) || available !== units - sold)
    .map(({ sku, units, available, held, sold }) =>
      `${sku}: ${available} + ${held} held + ${sold} sold of ${units}, ${confirmed[sku] ?? 0} confirmed`)
}

/**
 * The payments of an order, together: one that was made twice has two entries in the ledger.
 * @param {Payment[]} payments @returns {Map<string, Payment>} by order
 */
export function paymentsOfOrders (payments) {
  /** @type {Map<string, Payment>} */
  const paid = new Map()
  for (const { id, captures, captured, refunded } of payments) {
    const known = paid.get(id) ?? { id, captures: 0, captured: 0, refunded: 0 }
    paid.set(id, { id, captures: known.captures + captures, captured: known.captured + captured, refunded: known.refunded + refunded })
  }
  return paid
}

/** @param {Order[]} orders @param {Payment[]} payments */
function paymentFaults (orders, payments) {
  const paid = paymentsOfOrders(payments)
  const known = new Set(orders.map(({ id }) => id))
  return [
    ...orders.flatMap(({ id, status, total }) => {
      const { captures, captured, refunded } = paid.get(id) ?? { captures: 0, captured: 0, refunded: 0 }
      const due = status === 'confirmed' ? total : 0
      return captures > 1 || captured - refunded !== due ? [`${id} ${status}: ${captured} - ${refunded} in ${captures}, not ${due}`] : []
    }),
    ...[...paid.values()].filter(({ id, captured, refunded }) => !known.has(id) && captured !== refunded)
      .map(({ id, captured, refunded }) => `${id} is no order: ${captured} - ${refunded}`)
  ]
}

/** @param {History} history @returns {string} JSON, in one line */
export const historyText = (history) => JSON.stringify({ kind: 'orders', ...history })
