/** Sales while consumers, servers and the database fail. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { newest } from '../../../src/embedded/engine.js'
import { sharedDatabase } from '../../../test/database.js'
import { startProxy } from '../../../test/proxy.js'
import { eventually, testEngines } from '../../../test/servers.js'
import { startSaleGateway } from '../../../test/systems/sales/selling.js'
import { claimAlong, isWhole, ownersOf, PARTITIONS, startAll } from './claiming.js'

/** several leases of the consumers that stand still */
const DOWN_MS = 3000
/** so that the owner that stands still has some of them */
const SALES = 4

const database = await sharedDatabase(t, { isMigrated: true })

const engine = /** @type {import('../../../test/servers.js').Engine} */ (newest(await testEngines()))
const own = (/** @type {string} */ name) => `${engine.name}-${name}-${Date.now()}`

t.test('the owner of a partition stands still: another takes over, and nothing is done twice', async (t) => {
  const { server, gateway, reader, consumers, killableConsumers } = await startAll(t, { engine, database })
  const flags = [...PARTITIONS, '--durability', 'db', '--database-url', database.url, '--ack-within-ms', '1000']
  const durable = await startSaleGateway(t, { redisUrl: server.url, flags })
  const first = await killableConsumers()
  await consumers()
  const stock = 1_000_000
  /** @param {string} name @param {any} at @param {object} [terms] */
  const begin = async (name, at, terms) => Promise.all(Array.from({ length: SALES }, async (_, n) => {
    const id = own(`${name}${n}`)
    await eventually(async () => (await at.create(id, { stock, ...terms })).status === 201)
    return { id, claiming: claimAlong(at, id) }
  }))
  // rows; a command after each commit; scheduled tasks
  const [direct, settled] = [await begin('still', gateway), await begin('db', durable)]
  const held = await begin('held', gateway, { holdMs: 300 })
  const all = [...direct, ...settled, ...held]
  await eventually(() => all.every(({ claiming }) => claiming.sold.length > 5))
  first.freeze()
  const before = settled.map(({ claiming }) => claiming.sold.length)
  await sleep(DOWN_MS)
  await eventually(() => settled.every(({ claiming }, i) => claiming.sold.length > before[i] + 5))
  first.thaw()
  await sleep(500)
  await Promise.all(all.map(({ claiming }) => claiming.stop()))
  for (const { id, claiming } of [...direct, ...settled]) {
    await isWhole(t, database, id, claiming.sold)
    const { sold, held: pending, available } = await eventually(async () => {
      const { json } = await reader.ask(`/v1/sales/${id}`)
      return json.held === 0 && json
    })
    t.same([sold, pending, available], [claiming.sold.length, 0, stock - claiming.sold.length])
  }
  for (const { id, claiming } of held) {
    const sale = await eventually(async () => {
      const { json } = await reader.ask(`/v1/sales/${id}`)
      return json.available === stock && json
    })
    t.equal(sale.seq, 2 * claiming.sold.length, 'each hold has expired, once')
  }
})

t.test('the database is away: sales go on, and their orders come later', async (t) => {
  const proxy = await startProxy(t, Number(new URL(database.url).port), { isCounting: false })
  const { gateway, consumers } = await startAll(t, { engine, database, url: database.url.replace(/:\d+\//, `:${proxy.port}/`) })
  const id = own('away')
  await gateway.create(id, { stock: 1_000_000 })
  await consumers()
  const claiming = claimAlong(gateway, id)
  await eventually(async () => (await ownersOf(database, id)).length > 10)
  proxy.goSilent()
  const before = claiming.sold.length
  await sleep(DOWN_MS)
  t.ok(claiming.sold.length > before, `${claiming.sold.length - before} sold meanwhile`)
  proxy.speak()
  await claiming.stop()
  await isWhole(t, database, id, claiming.sold)
})

t.test('the server restarts in mid-sale: exactly the stock is sold', async (t) => {
  const { server, gateway, reader, consumers } = await startAll(t, { engine, database })
  const id = own('restart')
  await gateway.create(id, { stock: 100 })
  await consumers()
  const buyers = Array.from({ length: 150 }, async (_, n) => {
    for (;;) {
      const { status, json } = await gateway.claim(id, `u${n}`, { key: `k${n}` }).catch(() => ({ status: 0, json: null }))
      if (status === 201 || json?.code === 'SALE_SOLD_OUT') return { user: `u${n}`, isSold: status === 201 }
      await sleep(20 + Math.random() * 200)
    }
  })
  await eventually(async () => (await reader.ask(`/v1/sales/${id}`)).json.sold > 10)
  await server.kill()
  await server.restart()
  const outcomes = await Promise.all(buyers)
  const sold = outcomes.filter(({ isSold }) => isSold).map(({ user }) => user)
  t.equal(sold.length, 100)
  await isWhole(t, database, id, sold)
})
