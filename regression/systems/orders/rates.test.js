/**
 * Orders at constant rates, with 1 and 3 replicas: how long they take, and what they cost. Figures, with bounds that a busy machine keeps
 * too: each order that was acknowledged is final, and its payment and stock agree.
 */
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startDatabase } from '../../../test/database.js'
import { newest } from '../../../src/store/embedded/engine.js'
import { scoped } from '../../../test/scope.js'
import { engineName, testEngines } from '../../../test/servers.js'
import { expectConsistent } from '../../../test/systems/orders/checking.js'
import { startOrders } from '../../../test/systems/orders/ordering.js'

const RUNS = scoped([[100, 1], [200, 1], [200, 3], [400, 1]], [[20, 1]])
const SECONDS = scoped(15, 2)
const WARM_UP_S = 3
const TRACKED = 0.1
const GIVE_UP_MS = 10_000
const PRODUCTS = 100
const CUSTOMERS = 100
const UNITS = 10_000_000
const TICKS_PER_S = 100

/** CPU time of a process. @param {number} pid @returns {number} seconds */
function cpuOf (pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_S
}

/** @param {number[]} values @param {number} share */
const quantile = (values, share) => [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(share * values.length))] ?? NaN

/** @param {string} url @param {Agent} agent @param {object} [body] @returns {Promise<{ status: number, reply: any, ms: number }>} */
const ask = (url, agent, body) => new Promise((resolve, reject) => {
  const sinceMs = performance.now()
  const headers = body ? { 'content-type': 'application/json' } : {}
  request(url, { method: body ? 'POST' : 'GET', agent, headers }, (response) => {
    json(response).then((reply) => resolve({ status: Number(response.statusCode), reply, ms: performance.now() - sinceMs }), reject)
  }).once('error', reject).end(body && JSON.stringify(body))
})

const engine = /** @type {import('../../../test/servers.js').Engine} */ (newest(await testEngines()))
const database = await startDatabase(t)

for (const [rate, replicas] of RUNS) {
  t.test(`${engineName(engine)}: ${rate} a second, ${replicas} replicas`, async (t) => {
    const own = `${rate}-${replicas}`
    const { gateway, reader, payments, consumers, startMore, customer, product, stock, deployment } =
      await startOrders(t, { engine, databaseUrl: database.url, gatewayFlags: ['--request-ms', '60000'] })
    const owners = [consumers]
    for (let i = 1; i < replicas; i++) owners.push(await startMore())
    const skus = Array.from({ length: PRODUCTS }, (_, i) => `sku-${own}-${i}`)
    for (const sku of skus) await product(sku, { quantity: UNITS, price: '5' })
    const customers = []
    for (let i = 0; i < CUSTOMERS; i++) customers.push(await customer())
    await payments.fail({ declineRate: 0.05 })
    const agent = new Agent({ keepAlive: true })
    t.teardown(() => agent.destroy())

    /** @type {string[]} */
    const orders = []
    const taken = { http: /** @type {number[]} */ ([]), client: /** @type {number[]} */ ([]), errors: 0, timeOuts: 0 }

    /** @param {number} n @param {boolean} isCounted */
    async function order (n, isCounted) {
      const sku = n % 10 === 0 ? skus[0] : skus[n % PRODUCTS]
      const sinceMs = performance.now()
      const lines = [{ sku, quantity: 1 }, { sku: skus[(n * 7 + 1) % PRODUCTS], quantity: 1 }]
      const body = { customerId: customers[n % CUSTOMERS], lines, address: 'Here 1' }
      const { status, reply, ms } = await ask(`${gateway.url}/v1/orders`, agent, body)
      if (status !== 201) { taken.errors++; return }
      orders.push(reply.orderId)
      if (isCounted) taken.http.push(ms)
      if (!isCounted || Math.random() >= TRACKED) return
      const { reply: ended } = await ask(`${reader.url}/v1/orders/${reply.orderId}?waitMs=${GIVE_UP_MS}`, agent)
      if (ended.status === 'pending') taken.timeOuts++
      else taken.client.push(performance.now() - sinceMs)
    }

    /** @param {number} seconds @param {boolean} isCounted */
    async function load (seconds, isCounted) {
      const startMs = performance.now()
      const all = []
      for (let n = 0; n < rate * seconds; n++) {
        const aheadMs = startMs + n * 1000 / rate - performance.now()
        if (aheadMs > 1) await sleep(aheadMs)
        all.push(order(n, isCounted))
      }
      await Promise.all(all)
    }

    await load(WARM_UP_S, false)
    const first = orders.length
    const processes = [['gateway', gateway.command.pid], ['reader', reader.command.pid], ['primary', deployment.primary.pid],
      ...owners.map(({ command }, i) => [`consumers ${i + 1}`, command.pid])]
    const cpu = () => processes.map(([, pid]) => cpuOf(Number(pid)))
    const [before, sinceMs] = [cpu(), performance.now()]
    await load(SECONDS, true)
    const [after, seconds] = [cpu(), (performance.now() - sinceMs) / 1000]
    const outcomes = await expectConsistent(t, { database, entries: payments.entries, stock },
      { orders, units: Object.fromEntries(skus.slice(0, 5).map((sku) => [sku, UNITS])), deadlineMs: 60_000 })
    const rows = await database.query(
      'SELECT extract(epoch FROM changed_at - placed_at) * 1000 AS ms FROM order_view WHERE aggregate = ANY($1)',
      [orders.slice(first).map((id) => `o:${id}`)])
    const times = rows.map(({ ms }) => Number(ms))
    const shares = processes.map(([name], i) => `${name} ${(100 * (after[i] - before[i]) / seconds).toFixed(0)} %`)
    const perOrder = 1000 * after.reduce((sum, all, i) => sum + all - before[i], 0) / times.length
    const shown = (/** @type {number[]} */ all) => [0.5, 0.95, 0.99].map((share) => quantile(all, share).toFixed(1)).join(' / ')
    t.comment(`${times.length} orders in ${seconds.toFixed(1)} s, ${taken.errors} errors, ${taken.timeOuts} time-outs; ` +
      JSON.stringify(outcomes))
    t.comment(`ms, p50 / p95 / p99: HTTP ${shown(taken.http)}; server ${shown(times)}; client, pushed ${shown(taken.client)}`)
    t.comment(`CPU: ${shares.join(', ')}; ${perOrder.toFixed(2)} ms an order`)
    t.equal(taken.errors, 0)
  })
}
