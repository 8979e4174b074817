/** The latest orders: what each is about and how it goes on, the timeline of the one that is chosen, and a form for one more. */
import { at, make, put } from './elements.js'
import { personName } from './person-names.js'
import { gateway, get, newKey, say, send } from './system.js'
import { duration } from './text.js'

const EVERY_MS = 1000
const ROWS = 8
/** so slowly do rows move that they can be read and clicked */
const NEW_EVERY_MS = 3000
const NEW_AT_ONCE = 2
const FINAL = ['confirmed', 'cancelled']

/** @typedef {{ id: string, customer: string, status: string, step: string, total: string, reason?: string,
 *   lines: { sku: string, quantity: number, price: string }[] }} Order */

/** the newest first @type {Order[]} */
let orders = []
/** ids of the newest orders, the newest first @type {string[]} */
let latest = []
let addedMs = -Infinity
let chosen = ''
const products = new Set()

/** @param {string[]} ids the newest first */
export const takeLatest = (ids) => { latest = ids }

const orderOf = (/** @type {string} */ id) => get(`/v1/orders/${encodeURIComponent(id)}`)
const isShown = (/** @type {string} */ id) => orders.some((one) => one.id === id)

/** Adds some of the latest orders, and reads those that are on their way. */
export async function showLatest () {
  const nowMs = performance.now()
  const added = nowMs - addedMs < NEW_EVERY_MS ? [] : latest.filter((id) => !isShown(id)).slice(0, orders.length === 0 ? ROWS : NEW_AT_ONCE)
  if (added.length > 0) addedMs = nowMs
  const ids = [...added, ...orders.map(({ id }) => id)]
  const all = await Promise.all(ids.map((id) => orders.find((one) => one.id === id && FINAL.includes(one.status)) ?? orderOf(id)))
  // the chosen one stays
  orders = all.filter(({ id }, i) => i < ROWS || id === chosen)
  for (const { lines } of orders) for (const { sku } of lines) products.add(sku)
  if (at('products').children.length !== products.size) {
    at('products').replaceChildren(...[...products].sort().map((value) => make('option', { value })))
  }
  show()
  at('place').hidden = gateway() === ''
  return EVERY_MS
}

function show () {
  at('no-orders').hidden = orders.length > 0
  const rows = orders.map(rowOf)
  // a row that has the focus is not replaced
  if (!at('latest').contains(document.activeElement)) at('latest').replaceChildren(...rows)
  timeline()
}

/** @param {Order} order */
function rowOf ({ id, customer, status, step, total, reason, lines }) {
  const open = make('button', { type: 'button', onclick: () => choose(id) }, id.slice(0, 6))
  open.setAttribute('aria-pressed', String(id === chosen))
  open.title = `Timeline of the order ${id}`
  const about = lines.map(({ sku, quantity }) => `${quantity} × ${sku.replaceAll('-', ' ')}`).join(', ')
  const how = status === 'cancelled' && reason ? `cancelled: ${reason.replaceAll('_', ' ')}` : step
  const row = make('tr', {}, ...[open, personName(customer), about, total, how].map((cell) => make('td', {}, cell)))
  row.cells[1].title = customer
  row.dataset.status = status
  return row
}

/** @param {string} id */
function choose (id) {
  chosen = id
  const active = /** @type {HTMLElement | null} */ (document.activeElement)
  if (at('latest').contains(active)) active?.blur()
  show()
}

async function timeline () {
  const order = orders.find(({ id }) => id === chosen)
  at('timeline').hidden = order === undefined
  if (!order) return
  const { steps, tookMs } = await get(`/v1/orders/${encodeURIComponent(chosen)}/timeline`).catch(() => ({ steps: [], tookMs: 0 }))
  put(at('timeline-title'), `Order ${chosen}: ${order.step}${FINAL.includes(order.status) ? ` after ${duration(tookMs)}` : ''}`)
  at('events').replaceChildren(...steps.map((/** @type {{ type: string, afterMs: number }} */ { type, afterMs }) =>
    make('li', {}, make('span', {}, type.replaceAll('_', ' ')), make('span', { className: 'quiet' }, duration(afterMs)))))
}

/** The visitor as a customer. @returns {Promise<string>} id */
async function visitor () {
  const known = sessionStorage.getItem('customer')
  if (known) return known
  const key = newKey()
  const { reply } = await send('/v1/customers', { email: `${key}@example.org`, name: 'A visitor', address: 'This page' }, key)
  sessionStorage.setItem('customer', reply.id)
  return reply.id
}

at('place').addEventListener('submit', async (/** @type {SubmitEvent} */ event) => {
  event.preventDefault()
  say('', '')
  at('press').disabled = true
  try {
    const line = { sku: at('sku').value.trim(), quantity: Number(at('quantity').value) }
    const body = { customerId: await visitor(), lines: [line], address: 'This page' }
    const { status, reply } = await send('/v1/orders', body, newKey())
    if (status !== 201) say('bad', reply.detail ?? `status ${status}`)
    else {
      say('good', `Placed: order ${reply.id}`)
      chosen = reply.id
      orders = [await orderOf(reply.id), ...orders]
      show()
    }
  } catch (error) {
    say('bad', error.message)
  }
  at('press').disabled = false
})
