/**
 * Customers who place orders, reserve units and cancel, at a steady rate. One product is wanted by every tenth, and some are out of stock
 * until there are more.
 */
import { randomUUID } from 'node:crypto'
import { createCrowdClient } from 'freshet-feed/systems'

const CUSTOMERS = 100
const PRODUCTS = 100
const UNITS = 200
const MORE_UNITS = 50
const PER_SECOND = 40
/** Each product in turn. */
const RESTOCKS_PER_SECOND = 5
/** Share of actions that place an order; the others reserve and release. */
const ORDERS = 0.75
const CANCELS = 0.03
const HOT = 0.1

const pick = (/** @type {number} */ n) => Math.floor(Math.random() * n)

/**
 * @param {Parameters<typeof createCrowdClient>[0] & { isActive: boolean, print: (line: string) => void }} options
 */
export async function runCrowd ({ isActive, print, ...target }) {
  const { send, repeat, personOf, productOf, userOf } = createCrowdClient(target)
  const skuOf = (/** @type {number} */ i) => productOf(i).sku
  const create = async (/** @type {string} */ method, /** @type {string} */ path, /** @type {object} */ body) =>
    (await send(method, path, { body, tries: Infinity })).reply

  /** @param {string[]} customers */
  async function act (customers) {
    const sku = Math.random() < HOT ? skuOf(0) : skuOf(pick(PRODUCTS))
    if (Math.random() >= ORDERS) {
      const reservationId = randomUUID()
      await send('POST', `/v1/products/${sku}/reserve`, { body: { reservationId, quantity: 1, holdMs: 5000 } })
      if (Math.random() < 0.5) await send('POST', `/v1/products/${sku}/release`, { body: { reservationId } })
      return
    }
    const lines = [{ sku, quantity: 1 + pick(3) }, { sku: skuOf(pick(PRODUCTS)), quantity: 1 }]
    const body = { customerId: customers[pick(customers.length)], lines, address: 'Riverside 1' }
    const { status, reply } = await send('POST', '/v1/orders', { body })
    if (status === 201 && Math.random() < CANCELS) await send('POST', `/v1/orders/${reply.id}/cancel`)
  }

  let restocked = 0
  const restock = () => send('POST', `/v1/products/${skuOf(restocked++ % PRODUCTS)}/restock`, { body: { quantity: MORE_UNITS } })

  /** @type {string[]} */
  const customers = []
  try {
    for (let i = 0; i < PRODUCTS; i++) {
      const { sku, name } = productOf(i)
      await create('PUT', `/v1/products/${sku}`, { name, price: `${5 + i}.90`, quantity: UNITS })
    }
    const created = await Promise.all(Array.from({ length: CUSTOMERS }, (_, i) => create('POST', '/v1/customers',
      { email: `${userOf(i)}+${randomUUID()}@example.org`, name: personOf(i), address: `Riverside ${i + 1}` })))
    customers.push(...created.map(({ id }) => id))
  } catch {
    // the demo ends
    return
  }
  print(`${PRODUCTS} products, ${CUSTOMERS} customers, ${isActive ? `${PER_SECOND} actions/s` : 'no crowd'}`)
  if (!isActive) return
  await Promise.all([repeat(PER_SECOND, () => act(customers)), repeat(RESTOCKS_PER_SECOND, restock)])
}
