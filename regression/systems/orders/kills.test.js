/** Everything is killed again and again while orders come in: no order is lost, stuck, or paid twice. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { runCommand, startConsumers, startGateway, startReader } from '../../../test/commands.js'
import { startDatabase } from '../../../test/database.js'
import { isWhole, scoped, scopedEngines } from '../../../test/scope.js'
import { engineName, eventually, startDeployment } from '../../../test/servers.js'
import { expectConsistent } from '../../../test/systems/orders/checking.js'
import { orderCommands, PARTITIONS, SECRET, startPayments } from '../../../test/systems/orders/ordering.js'

const KILLS = scoped(20, 2)
const EVERY_MS = scoped(1500, 1000)
const PER_SECOND = scoped(60, 20)
const PRODUCTS = 10
const UNITS = 1_000_000
const FEW = 20
const SETTLE_MS = 120_000

for (const engine of (await scopedEngines()).slice(0, 1)) {
  t.test(`${engineName(engine)}: ${KILLS} kills`, async (t) => {
    const database = await startDatabase(t)
    const { primary } = await startDeployment(t, { engine, replicas: 1 })
    const redisUrl = primary.url
    const flags = ['--database-url', database.url]
    let payments = await startPayments(t)
    const { url: paymentUrl, ledger } = payments
    const port = new URL(paymentUrl).port
    const consume = () => startConsumers(t, {
      redisUrl, flags: [...PARTITIONS, ...flags, '--systems', 'orders', '--payment-url', paymentUrl, '--payment-timeout-ms', '500']
    })
    const take = () => startGateway(t, { redisUrl, flags: [...PARTITIONS, '--payment-secret', SECRET, '--order-deadline-ms', '5000'] })
    const consumers = [await consume(), await consume()]
    let gateway = await take()
    const reader = await startReader(t, { redisUrl, flags })
    const send = (/** @type {[string, string, string?, Record<string, string>?]} */ ...request) => gateway.send(...request)
    const { product, customer, post, place } = orderCommands(send)
    const units = /** @type {Record<string, number>} */ ({})
    for (let i = 0; i < PRODUCTS; i++) {
      units[`sku-${i}`] = i === 0 ? FEW : UNITS
      await product(`sku-${i}`, { quantity: units[`sku-${i}`], price: '3.50' })
    }
    const ann = await customer()
    await payments.fail({ declineRate: 0.05, silentRate: 0.02, errorRate: 0.02 })

    /** @type {string[]} */
    const orders = []
    const over = new AbortController()
    /** Each customer repeats an order with its key until it is acknowledged, and one in 50 twice. @param {number} n */
    async function order (n) {
      const lines = [{ sku: `sku-${n % PRODUCTS}`, quantity: 1 + n % 2 }, { sku: `sku-${(n * 7) % PRODUCTS}`, quantity: 1 }]
      const once = () => eventually(async () => {
        const { status, json } = await place(ann, lines, `order-${n}`)
        if (status !== 201) throw new Error(`${status}: ${JSON.stringify(json)}`)
        return json.orderId
      })
      const ids = await Promise.all(n % 50 === 0 ? [once(), once()] : [once()])
      orders.push(ids[0])
      if (n % 30 === 0) await post(`/v1/orders/${ids[0]}/cancel`, {}).catch(() => {})
    }
    const coming = (async () => {
      /** @type {Promise<void>[]} */
      const all = []
      for (let n = 0; !over.signal.aborted; n++) {
        all.push(order(n))
        await sleep(1000 / PER_SECOND)
      }
      await Promise.all(all)
    })()

    for (let kill = 0; kill < KILLS; kill++) {
      await sleep(EVERY_MS)
      const what = ['consumers', 'gateway', 'payments', 'consumers', ...(isWhole ? ['database'] : [])][kill % (isWhole ? 5 : 4)]
      if (what === 'consumers') {
        await consumers[kill % 2].command.kill('SIGKILL')
        consumers[kill % 2] = await consume()
      } else if (what === 'gateway') {
        await gateway.command.kill('SIGKILL')
        gateway = await take()
      } else if (what === 'payments') {
        await payments.command.kill('SIGKILL')
        payments = await startPayments(t, { ledger, port })
        await payments.fail({ declineRate: 0.05, silentRate: 0.02 })
      } else await database.crash()
    }
    over.abort()
    await coming
    await payments.fail({})
    const outcomes = await expectConsistent(t, {
      database,
      entries: () => payments.entries(),
      stock: async (sku) => (await reader.get(`/v1/products/${sku}`)).json
    }, { orders: [...new Set(orders)], units, deadlineMs: SETTLE_MS })
    t.comment({ orders: orders.length, ...outcomes })
    const rebuilt = await runCommand(t, ['orders', 'rebuild', '--database-url', database.url]).ended()
    t.match(JSON.parse(rebuilt.stdout), { changed: 0 }, 'views are the fold of the events')
  })
}
