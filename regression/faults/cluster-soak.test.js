/**
 * Feeds of three layouts, auctions, sales and orders over one cluster, in which primaries are killed, replaced and lose slots at random:
 * nothing acknowledged is lost, nothing is there twice, and the invariants of each system hold. The seed is printed;
 * FRESHET_TEST_SEED repeats its faults. For a shorter time:
 *
 *     SOAK_SECONDS=180 TAP_TIMEOUT=0 FRESHET_TEST_SCOPE=night node regression/faults/cluster-soak.test.js
 */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { newest } from '../../src/embedded/engine.js'
import { failOver, healed, moveSlots, replacePrimary, slotsOf, startCluster } from '../../test/cluster.js'
import { startRun, WHOLE } from '../../test/cluster-run.js'
import { sharedDatabase } from '../../test/database.js'
import { nightTest } from '../../test/scope.js'
import { engineName, eventually, testEngines } from '../../test/servers.js'
import { startAuctions } from '../../test/systems/auctions/auctioning.js'
import { startBidding } from '../../test/systems/auctions/bidding.js'
import { expectConsistent } from '../../test/systems/orders/checking.js'
import { startOrders } from '../../test/systems/orders/ordering.js'
import { startSales } from '../../test/systems/sales/selling.js'
import { claimAlong, isWhole } from '../systems/sales/claiming.js'

t.setTimeout(0)
const SECONDS = Number(process.env.SOAK_SECONDS ?? 1200)
const SEED = Number(process.env.FRESHET_TEST_SEED ?? Date.now() % 2 ** 31)
const SHARDS = 3
const MOST_PAUSE_MS = 5000
const EVERY_MS = 100
const UNITS = 1_000_000
/** of all requests: everything runs in one process */
const DEADLINE_MS = 5000
/** longer than it lasts: an item that expires would count as lost */
const WINDOW_MS = 86_400_000
/** what a busy machine may need; only a failure takes as long */
const FINAL_WITHIN_MS = 300_000

/** @typedef {import('../../test/cluster.js').Cluster} Cluster */

/** Numbers from 0 to 1 that follow from a seed: a linear congruential generator. @param {number} seed */
function randomOf (seed) {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** @type {Record<string, (t: import('tap').Test, cluster: Cluster, random: () => number) => Promise<unknown>>} */
const FAULTS = {
  kill: (t, cluster, random) => replacePrimary(t, cluster, { shard: Math.floor(random() * SHARDS) }),
  stop: (t, cluster, random) => replacePrimary(t, cluster, { shard: Math.floor(random() * SHARDS), signal: 'SIGTERM' }),
  failOver: (t, cluster, random) => failOver(t, cluster, Math.floor(random() * SHARDS)),
  async move (t, cluster, random) {
    const slots = await slotsOf(t, cluster, 'fr:{*')
    const [slot, to] = [slots[Math.floor(random() * slots.length)], Math.floor(random() * SHARDS)]
    await moveSlots(t, cluster, { slots: [slot], to, isAtomic: cluster.engine.name === 'valkey' })
  }
}

/** Faults one after another, each on a whole cluster. @param {import('tap').Test} t @param {Cluster} started */
async function disturb (t, started) {
  const random = randomOf(SEED)
  const names = Object.keys(FAULTS)
  const counts = Object.fromEntries(names.map((name) => [name, 0]))
  for (const endMs = performance.now() + SECONDS * 1000; performance.now() < endMs;) {
    const name = names[Math.floor(random() * names.length)]
    await FAULTS[name](t, await healed(started), random)
    counts[name]++
    await pause(random() * MOST_PAUSE_MS)
  }
  await healed(started)
  return counts
}

/** Orders one after another, each until it is placed. @param {Awaited<ReturnType<typeof startOrders>>} orders */
async function startOrdering ({ product, customer, placed }) {
  await eventually(async () => (await product('soaked', { quantity: UNITS })).status < 300)
  const ann = await eventually(customer)
  /** @type {string[]} */
  const ids = []
  const stopping = new AbortController()
  const running = (async () => {
    while (!stopping.signal.aborted) {
      ids.push(await placed(ann, [{ sku: 'soaked', quantity: 1 }]))
      await pause(EVERY_MS)
    }
  })()
  running.catch(() => {})
  return {
    ids,
    async stop () {
      stopping.abort()
      await running
    }
  }
}

nightTest('a soak of feeds, auctions, sales and orders over a cluster under faults at random', async (t) => {
  const engine = /** @type {import('../../test/servers.js').Engine} */ (newest(await testEngines()))
  t.comment(`${engineName(engine)}, ${SECONDS} s, seed ${SEED}`)
  const database = await sharedDatabase(t)
  const cluster = await startCluster(t, { engine })
  const { url } = cluster
  const primary = { url, port: cluster.nodes[0].port }
  const ofDatabase = ['--database-url', database.url]
  const runs = await Promise.all(['segments', 'ids', 'stream'].map((layout) =>
    startRun(t, { redisUrl: url, layout, everyMs: EVERY_MS, windowMs: WINDOW_MS, deadlineMs: DEADLINE_MS })))
  const auctions = await startAuctions(t, { primary, partitions: 6, gatewayFlags: ['--durability', 'replica'] })
  const sales = await startSales(t, { primary, readerFlags: ofDatabase, consumerFlags: ofDatabase })
  const orders = await startOrders(t, {
    primary, databaseUrl: database.url, paymentTimeoutMs: 10_000, gatewayFlags: ['--order-deadline-ms', '3600000']
  })
  const bidding = await startBidding(auctions, ['a', 'b', 'c', 'd', 'e', 'f'], { everyMs: EVERY_MS })
  const sold = await Promise.all(['one', 'two'].map(async (name) => {
    const id = `${name}-${SEED}`
    await eventually(async () => (await sales.gateway.create(id, { stock: UNITS })).status < 300)
    return { id, claiming: claimAlong(sales.gateway, id, EVERY_MS) }
  }))
  const ordering = await startOrdering(orders)

  t.comment(`faults: ${JSON.stringify(await disturb(t, cluster))}`)

  await Promise.all([ordering.stop(), ...sold.map(({ claiming }) => claiming.stop())])
  for (const run of runs) {
    t.same(await run.end(), WHOLE)
    t.comment(`${run.feed.definition.layout}: ${run.acknowledged.size} acknowledged`)
  }
  await bidding.end(t)
  for (const { id, claiming } of sold) {
    await isWhole(t, database, id, claiming.sold)
    t.match(await eventually(async () => {
      const one = await sales.sale(id)
      return one.held === 0 && one
    }), { sold: claiming.sold.length, available: UNITS - claiming.sold.length })
  }
  const outcomes = await expectConsistent(t, { database, entries: orders.payments.entries, stock: orders.stock },
    { orders: ordering.ids, units: { soaked: UNITS }, deadlineMs: FINAL_WITHIN_MS })
  t.comment(`orders: ${JSON.stringify(outcomes)}`)
})
