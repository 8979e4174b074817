/**
 * Orders on their way: rates, how many are at each step, the latest ones with a timeline, a form for one of the visitor, the processes
 * that drive them, and faults of a payment provider on this machine.
 */
import { at, make, put } from './elements.js'
import { personName } from './person-names.js'
import { BREAKERS, createFaults, gateway, get, IS_HERE, newKey, repeat, say, send, state } from './system.js'
import { duration, number } from './text.js'

/** The latest orders: what each is about and how it goes on, the timeline of the one that is chosen, and a form for one more. */

const LATEST_EVERY_MS = 1000
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
const takeLatest = (ids) => { latest = ids }

const orderOf = (/** @type {string} */ id) => get(`/v1/orders/${encodeURIComponent(id)}`)
const isShown = (/** @type {string} */ id) => orders.some((order) => order.id === id)

/** Adds some of the latest orders, and reads those that are on their way. */
async function showLatest () {
  const nowMs = performance.now()
  const added = nowMs - addedMs < NEW_EVERY_MS ? [] : latest.filter((id) => !isShown(id)).slice(0, orders.length === 0 ? ROWS : NEW_AT_ONCE)
  if (added.length > 0) addedMs = nowMs
  const ids = [...added, ...orders.map(({ id }) => id)]
  const all = await Promise.all(ids.map((id) => orders.find((order) => order.id === id && FINAL.includes(order.status)) ?? orderOf(id)))
  // the chosen one stays
  orders = all.filter(({ id }, i) => i < ROWS || id === chosen)
  for (const { lines } of orders) for (const { sku } of lines) products.add(sku)
  if (at('products').children.length !== products.size) {
    at('products').replaceChildren(...[...products].sort().map((value) => make('option', { value })))
  }
  showOrders()
  at('place').hidden = gateway() === ''
  return LATEST_EVERY_MS
}

function showOrders () {
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
  showOrders()
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
  const storedId = sessionStorage.getItem('customer')
  if (storedId) return storedId
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
      showOrders()
    }
  } catch (error) {
    say('bad', error.message)
  }
  at('press').disabled = false
})

const EVERY_MS = 500
/** @type {readonly (readonly [string, string, Record<string, unknown> | null])[]} */
const FAULTS = Object.freeze([
  ['none', '', null],
  ['down', ': no connection', { isDown: true }],
  ['slow', ': replies in 300 ms', { latencyMs: 300 }],
  ['silent', ': one effect in five has no reply', { silentRate: 0.2 }],
  ['declines', ': half of the payments', { declineRate: 0.5 }],
  ['errors', ': replies 500 to half of the calls', { errorRate: 0.5 }]
])
/** What is done at each step. @type {Readonly<Record<string, string>>} */
const MEANINGS = Object.freeze({
  placed: 'Its units are being held',
  held: 'Its payment is being authorized',
  capturing: 'Its payment is being taken',
  captured: 'Paid: its units are being sold',
  confirmed: 'Done',
  cancelling: 'Units and payment are being given back',
  cancelled: 'Done: nothing is held, nothing is paid'
})
const WORST = Object.keys(BREAKERS)
let paymentUrl = ''

async function show () {
  const figures = await get('/v1/orders/figures').catch((error) => {
    if (error.status !== 404) throw error
  })
  if (!figures) {
    state('wait', 'no orders so far')
    return EVERY_MS
  }
  const perSecond = (/** @type {number} */ n) => `${number(n)} /s`
  const ended = { confirmed: perSecond(figures.confirmedPerSecond), cancelled: perSecond(figures.cancelledPerSecond) }
  put(at('placed'), perSecond(figures.placedPerSecond))
  put(at('confirmed'), ended.confirmed)
  put(at('cancelled'), ended.cancelled)
  put(at('p50'), duration(figures.confirmedMsP50))
  put(at('p95'), duration(figures.confirmedMsP95))
  put(at('running'), number(figures.running))
  put(at('letters'), number(figures.deadLetters))
  at('steps').replaceChildren(...figures.steps.map((/** @type {any} */ step) => stepOf(step, ended)))
  at('workers').replaceChildren(...figures.workers.map(workerOf))
  at('no-workers').hidden = figures.workers.length > 0
  provider(figures.workers)
  takeLatest(figures.steps[0].recent)
  state('live', 'live')
  return EVERY_MS
}

/** @param {{ step: string, orders: number | null }} figures @param {Record<string, string>} ended rates of steps that are the last */
function stepOf ({ step, orders }, ended) {
  const count = orders === null ? ended[step] : `${number(orders)} now`
  const item = make('li', {},
    make('h3', {}, step), make('p', { className: 'count' }, count), make('p', { className: 'quiet' }, MEANINGS[step]))
  item.dataset.step = step
  return item
}

/** @param {{ id: string, cpuPercent: number, partitions: number, driven: Record<string, number> }} worker */
const workerOf = ({ id, cpuPercent, partitions, driven }) => make('li', {},
  make('h3', {}, id),
  make('meter', { min: 0, max: 100, value: Math.min(100, cpuPercent), title: 'CPU, of one core' }),
  make('p', { className: 'quiet' },
    `CPU ${number(cpuPercent)} %; owns ${number(partitions)} partitions; drives ${number(sumOf(driven))} orders at the moment`))

/** @param {Record<string, number>} counts */
const sumOf = (counts) => Object.values(counts).reduce((sum, n) => sum + n, 0)

/** @param {{ breaker: string, paymentUrl: string | null }[]} workers */
function provider (workers) {
  const url = workers.find((worker) => worker.paymentUrl)?.paymentUrl ?? ''
  const breaker = workers.map((worker) => worker.breaker).sort((a, b) => WORST.indexOf(b) - WORST.indexOf(a))[0] ?? 'closed'
  at('breaker').dataset.kind = BREAKERS[breaker]
  put(at('breaker'), `breaker ${breaker}`)
  at('provider').hidden = workers.length === 0
  if (url === paymentUrl) return
  paymentUrl = url
  at('faults').replaceChildren(...IS_HERE && url ? [createFaults(FAULTS, url, 'the provider')] : [])
}

repeat(show)
repeat(showLatest)
