/**
 * What is no backlog: a database or a provider that is away for longer than --max-wait-ms, a minute of silence, and consumers that are
 * restarted. All at the same time, each with a system of its own.
 */
import t from 'tap'
import { setTimeout as sleep } from 'node:timers/promises'
import { sharedDatabase } from '../../../test/database.js'
import { startProxy } from '../../../test/proxy.js'
import { eventually } from '../../../test/servers.js'
import { startConsumers } from '../../../test/services.js'
import { sharedDeployment } from '../../../test/shared.js'
import { PARTITIONS, startOrders } from '../../../test/systems/orders/ordering.js'
import { startSaleGateway } from '../../../test/systems/sales/selling.js'

const BOUND = ['--max-wait-ms', '20000']
const LONGER_MS = 30_000
const MINUTE_MS = 60_000
const EVERY_MS = 500
const LINES = [{ sku: 'lamp', quantity: 1 }]

const database = await sharedDatabase(t)
const { primary, keyPrefix } = await sharedDeployment(t)

/**
 * Repeats a command until it is stopped.
 * @param {() => Promise<any>} command @returns {() => Promise<any[]>} stops; all replies
 */
function repeat (command) {
  const replies = /** @type {Promise<any>[]} */ ([])
  const timer = setInterval(() => { replies.push(command()) }, EVERY_MS)
  return () => {
    clearInterval(timer)
    return Promise.all(replies)
  }
}

/** @param {any[]} replies */
const refusals = (replies) => replies.filter(({ json }) => json?.code === 'ADMISSION_BACKLOG')

/** Orders while something is away, and what comes of them. @param {import('tap').Test} t @param {string} name @param {any} [options] */
async function ordering (t, name, options = {}) {
  const orders = await startOrders(t, {
    primary,
    keyPrefix: `${keyPrefix}${name}:`,
    databaseUrl: database.url,
    gatewayFlags: [...BOUND, '--order-deadline-ms', '600000'],
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

/** Through which the database is reached, and can be away. @param {import('tap').Test} t */
async function awayDatabase (t) {
  const proxy = await startProxy(t, Number(new URL(database.url).port), { isCounting: false })
  return { proxy, url: database.url.replace(/:\d+\//, `:${proxy.port}/`) }
}

/** @type {Record<string, (t: import('tap').Test) => Promise<void>>} */
const SCENARIOS = {
  async 'the database is away for a minute' (t) {
    const { proxy, url } = await awayDatabase(t)
    const orders = await ordering(t, 'away', { databaseUrl: url })
    proxy.goSilent()
    const stop = repeat(orders.place)
    await sleep(MINUTE_MS)
    proxy.speak()
    await sleep(LONGER_MS / 2)
    await orders.expectNoneRefused(stop)
  },

  async 'the database of claims that need rows is away for a minute' (t) {
    const { proxy, url } = await awayDatabase(t)
    const where = { redisUrl: primary.url, keyPrefix: `${keyPrefix}claims:` }
    const flags = [...PARTITIONS, '--database-url', url, '--durability', 'db', '--ack-within-ms', '1000']
    const [gateway] = await Promise.all([
      startSaleGateway(t, { ...where, flags: [...flags, ...BOUND] }),
      startConsumers(t, { ...where, flags: [...flags, '--systems', 'sales'] })
    ])
    let n = 0
    const claim = () => gateway.claim('hats', `u${n++}`)
    await eventually(async () => (await gateway.create('hats', { stock: 1_000_000 })).status < 300)
    await eventually(async () => (await claim()).status === 201)
    proxy.goSilent()
    const stop = repeat(claim)
    await sleep(MINUTE_MS)
    proxy.speak()
    await eventually(async () => (await claim()).status === 201)
    t.same(refusals(await stop()), [])
  },

  async 'nothing happens for a minute' (t) {
    const orders = await ordering(t, 'silent')
    await sleep(MINUTE_MS)
    const stop = repeat(orders.place)
    await sleep(LONGER_MS / 2)
    await orders.expectNoneRefused(stop)
  },

  async 'consumers are restarted, and are away for longer than orders may wait' (t) {
    const orders = await ordering(t, 'restarted', { isKilled: true })
    const stop = repeat(orders.place)
    await orders.first.kill()
    await sleep(LONGER_MS)
    await orders.startKillable()
    await sleep(LONGER_MS / 2)
    await orders.expectNoneRefused(stop)
  },

  async 'the payment provider is down' (t) {
    const orders = await ordering(t, 'unpaid')
    await orders.payments.fail({ isDown: true })
    const stop = repeat(orders.place)
    await sleep(LONGER_MS)
    await orders.payments.fail({})
    await sleep(LONGER_MS / 2)
    await orders.expectNoneRefused(stop)
  }
}

t.setTimeout(300_000)
t.jobs = Object.keys(SCENARIOS).length
for (const [name, run] of Object.entries(SCENARIOS)) t.test(`no order is refused while ${name}`, { buffered: true }, run)
