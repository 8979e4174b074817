/**
 * The clock of a primary is wrong, then it goes back: by a correction, by another fault, or by a failover to a node whose clock is behind.
 * Under each system what lasts some time ends in time, and what ends at a time ends then.
 *
 *     given before ─▶ the clock goes back by 20 s to an hour ─▶ given after ─▶ all of it ends some seconds later
 */
import t from 'tap'
import { startProxy } from '../../test/proxy.js'
import { isNight, nightEngines } from '../../test/scope.js'
import { connectFor, engineName, eventually, freePort, inSync, startServer } from '../../test/servers.js'
import { startConsumers, startGateway, startReader } from '../../test/services.js'
import { createClock, noShiftedClock } from '../../test/shifted-clock.js'
import { sharedDatabase } from '../../test/database.js'
import { orderCommands, SECRET, startPayments } from '../../test/systems/orders/ordering.js'
import { startExchanges } from '../../test/systems/prices/pricing.js'
import { openSeats, ruleOf } from '../../test/systems/seats.js'

const HOLD_MS = 2000
const HOUR_MS = 3_600_000
/** for what takes some seconds, on a busy machine; what is wrong takes ten minutes, or 20 s */
const BUSY_MS = 60_000
const LEAST_MS = 18_000
/** long enough for a server that is 20 s ahead of the sources */
const TIERS = 'hot=0.5/30/60,medium=1/30/60,cold=60/120/240'
/** after a failover there is no replica */
const IN_MEMORY = ['--durability', 'memory']
const PARTITIONS = ['--system-partitions', '2']
const JSON_HEADERS = { 'content-type': 'application/json' }
const HALL = ruleOf(`
  if args[1] == 'hold' then return 'held', {}, { events = { { type = 'held' } }, holds = { [args[2]] = now + tonumber(args[3]) } } end
  if args[1] == 'close' then return 'set', {}, { tasks = { closed = now + tonumber(args[2]) } } end
  if args[1] == 'closed' then return 'closed', {}, { events = { { type = 'closed' } } } end
  local holds, due = {}, read.holdsDue(now, 100)
  if #due == 0 then return 'none', {} end
  for _, name in ipairs(due) do holds[name] = false end
  return 'expired', {}, { events = { { type = 'expired', count = #due } }, holds = holds }`)

/** `before`, `after`: ms by which the clock is ahead */
const CASES = [
  { title: 'right, then an hour behind', before: 0, after: -HOUR_MS },
  { title: '10 minutes ahead, then a failover to a node whose clock is right', before: 600_000, after: 0, isFailover: true },
  ...isNight
    ? [
        { title: '20 s ahead, then corrected', before: 20_000, after: 0 },
        { title: '10 minutes ahead, then corrected', before: 600_000, after: 0 }
      ]
    : []
]

/** @param {import('tap').Test} t @param {import('../../test/servers.js').Engine} engine @param {typeof CASES[number]} clocks */
async function startDeploymentOf (t, engine, { before, after, isFailover = false }) {
  const clock = createClock(t)
  const primary = await startServer(t, { engine, env: clock.env })
  const admin = await connectFor(t, primary.url)
  await clock.ahead(before, admin)
  if (!isFailover) return { redisUrl: primary.url, goBack: () => clock.ahead(after, admin) }
  const replica = await startServer(t, { engine, replicaOf: primary })
  await inSync(replica)
  const proxy = await startProxy(t, primary.port)
  return {
    redisUrl: proxy.url,
    async goBack () {
      const other = await connectFor(t, replica.url)
      await admin.send('WAIT', 1, BUSY_MS)
      await primary.kill()
      await other.send('REPLICAOF', 'NO', 'ONE')
      proxy.switchTo(replica.port)
    }
  }
}

/** @param {import('tap').Test} t @param {string} redisUrl */
async function startSystems (t, redisUrl) {
  const [{ url: database }, exchanges, metricsPort] = await Promise.all([sharedDatabase(t), startExchanges(t), freePort()])
  const gateway = await startGateway(t, { redisUrl, flags: [...PARTITIONS, '--tiers', TIERS, ...IN_MEMORY, '--payment-secret', SECRET] })
  const payments = await startPayments(t, { flags: ['--callback-url', `${gateway.url}/v1/payments/callbacks`] })
  const paying = ['--payment-url', payments.url, '--payment-timeout-ms', '500']
  const [consumers, reader, hall] = await Promise.all([
    startConsumers(t, {
      redisUrl,
      flags: [...PARTITIONS, '--systems', 'auctions,sales,prices,orders', '--database-url', database, '--metrics-port', `${metricsPort}`,
        ...exchanges.flags, ...IN_MEMORY, ...paying]
    }),
    startReader(t, { redisUrl, flags: ['--database-url', database, '--read-from', 'primary'] }),
    openSeats(t, { redisUrl, keyPrefix: 'fr:' }, { lua: HALL, keeps: ['holds'] })
  ])
  await hall.system.runTasks()
  /** @param {string} method @param {string} path @param {object} body */
  const send = (method, path, body) => eventually(async () => {
    const reply = await gateway.send(method, path, JSON.stringify(body), JSON_HEADERS)
    if (reply.status >= 500) throw new Error(JSON.stringify(reply.json))
    return reply
  })
  const get = async (/** @type {string} */ path) => (await reader.get(path)).json
  const metricsUrl = `http://127.0.0.1:${metricsPort}`
  return { gateway, consumers, payments, hall, send, get, metricsUrl, orders: orderCommands(gateway.send) }
}

for (const engine of await nightEngines()) {
  for (const clocks of CASES) {
    t.test(`${clocks.title}, on ${engineName(engine)}`, { skip: noShiftedClock }, async (t) => {
      const { redisUrl, goBack } = await startDeploymentOf(t, engine, clocks)
      const { gateway, consumers, payments, hall, send, get, metricsUrl, orders } = await startSystems(t, redisUrl)
      const serverMs = (/** @type {number} */ ahead) => Date.now() + ahead
      /** @param {string} what @param {() => unknown} check */
      const soon = async (what, check) => {
        const sinceMs = performance.now()
        const deadlineMs = clocks.before === 20_000 ? LEAST_MS : BUSY_MS
        await eventually(check, { deadlineMs }).then(() => t.pass(what), (error) => t.fail(`${what}: ${error.message}`))
        t.comment(`${what}: ${Math.round(performance.now() - sinceMs)} ms`)
      }

      t.match(await send('PUT', '/v1/sales/s', { stock: 3, mode: 'direct', holdMs: HOLD_MS }), { status: 201 })
      t.match(await send('POST', '/v1/sales/s/claims', { userId: 'ann' }), { status: 201 })
      t.match(await send('PUT', '/v1/assets/btc-usd', { tier: 'hot', pinned: true }), { status: 201 })
      t.match(await orders.product('book'), { status: 201 })
      await payments.fail({ isDown: true })
      const { json: { id: order } } = await orders.place(await orders.customer(), [{ sku: 'book', quantity: 1 }])
      t.equal(await hall.code('h', 'hold', 'a', `${HOLD_MS}`), 'held')
      const terms = { startPrice: '1', minIncrement: '1', currency: 'EUR' }
      t.match(await send('PUT', '/v1/auctions/long', { ...terms, closeAt: Date.now() + HOUR_MS }), { status: 201 })

      await goBack()
      await payments.fail({})
      t.match(await send('POST', '/v1/sales/s/claims', { userId: 'bob' }), { status: 201 })
      let endsMs = 0
      // where a retry takes longer than the auction, it begins later
      await eventually(async () => {
        endsMs = serverMs(clocks.after) + HOLD_MS
        return (await send('PUT', '/v1/auctions/a', { ...terms, closeAt: endsMs })).status === 201
      })
      await eventually(() => hall.submit('h', 'hold', 'b', `${HOLD_MS}`))
      await eventually(() => hall.submit('h', 'close', `${HOLD_MS}`))
      const { seq = 0 } = await get('/v1/prices/btc-usd')

      await Promise.all([
        soon('holds of a sale end', async () => (await get('/v1/sales/s')).available === 3),
        soon('an auction closes', async () => (await get('/v1/auctions/a')).status === 'closed'),
        soon('a price is refreshed', async () => (await get('/v1/prices/btc-usd')).seq >= seq + 3),
        soon('an order is driven', async () => (await get(`/v1/orders/${order}`)).status === 'confirmed'),
        soon('holds and tasks of a user end', async () => {
          const { seq } = await hall.system.get('h') ?? { seq: 0 }
          // held twice, closed, and expired once or twice
          return seq >= 4
        })
      ])
      const closed = await get('/v1/auctions/a/result')
      t.ok(closed.closedAt >= endsMs && closed.closedAt < endsMs + BUSY_MS, `at its time: ${closed.closedAt - endsMs} ms later`)
      t.match(await get('/v1/auctions/long'), { status: 'open' })

      await t.test('it is in the log, a metric and /readyz', async (t) => {
        const at = async (/** @type {string} */ url) => ({
          ready: await (await fetch(`${url}/readyz`)).json(), metrics: await (await fetch(`${url}/metrics`)).text()
        })
        for (const [url, { log }] of /** @type {const} */ ([[gateway.url, gateway.service], [metricsUrl, consumers.service]])) {
          const { ready, metrics } = await at(url)
          t.match(ready, { ready: true, reasons: { length: 0 }, notes: [/CLOCK_BACK/] })
          t.match(metrics, /^freshet_admission_clock_back_total\{system="sales"\} [1-9]/m)
          t.match(log, /"backMs":\d+,"msg":"the clock of the primary went back"/)
        }
      })
    })
  }
}
