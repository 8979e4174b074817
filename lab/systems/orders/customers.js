/**
 * Customers at a constant rate, whatever the replies do: 60 % order, 25 % reserve units, 15 % are new. Of the orders, some are tracked:
 * one half asks again every 200 ms for at most 10 s, as published, the other half asks once and is answered at the end. Or each places an
 * order of one unit, and none is tracked (`ordersOnly`).
 *
 * @typedef {{ kind: 'order' | 'reservation' | 'customer', isWarmUp: boolean, ms: number, status: number }} Request `ms` from when it was
 *   due; `status` 0: no reply
 * @typedef {{ id: string, isPolled: boolean, ms: number, seenMs: number, polls: number, isFinal: boolean }} Tracked `ms` from when the
 *   order was due; `seenMs` since 1970
 * @typedef {{ requests: Request[], tracked: Tracked[], placed: { id: string, isWarmUp: boolean }[], unknown: string[],
 *   replenished: number }} Heard `unknown`: ids that a reader did not know; `replenished`: units of the scarce product
 */
import { randomUUID } from 'node:crypto'
import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { FreshetError } from '../../errors.js'
import { request } from '../../serving/request.js'
import { atRate, fewAtOnce, numbersTo, untilDue } from '../pace.js'
import { isFinal } from './history.js'
import { isProduct } from './techniques.js'

const ORDERS = 0.6
const RESERVATIONS = 0.25
const TRACKED = 0.1
/** of orders: for the hot product, and for one without units */
const HOT = 0.1
const OUT_OF_STOCK = 0.02
const CUSTOMERS = 100
const PRODUCTS = 100
const UNITS = 1_000_000
const SCARCE_UNITS = 20
const MORE_UNITS = 5
const REPLENISH_EVERY_MS = 1000
const REPLENISHED_WITHIN_MS = 60_000
const PRICE = '5.00'
const HOLD_MS = 1000
const POLL_MS = 200
export const GIVE_UP_MS = 10_000
const AT_ONCE = 20
const EMPTY = 'sku-empty'

const pick = (/** @type {number} */ n) => Math.floor(Math.random() * n)
const skuOf = (/** @type {number} */ n) => `sku-${n}`
export const SCARCE = skuOf(PRODUCTS - 1)
/** of each product @type {Readonly<Record<string, number>>} */
export const STOCK = Object.freeze(Object.fromEntries([[EMPTY, 0],
  ...Array.from({ length: PRODUCTS }, (_, n) => [skuOf(n), skuOf(n) === SCARCE ? SCARCE_UNITS : UNITS])]))

/** Requests over keep-alive connections. */
export function createClient () {
  const agent = new Agent({ keepAlive: true })
  /**
   * @param {string} url @param {object} [body] @param {string} [key] @param {string} [method]
   * @returns {Promise<{ status: number, reply: any }>} 0: none
   */
  async function sendOnce (url, body, key, method = body ? 'POST' : 'GET') {
    const headers = { ...(body ? { 'content-type': 'application/json' } : {}), ...(key ? { 'idempotency-key': key } : {}) }
    const { status, chunks } = await request(url, { method, agent, headers, body: body && JSON.stringify(body) })
    try {
      return { status, reply: JSON.parse(Buffer.concat(chunks).toString()) }
    } catch {
      return { status: 0, reply: null }
    }
  }
  return {
    sendOnce,

    /** The same again until there is a reply, for as long as a customer waits. @type {typeof sendOnce} */
    async sendUntilAnswered (...wanted) {
      const untilMs = performance.now() + GIVE_UP_MS
      for (;;) {
        const answer = await sendOnce(...wanted)
        if ((answer.status !== 0 && answer.status < 500) || performance.now() > untilMs) return answer
        await sleep(POLL_MS)
      }
    },

    close: () => agent.destroy()
  }
}

/**
 * The scarce product; until it is known whether it had an effect.
 * @param {{ technique: string, send: ReturnType<typeof createClient>['sendOnce'], commandUrls: string[], heard: Heard,
 *   signal: AbortSignal }} parts
 */
async function replenish ({ technique, send, commandUrls: [url], heard, signal }) {
  const [key, untilMs] = [randomUUID(), performance.now() + REPLENISHED_WITHIN_MS]
  while (isProduct(technique)) {
    const { status, reply } = await send(`${url}/v1/products/${SCARCE}/restock`, { quantity: MORE_UNITS }, key)
    if (status === 200) heard.replenished += MORE_UNITS
    if (status === 200 || signal.aborted) return
    if (performance.now() > untilMs) throw new FreshetError('LOAD_FAILED', `replenish: ${status} ${JSON.stringify(reply)}`)
  }
}

const newCustomer = () => ({ email: `${randomUUID()}@example.org`, name: 'Ann', address: 'Here 1' })

/**
 * Products and customers, a few at once.
 * @param {ReturnType<typeof createClient>['sendOnce']} send @param {string} url of a gateway @returns {Promise<string[]>} ids of customers
 */
async function createAll (send, url) {
  const create = async (/** @type {string} */ path, /** @type {object} */ body, /** @type {string} */ method = 'POST') => {
    // a process that has just started may not have reached the server
    const { status, reply } = await send(url + path, body, undefined, method)
    if (status !== 201) throw new Error(`${path}: ${status} ${JSON.stringify(reply)}`)
    return reply
  }
  await fewAtOnce(Object.entries(STOCK), AT_ONCE, ([sku, quantity]) =>
    create(`/v1/products/${sku}`, { name: sku, price: PRICE, quantity }, 'PUT'))
  return fewAtOnce(numbersTo(CUSTOMERS), AT_ONCE, async () => (await create('/v1/customers', newCustomer())).id)
}

/**
 * @param {{ technique: string, commandUrls: string[], queryUrls: string[], doubled: number, cancelled?: number, ordersOnly?: boolean,
 *   signal: AbortSignal, client: ReturnType<typeof createClient> }} place `doubled`, `cancelled`: shares of the orders (faults.js)
 */
export function createCustomers ({
  technique, commandUrls, queryUrls, doubled, cancelled = 0, ordersOnly = false, signal, client: { sendOnce, sendUntilAnswered }
}) {
  // the lab's replicas know no request by its key
  const send = isProduct(technique) ? sendUntilAnswered : sendOnce
  /** @type {Heard} */
  const heard = { requests: [], tracked: [], placed: [], unknown: [], replenished: 0 }
  const counts = { sent: 0 }
  /** @type {string[]} */
  const customers = []

  /** @param {number} n of the client */
  function twoLines (n) {
    const sku = Math.random() < OUT_OF_STOCK ? EMPTY : skuOf(Math.random() < HOT ? 0 : pick(PRODUCTS))
    return [{ sku, quantity: 1 + pick(2) }, { sku: skuOf((n * 7 + 1) % PRODUCTS), quantity: 1 }]
  }

  /** @param {number} n of the client, which has one replica @param {number} dueMs */
  async function order (n, dueMs) {
    const lines = ordersOnly ? [{ sku: skuOf(pick(PRODUCTS - 1)), quantity: 1 }] : twoLines(n)
    const url = `${commandUrls[n % commandUrls.length]}/v1/orders`
    const [body, key] = [{ customerId: customers[pick(customers.length)], lines, address: 'Here 1' }, randomUUID()]
    const copy = isProduct(technique) && Math.random() < doubled ? send(url, body, key) : null
    const { status, reply } = await send(url, body, key)
    const ms = performance.now() - dueMs
    if (copy && (await copy).reply?.id !== reply?.id) return { status: 0, ms, id: null }
    return { status, ms, id: status === 201 ? reply.id : null }
  }

  /** @param {number} n @param {string} id @param {number} dueMs */
  async function track (n, id, dueMs) {
    const url = `${queryUrls[n % queryUrls.length]}/v1/orders/${id}`
    // the lab's replicas have no other way
    const isPolled = !isProduct(technique) || Math.random() < 0.5
    for (let polls = 1; ; polls++) {
      if (isPolled) await sleep(POLL_MS, undefined, { signal }).catch(() => {})
      const { status, reply } = await sendOnce(isPolled ? url : `${url}?waitMs=${GIVE_UP_MS}`)
      if (status === 404) heard.unknown.push(id)
      const [ms, isEnd] = [performance.now() - dueMs, isFinal(String(reply?.status))]
      if (status === 0 && !isPolled) await sleep(POLL_MS)
      if (isEnd || ms >= GIVE_UP_MS || signal.aborted) {
        return heard.tracked.push({ id, isPolled, ms, seenMs: Date.now(), polls, isFinal: isEnd })
      }
    }
  }

  /** @param {number} n @param {boolean} isWarmUp @param {number} dueMs */
  async function act (n, isWarmUp, dueMs) {
    const chance = ordersOnly ? 0 : Math.random()
    const url = commandUrls[n % commandUrls.length]
    const note = (/** @type {Request['kind']} */ kind, /** @type {number} */ status, ms = performance.now() - dueMs) =>
      heard.requests.push({ kind, isWarmUp, ms, status })
    counts.sent++
    if (chance < ORDERS) {
      const { status, ms, id } = await order(n, dueMs)
      note('order', status, ms)
      if (id === null) return
      heard.placed.push({ id, isWarmUp })
      if (Math.random() < cancelled) await sendOnce(`${url}/v1/orders/${id}/cancel`, {})
      if (!ordersOnly && !isWarmUp && Math.random() < TRACKED) await track(n, id, dueMs)
    } else if (chance < ORDERS + RESERVATIONS) {
      const [reservationId, product] = [randomUUID(), `${url}/v1/products/${skuOf(pick(PRODUCTS))}`]
      note('reservation', (await send(`${product}/reserve`, { reservationId, quantity: 1, holdMs: HOLD_MS })).status)
      // the others expire, which the lab's replicas have not
      if (!isProduct(technique) || chance < ORDERS + RESERVATIONS / 2) await send(`${product}/release`, { reservationId })
    } else note('customer', (await send(`${url}/v1/customers`, newCustomer(), randomUUID())).status)
  }

  return {
    heard,
    counts,
    /** Creates products and customers, a few at once. */
    async begin () { customers.push(...await createAll(send, commandUrls[0])) },

    /**
     * @param {{ rate: number, seconds: number, isWarmUp: boolean }} load `rate`: 0 = nothing is sent for as long
     * @returns `rest`: the last replies
     */
    async run ({ rate, seconds, isWarmUp }) {
      /** @type {Promise<unknown>[]} */
      const all = []
      const more = setInterval(() => {
        if (ordersOnly) return
        const one = replenish({ technique, send, commandUrls, heard, signal })
        // until `rest` is awaited
        one.catch(() => {})
        all.push(one)
      }, REPLENISH_EVERY_MS)
      const overMs = performance.now() + seconds * 1000
      await atRate({ rate, seconds, signal }, (n, dueMs) => { all.push(act(n, isWarmUp, dueMs)) })
      if (rate === 0) await untilDue(overMs, { signal })
      clearInterval(more)
      return { rest: Promise.all(all) }
    }
  }
}
