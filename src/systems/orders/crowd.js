/**
 * Customers who place orders, reserve units and cancel, at a steady rate: an ordinary client of gateway and reader. One product is wanted
 * by every tenth, and some are out of stock until they are replenished.
 */
import { randomUUID } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { Agent, request } from 'node:http'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { personOf, productOf, userOf } from '../crowd-names.js'

const CUSTOMERS = 100
const PRODUCTS = 100
const UNITS = 200
const MORE_UNITS = 50
const PER_SECOND = 40
const TICK_MS = 50
/** of what customers do: the rest reserves and releases */
const ORDERS = 0.75
const CANCELS = 0.03
const HOT = 0.1
const REPLENISH_EVERY_MS = 20_000
const REPORT_EVERY_MS = 30_000
const RETRY_MS = 1000
const CONNECTIONS = 64

const pick = (/** @type {number} */ n) => Math.floor(Math.random() * n)
const skuOf = (/** @type {number} */ i) => productOf(i).sku

/**
 * @param {{ gatewayUrl: string, isActive: boolean, signal: AbortSignal, print: (line: string) => void }} options
 */
export async function runCrowd ({ gatewayUrl, isActive, signal, print }) {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  signal.addEventListener('abort', () => agent.destroy())
  // one of each request in flight
  setMaxListeners(0, signal)
  const counts = { orders: 0, failed: 0 }

  /** @param {string} path @param {object} body @param {string} [key] @returns {Promise<{ status: number, reply: any }>} */
  const post = (path, body, key) => new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', ...(key ? { 'idempotency-key': key } : {}) }
    request(gatewayUrl + path, { method: 'POST', agent, headers, signal }, (response) => {
      json(response).then((reply) => resolve({ status: Number(response.statusCode), reply }), reject)
    }).once('error', reject).end(JSON.stringify(body))
  })

  /** Repeats until the gateway accepts it. @param {string} path @param {object} body @returns {Promise<any>} */
  async function create (path, body) {
    const key = randomUUID()
    while (!signal.aborted) {
      const { status, reply } = await post(path, body, key).catch(() => ({ status: 503, reply: null }))
      if (status < 500) return reply
      await sleep(RETRY_MS, undefined, { signal }).catch(() => {})
    }
  }

  /** @param {string[]} customers */
  async function act (customers) {
    const sku = Math.random() < HOT ? skuOf(0) : skuOf(pick(PRODUCTS))
    if (Math.random() >= ORDERS) {
      const reservationId = randomUUID()
      await post(`/v1/products/${sku}/reserve`, { reservationId, quantity: 1, holdMs: 5000 })
      if (Math.random() < 0.5) await post(`/v1/products/${sku}/release`, { reservationId })
      return
    }
    const lines = [{ sku, quantity: 1 + pick(3) }, { sku: skuOf(pick(PRODUCTS)), quantity: 1 }]
    const body = { customerId: customers[pick(customers.length)], lines, address: 'Riverside 1' }
    const { status, reply } = await post('/v1/orders', body, randomUUID())
    counts[status === 201 ? 'orders' : 'failed']++
    if (status === 201 && Math.random() < CANCELS) await post(`/v1/orders/${reply.orderId}/cancel`, {})
  }

  async function replenish () {
    while (!signal.aborted) {
      await sleep(REPLENISH_EVERY_MS, undefined, { signal }).catch(() => {})
      for (let i = 0; i < PRODUCTS && !signal.aborted; i++) {
        await post(`/v1/products/${skuOf(i)}/replenish`, { quantity: MORE_UNITS }).catch(() => {})
      }
    }
  }

  async function report () {
    while (!signal.aborted) {
      await sleep(REPORT_EVERY_MS, undefined, { signal }).catch(() => {})
      const { orders, failed } = counts
      Object.assign(counts, { orders: 0, failed: 0 })
      if (!signal.aborted) print(`${orders} orders placed in ${REPORT_EVERY_MS / 1000} s${failed > 0 ? `, ${failed} failed` : ''}`)
    }
  }

  for (let i = 0; i < PRODUCTS; i++) {
    await create('/v1/products', { ...productOf(i), price: `${5 + i}.90`, quantity: UNITS })
  }
  const created = await Promise.all(Array.from({ length: CUSTOMERS }, (_, i) =>
    create('/v1/customers', { email: `${userOf(i)}+${randomUUID()}@example.org`, name: personOf(i), address: `Riverside ${i + 1}` })))
  if (signal.aborted) return
  print(`${PRODUCTS} products, ${CUSTOMERS} customers, ${isActive ? `${PER_SECOND} actions/s` : 'no crowd'}`)
  if (!isActive) return
  replenish()
  report()
  const customers = created.map(({ customerId }) => customerId)
  let due = 0
  while (!signal.aborted) {
    for (due += PER_SECOND * TICK_MS / 1000; due >= 1; due--) act(customers).catch(() => { counts.failed++ })
    await sleep(TICK_MS, undefined, { signal }).catch(() => {})
  }
}
