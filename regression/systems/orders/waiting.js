/** Orders that wait for something else than consumers. */
import { startOrders } from '../../../test/systems/orders/ordering.js'

export const BOUND = ['--max-wait-ms', '20000']
export const LONGER_MS = 30_000
export const MINUTE_MS = 60_000
const EVERY_MS = 1000
const LINES = [{ sku: 'lamp', quantity: 1 }]

/**
 * Repeats a command until it is stopped.
 * @param {() => Promise<any>} command @returns {() => Promise<any[]>} stops; all replies
 */
export function repeat (command) {
  const replies = /** @type {Promise<any>[]} */ ([])
  const timer = setInterval(() => { replies.push(command()) }, EVERY_MS)
  return () => {
    clearInterval(timer)
    return Promise.all(replies)
  }
}

/** @param {any[]} replies */
export const refusals = (replies) => replies.filter(({ json }) => json?.code === 'ADMISSION_BACKLOG')

/**
 * Orders while something is away, and what comes of them.
 * @param {import('tap').Test} t @param {{ primary: any, keyPrefix: string, database: { url: string } }} where @param {string} name
 * @param {Partial<import('../../../test/systems/orders/ordering.js').Options>} [options]
 */
export async function ordering (t, { primary, keyPrefix, database }, name, options = {}) {
  const orders = await startOrders(t, {
    primary,
    keyPrefix: `${keyPrefix}${name}:`,
    databaseUrl: database.url,
    gatewayFlags: [...BOUND, '--order-deadline-ms', '600000'],
    paymentTimeoutMs: 10_000,
    ...options
  })
  await orders.product('lamp', { quantity: 1_000_000 })
  const ann = await orders.customer()
  await orders.order(ann, LINES)
  const place = () => orders.place(ann, LINES)
  return {
    ...orders,
    place,
    /** @param {(() => Promise<any[]>)} stop */
    async expectNoneRefused (stop) {
      const replies = await stop()
      t.same(refusals(replies), [], `${name}: ${replies.length} orders`)
      const placed = replies.filter(({ status }) => status === 201)
      t.ok(placed.length > 0)
      for (const { json } of placed) await orders.final(json.id)
      t.match(await place(), { status: 201 })
    }
  }
}
