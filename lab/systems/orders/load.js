/**
 * One measurement of orders: processes, warm-up, window, and the check of what was stored.
 *
 *     processes start -> products, customers -> warm-up | window: customers, kills | -> tracked orders end -> orders, ledger, stock
 */
import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { openWindow, requestSummary } from '../window.js'
import { createClient, createCustomers, SCARCE, STOCK } from './customers.js'
import { FAULTS, startFaults } from './faults.js'
import { figuresOf } from './figures.js'
import { ORDER_DEADLINE_MS, startFleet } from './fleet.js'
import { checkOrders, historyText, isFinal } from './history.js'
import { isChecked, isOfSql, isProduct } from './techniques.js'

const FEW = 'few'
/** without faults on purpose */
const WITHOUT_FAULTS = ['none', FEW]
/** of what is measured at rest, requests/s, and how long it then rests before its window */
const WARM_UP_RATE = 50
const RESTS_FOR_MS = 2000
const SETTLED_WITHIN_MS = 60_000
/** of an order under faults: its deadline, the lease of an owner, and 2 s */
export const BOUND_MS = ORDER_DEADLINE_MS + 3000 + 2000
const LOOK_EVERY_MS = 200
/** of the time that the orders take to be read */
const LOOK_SHARE = 4

/**
 * @param {import('../plan.js').Contention} load
 * @param {Omit<import('../load-process.js').How, 'settings'> & { killEveryMs?: number, boundMs?: number | null,
 *   killPrimary?: () => Promise<void>,
 *   onWindow?: (fleet: import('./fleet.js').Fleet) => () => void }} how `rate`: requests/s; `boundMs`: of an order (history.js),
 *   without it BOUND_MS under faults, otherwise none: how late orders are on a busy machine is measured; `killPrimary`: another one is
 *   there when it resolves; `onWindow`: what looks on returns its end, which may be called twice
 */
export async function runOrders (load, how) {
  const { technique, replicas = 1, faults = FEW, everywhere = false, autoscaled = false, ordersOnly } = load
  const {
    redisUrl, keyPrefix, rate, warmUpSeconds, seconds, signal: ended, onMeasuring, onMeasured, killEveryMs,
    boundMs = WITHOUT_FAULTS.includes(faults) ? null : BOUND_MS, killPrimary, onWindow = () => () => {}
  } = how
  const fault = FAULTS[faults]
  const over = new AbortController()
  const signal = AbortSignal.any([ended, over.signal])
  // of all customers who wait
  setMaxListeners(0, signal)
  const fleet = await startFleet({ technique, replicas, everywhere, autoscaled, redisUrl, keyPrefix })
  const client = createClient()
  let looksOn = () => {}
  try {
    const customers = createCustomers({ technique, ...fleet, ...fault, ordersOnly, client, signal })
    await customers.begin()
    await fleet.fail(fault.provider)
    const warm = await customers.run({ rate: rate || WARM_UP_RATE, seconds: warmUpSeconds, isWarmUp: true })
    if (rate === 0) await warm.rest.then(() => sleep(RESTS_FOR_MS, undefined, { signal }))
    await onMeasuring()
    const [before, sentBefore, window] = [await fleet.usage(), customers.counts.sent, openWindow()]
    looksOn = onWindow(fleet)
    const kill = async (/** @type {import('./faults.js').Killed} */ what) => what === 'primary' ? killPrimary?.() : fleet.kill(what)
    const endFaults = startFaults({ fault, fail: fleet.fail, kill, killEveryMs, signal })
    const { rest } = await Promise.race([fleet.ended, customers.run({ rate, seconds, isWarmUp: false })])
    const kills = await endFaults()
    looksOn()
    const use = window()
    const after = await fleet.usage()
    await onMeasured()
    await Promise.all([warm.rest, rest])
    const placed = customers.heard.placed.map(({ id }) => id)
    const orders = await settled(fleet, placed)
    const history = {
      technique,
      placed,
      unknown: customers.heard.unknown,
      orders,
      events: await fleet.events(),
      payments: await fleet.payments(),
      boundMs,
      outages: fleet.outages,
      ...(isProduct(technique) ? await storedOf(fleet, client.sendOnce, customers.heard.replenished) : { stock: [], dead: [] })
    }
    return {
      ...figuresOf({
        heard: customers.heard,
        orders,
        events: history.events,
        killed: fleet.killed,
        seconds: use.seconds,
        planned: rate * seconds,
        sent: customers.counts.sent - sentBefore,
        kills: isProduct(technique) ? kills : 0,
        isLimited: fleet.isLimited,
        hasServers: !isOfSql(technique),
        usage: { before, after }
      }),
      ...use,
      history,
      // orders of others are counted only
      invariants: isChecked(technique) ? checkOrders(history) : []
    }
  } finally {
    over.abort()
    looksOn()
    client.close()
    await fleet.close()
  }
}

/** @param {import('./fleet.js').Fleet} fleet @param {string[]} placed */
async function settled (fleet, placed) {
  const untilMs = performance.now() + SETTLED_WITHIN_MS
  for (;;) {
    const beganMs = performance.now()
    const orders = await fleet.orders()
    const final = new Set(orders.flatMap(({ id, status }) => isFinal(status) ? [id] : []))
    if (beganMs > untilMs || placed.every((id) => final.has(id))) return orders
    await sleep(Math.max(LOOK_EVERY_MS, LOOK_SHARE * (performance.now() - beganMs)))
  }
}

/**
 * @param {import('./fleet.js').Fleet} fleet @param {ReturnType<typeof createClient>['sendOnce']} send @param {number} replenished
 * @returns {Promise<Pick<import('./history.js').History, 'stock' | 'dead'>>}
 */
async function storedOf ({ queryUrls: [readerUrl], commandUrls: [gatewayUrl] }, send, replenished) {
  const stockOf = async (/** @type {string} */ sku) => (await send(`${readerUrl}/v1/products/${sku}`)).reply
  const stock = []
  for (const [sku, atStart] of Object.entries(STOCK)) {
    const units = atStart + (sku === SCARCE ? replenished : 0)
    let one = await stockOf(sku)
    // reservations expire
    for (let n = 0; one.held > 0 && n < 5000 / LOOK_EVERY_MS; n++) {
      await sleep(LOOK_EVERY_MS)
      one = await stockOf(sku)
    }
    stock.push({ sku, units, available: one.available, held: one.held, sold: one.sold })
  }
  const { reply: { items } } = await send(`${gatewayUrl}/v1/systems/orders/dead-letters?limit=1000`)
  return { stock, dead: items.map((/** @type {any} */ { key }) => key) }
}

/** @type {import('../load-process.js').System} */
export const SYSTEM = Object.freeze({
  run: runOrders,
  historyText,
  summaryOf ({ history: _, ...result }) {
    const { cpuMicros: _cpu, loopUse: _use, invariants: _all, ...orders } = result
    const { answered, sent, errors, httpMs } = orders
    const cpuSeconds = Object.values(orders.cpuSeconds).flat().reduce((sum, one) => sum + one, 0)
    return { orders, ...requestSummary(result, { answered, sent, failed: errors, latencyMs: httpMs, calls: sent, cpuSeconds }) }
  }
})
