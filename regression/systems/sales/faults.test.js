/** Sales while consumers, servers and the database fail. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startConsumers, startReader } from '../../../test/commands.js'
import { startMigratedDatabase } from '../../../test/database.js'
import { startProxy } from '../../../test/proxy.js'
import { scoped, scopedEngines } from '../../../test/scope.js'
import { engineName, eventually, startServer } from '../../../test/servers.js'
import { startSaleGateway } from '../../../test/systems/sales/selling.js'

// so many that each of two processes owns some
const PARTITIONS = ['--system-partitions', '16']
const LEASE_MS = 3000
// 50 over both engines
const KILLS = scoped(25, 2)
const DOWN_MS = scoped(10_000, 2000)
const KEEPS = ['--appendonly', 'yes', '--appendfsync', 'always']

const database = await startMigratedDatabase(t)

/** @param {import('tap').Test} t @param {{ engine: import('../../../test/servers.js').Engine, databaseUrl?: string }} options */
async function startAll (t, { engine, databaseUrl = database.url }) {
  const server = await startServer(t, { engine, args: KEEPS })
  const [gateway, reader] = await Promise.all([
    startSaleGateway(t, { redisUrl: server.url, flags: PARTITIONS }),
    startReader(t, { redisUrl: server.url, flags: ['--read-from', 'primary', '--database-url', database.url] })
  ])
  const consumers = () =>
    startConsumers(t, { redisUrl: server.url, flags: [...PARTITIONS, '--systems', 'sales', '--database-url', databaseUrl] })
  return { server, gateway, reader, consumers }
}

/** Claims one after another, each until its outcome is known. @param {any} gateway @param {string} id */
function claimAlong (gateway, id) {
  const sold = /** @type {string[]} */ ([])
  const stop = new AbortController()
  const run = async () => {
    for (let n = 0; !stop.signal.aborted; n++) {
      for (let status = 0; status !== 201 && !stop.signal.aborted;) {
        ({ status } = await gateway.claim(id, `u${n}`, { key: `k${n}` }).catch(() => ({ status: 0 })))
        if (status === 201) sold.push(`u${n}`)
        else await sleep(20)
      }
      await sleep(2)
    }
  }
  const running = run()
  return {
    sold,
    async stop () {
      stop.abort()
      await running
    }
  }
}

/** @param {string} id */
const ownersOf = async (id) =>
  (await database.query('SELECT user_id FROM orders WHERE sale = $1 ORDER BY seq', [id])).map((row) => row.user_id)

/** Everybody who was told so has a row, once, and nobody else. @param {import('tap').Test} t @param {string} id @param {string[]} sold */
async function isWhole (t, id, sold) {
  await eventually(async () => (await ownersOf(id)).length >= sold.length)
  t.same((await ownersOf(id)).toSorted(), sold.toSorted(), `${sold.length} orders`)
}

for (const engine of await scopedEngines()) {
  const own = (/** @type {string} */ name) => `${engine.name}-${name}-${Date.now()}`

  t.test(`${engineName(engine)}: consumers are killed again and again: each order is there once`, async (t) => {
    const { gateway, consumers } = await startAll(t, { engine })
    const id = own('killed')
    await gateway.create(id, { stock: 1_000_000 })
    let running = await Promise.all([consumers(), consumers()])
    const claiming = claimAlong(gateway, id)
    const pauses = []
    for (let n = 0; n < KILLS; n++) {
      await sleep(200 + Math.random() * 300)
      await Promise.all(running.map(({ command }) => command.kill()))
      const killedMs = performance.now()
      const before = (await ownersOf(id)).length
      running = await Promise.all([consumers(), consumers()])
      await eventually(async () => (await ownersOf(id)).length > before)
      pauses.push(performance.now() - killedMs)
    }
    await claiming.stop()
    await isWhole(t, id, claiming.sold)
    t.comment(`work resumed after ${pauses.map((ms) => Math.round(ms)).join(', ')} ms; leases are ${LEASE_MS} ms`)
  })

  t.test(`${engineName(engine)}: the owner of a partition stands still: another takes over, nothing is written twice`, async (t) => {
    const { gateway, consumers } = await startAll(t, { engine })
    const id = own('still')
    await gateway.create(id, { stock: 1_000_000 })
    const [first] = [await consumers(), await consumers()]
    const claiming = claimAlong(gateway, id)
    await eventually(async () => (await ownersOf(id)).length > 10)
    process.kill(first.command.pid, 'SIGSTOP')
    const before = (await ownersOf(id)).length
    await sleep(DOWN_MS)
    await eventually(async () => (await ownersOf(id)).length > before)
    process.kill(first.command.pid, 'SIGCONT')
    await sleep(500)
    await claiming.stop()
    await isWhole(t, id, claiming.sold)
  })

  t.test(`${engineName(engine)}: the database is away: sales go on, and their orders come later`, async (t) => {
    const proxy = await startProxy(t, Number(new URL(database.url).port))
    const { gateway, consumers } = await startAll(t, { engine, databaseUrl: database.url.replace(/:\d+\//, `:${proxy.port}/`) })
    const id = own('away')
    await gateway.create(id, { stock: 1_000_000 })
    await consumers()
    const claiming = claimAlong(gateway, id)
    await eventually(async () => (await ownersOf(id)).length > 10)
    proxy.goSilent()
    const before = claiming.sold.length
    await sleep(DOWN_MS)
    t.ok(claiming.sold.length > before, `${claiming.sold.length - before} sold meanwhile`)
    proxy.speak()
    await claiming.stop()
    await isWhole(t, id, claiming.sold)
  })

  t.test(`${engineName(engine)}: the server restarts in mid-sale: exactly the stock is sold`, async (t) => {
    const { server, gateway, reader, consumers } = await startAll(t, { engine })
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
    await isWhole(t, id, sold)
  })
}
