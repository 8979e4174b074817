/** Orders while owners stand still, servers and the database fail, and clocks differ. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { newest } from '../../../src/embedded/engine.js'
import { endOfMain } from '../../../test/bin/in-process.js'
import { sharedDatabase } from '../../../test/database.js'
import { isProblem } from '../../../test/gateway/requests.js'
import { startProxy } from '../../../test/proxy.js'
import { nightly } from '../../../test/scope.js'
import { connectFor, eventually, startDeployment, testEngines } from '../../../test/servers.js'
import { startGateway } from '../../../test/services.js'
import { sharedDeployment } from '../../../test/shared.js'
import { expectConsistent } from '../../../test/systems/orders/checking.js'
import { orderCommands, PARTITIONS, startOrders } from '../../../test/systems/orders/ordering.js'

const HOUR_MS = 3_600_000
/** several leases of the consumers that stand still */
const STILL_MS = 3000
const ORDERS = nightly(100, 20)
const PLACE_EVERY_MS = 20
const UNITS = 100_000
/** what a busy machine may need; only a failure takes as long */
const FINAL_WITHIN_MS = 120_000
const KEEPS = ['--appendonly', 'yes', '--appendfsync', 'always']

const engine = /** @type {import('../../../test/servers.js').Engine} */ (newest(await testEngines()))
const database = await sharedDatabase(t)
/** @param {any} t @param {Partial<import('../../../test/systems/orders/ordering.js').Options>} [options] on servers of its own */
async function start (t, options = {}) {
  const primary = options.primary ?? (await startDeployment(t, { engine, replicas: 1 })).primary
  // on a busy machine an order or a payment may take long, which is no fault of it
  const patient = { paymentTimeoutMs: 10_000, gatewayFlags: ['--order-deadline-ms', '600000'] }
  return startOrders(t, { databaseUrl: database.url, ...patient, ...options, primary })
}

/** @param {any} t @param {Awaited<ReturnType<typeof start>>} all @param {{ orders: string[], units: Record<string, number> }} wanted */
const isConsistent = (t, { payments, stock }, wanted) =>
  expectConsistent(t, { database, entries: payments.entries, stock }, { ...wanted, deadlineMs: FINAL_WITHIN_MS })

t.test('an owner stands still, and comes back: it changes nothing any more', async (t) => {
  const all = await start(t, { isKilled: true })
  const { first, startMore, payments, product, customer, place } = all
  await startMore()
  await product('still', { quantity: UNITS })
  const ann = await customer()
  // so that it holds payments in mid-step
  await payments.fail({ latencyMs: 50 })
  /** @type {string[]} */
  const orders = []
  const placeMany = () => Promise.all(Array.from({ length: ORDERS }, async () =>
    orders.push((await place(ann, [{ sku: 'still', quantity: 1 }])).json.id)))
  await placeMany()
  first.freeze()
  await placeMany()
  await sleep(STILL_MS)
  await placeMany()
  first.thaw()
  await placeMany()
  t.match(await isConsistent(t, all, { orders, units: { still: UNITS } }), { confirmed: orders.length })
})

t.test('the primary is killed and its replica promoted: what was acknowledged goes on', async (t) => {
  const { primary, replicas: [replica] } = await startDeployment(t, { engine, replicas: 1 })
  const proxy = await startProxy(t, primary.port)
  const all = await start(t, { primary, proxy })
  const { payments, product, customer, placed } = all
  await product('failover', { quantity: UNITS })
  const ann = await customer()
  await payments.fail({ latencyMs: 50 })
  const orders = await Promise.all(Array.from({ length: ORDERS }, () =>
    placed(ann, [{ sku: 'failover', quantity: 1 }])))
  await primary.kill()
  const promoted = await connectFor(t, replica.url)
  await promoted.send('REPLICAOF', 'NO', 'ONE')
  proxy.switchTo(replica.port)
  // the former primary becomes a replica: captures wait for one
  await primary.restart()
  await (await connectFor(t, primary.url)).send('REPLICAOF', '127.0.0.1', String(replica.port))
  await isConsistent(t, all, { orders, units: { failover: UNITS } })
})

t.test('the primary is killed and started again: what was acknowledged goes on', async (t) => {
  const { primary } = await startDeployment(t, { engine, replicas: 1, args: KEEPS })
  const all = await start(t, { primary })
  const { payments, product, customer, placed } = all
  await product('restarted', { quantity: UNITS })
  const ann = await customer()
  await payments.fail({ latencyMs: 50 })
  const orders = await Promise.all(Array.from({ length: ORDERS }, () =>
    placed(ann, [{ sku: 'restarted', quantity: 1 }])))
  await primary.kill()
  await primary.restart()
  await isConsistent(t, all, { orders, units: { restarted: UNITS } })
})

t.test('the database is away: orders go on, their events come later', async (t) => {
  const proxy = await startProxy(t, Number(new URL(database.url).port), { isCounting: false })
  const all = await start(t, { databaseUrl: database.url.replace(/:\d+\//, `:${proxy.port}/`), isKilled: true })
  const { product, customer, order, first, startMore } = all
  await product('away', { quantity: UNITS })
  const ann = await customer()
  const orders = [(await order(ann, [{ sku: 'away', quantity: 1 }])).id]
  proxy.goSilent()
  for (let i = 0; i < 5; i++) {
    const one = await order(ann, [{ sku: 'away', quantity: 1 }])
    t.equal(one.status, 'confirmed')
    orders.push(one.id)
  }
  await first.kill()
  await startMore()
  const next = await order(ann, [{ sku: 'away', quantity: 1 }])
  t.equal(next.status, 'confirmed', 'consumers start without it, too')
  orders.push(next.id)
  proxy.speak()
  await isConsistent(t, all, { orders, units: { away: UNITS } })
})

t.test('the clocks of gateway and consumers are an hour ahead, which changes nothing', async (t) => {
  const all = await start(t, { ...await sharedDeployment(t), clockMs: HOUR_MS })
  const { product, customer, order, reader } = all
  await product('clock', { quantity: UNITS })
  const one = await order(await customer(), [{ sku: 'clock', quantity: 1 }])
  t.equal(one.status, 'confirmed')
  const { placedAt } = (await reader.get(`/v1/orders/${one.id}/timeline`)).json
  t.ok(Math.abs(placedAt - Date.now()) < HOUR_MS / 2, 'times are those of the server')
  await isConsistent(t, all, { orders: [one.id], units: { clock: UNITS } })
})

t.test('with nothing broken', async (t) => {
  const all = await start(t)

  await t.test('100 lines in all partitions, of which the last one is rejected', async (t) => {
    const { product, customer, order } = all
    const skus = Array.from({ length: 100 }, (_, i) => `line-${i}`)
    await Promise.all(skus.map((sku, i) => product(sku, { quantity: i === 99 ? 0 : 5 })))
    const ann = await customer()
    const { id: orderId, status, reason } = await order(ann, skus.map((sku) => ({ sku, quantity: 1 })))
    t.match({ status, reason }, { status: 'cancelled', reason: 'out_of_stock' })
    const units = Object.fromEntries(skus.map((sku, i) => [sku, i === 99 ? 0 : 5]))
    const { id: next, status: then } = await order(ann, skus.slice(0, 99).map((sku) => ({ sku, quantity: 1 })))
    t.equal(then, 'confirmed')
    await isConsistent(t, all, { orders: [orderId, next], units })
  })

  await t.test('a product is deleted during an order: not while units are held', async (t) => {
    const { payments, product, customer, place, post, final } = all
    await product('gone', { quantity: 2 })
    await payments.fail({ latencyMs: 300 })
    const { id: orderId } = (await place(await customer(), [{ sku: 'gone', quantity: 1 }])).json
    await eventually(async () => (await all.stock('gone')).held === 1)
    const remove = () => post('/v1/products/gone', undefined, null, 'DELETE')
    isProblem(t, await remove(), 409, 'PRODUCT_HELD')
    t.match(await final(orderId), { status: 'confirmed' })
    t.match(await remove(), { status: 200 })
  })

  await t.test('the views are rebuilt while orders come in', async (t) => {
    const { product, customer, place } = all
    await product('rebuilt', { quantity: UNITS })
    const ann = await customer()
    /** @type {string[]} */
    const orders = []
    const over = new AbortController()
    const coming = (async () => {
      for (; !over.signal.aborted; await sleep(PLACE_EVERY_MS)) orders.push((await place(ann, [{ sku: 'rebuilt', quantity: 1 }])).json.id)
    })()
    await eventually(() => orders.length > 20)
    const rebuild = async () => JSON.parse((await endOfMain(['orders', 'rebuild', '--database-url', database.url])).stdout)
    for (let i = 0; i < 2; i++) t.match(await rebuild(), { event: 'rebuilt', changed: 0 })
    over.abort()
    await coming
    await isConsistent(t, all, { orders, units: { rebuilt: UNITS } })
    t.match(await rebuild(), { changed: 0 })
  })
})

t.test('all request keys are deleted, and everything is sent again', async (t) => {
  const { primary } = await startDeployment(t, { engine, replicas: 1 })
  const all = await start(t, { primary })
  const { product, customer, place, final } = all
  await product('again', { quantity: UNITS })
  const ann = await customer()
  const send = async (/** @type {ReturnType<typeof orderCommands>} */ at) => Promise.all(Array.from({ length: 10 }, async (_, n) => {
    // a new gateway may not be connected yet
    return eventually(async () => {
      const { status, json } = await at.place(ann, [{ sku: 'again', quantity: 1 }], `again-${n}`)
      if (status !== 201) throw new Error(`${status}: ${JSON.stringify(json)}`)
      return json.id
    })
  }))
  const orders = await send(/** @type {any} */ ({ place }))
  await Promise.all(orders.map(final))
  const connection = await connectFor(t, primary.url)
  for (const key of await connection.send('KEYS', '*:request:*')) await connection.send('DEL', key)
  const other = await startGateway(t, { redisUrl: primary.url, flags: PARTITIONS })
  t.same(await send(orderCommands(other.send)), orders)
  t.match(await isConsistent(t, all, { orders, units: { again: UNITS } }), { confirmed: 10 })
})
