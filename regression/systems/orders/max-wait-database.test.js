/** What is no backlog: a database that is away for a minute, and a minute of silence. By night. */
import t from 'tap'
import { setTimeout as sleep } from 'node:timers/promises'
import { sharedDatabase } from '../../../test/database.js'
import { startProxy } from '../../../test/proxy.js'
import { nightTest } from '../../../test/scope.js'
import { eventually } from '../../../test/servers.js'
import { startConsumers } from '../../../test/services.js'
import { sharedDeployment } from '../../../test/shared.js'
import { PARTITIONS } from '../../../test/systems/orders/ordering.js'
import { startSaleGateway } from '../../../test/systems/sales/selling.js'
import { BOUND, LONGER_MS, MINUTE_MS, ordering, refusals, repeat } from './waiting.js'

const database = await sharedDatabase(t)
const where = { ...await sharedDeployment(t), database }
const { primary, keyPrefix } = where

/** Through which the database is reached, and can be away. @param {import('tap').Test} t */
async function awayDatabase (t) {
  const proxy = await startProxy(t, Number(new URL(database.url).port), { isCounting: false })
  return { proxy, url: database.url.replace(/:\d+\//, `:${proxy.port}/`) }
}

/** @type {Record<string, (t: import('tap').Test) => Promise<void>>} */
const SCENARIOS = {
  async 'the database is away for a minute' (t) {
    const { proxy, url } = await awayDatabase(t)
    const orders = await ordering(t, where, 'away', { databaseUrl: url })
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
    const orders = await ordering(t, where, 'silent')
    await sleep(MINUTE_MS)
    const stop = repeat(orders.place)
    await sleep(LONGER_MS / 2)
    await orders.expectNoneRefused(stop)
  }
}

t.setTimeout(300_000)
t.jobs = Object.keys(SCENARIOS).length
for (const [name, run] of Object.entries(SCENARIOS)) nightTest(`no order is refused while ${name}`, { buffered: true }, run)
