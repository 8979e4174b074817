/** One measurement of sales: one after the other until the window is over, and the check of each. */
import { defaultCacheDir, ROOT } from '../../../src/embedded/index.js'
import { startBroker } from '../../kafka/broker.js'
import { startMariadb } from '../../servers/mariadb.js'
import { startPostgres } from '../../servers/postgres.js'
import { merged } from '../invariants.js'
import { startOpened } from '../process.js'
import { openWindow, requestSummary } from '../window.js'
import { runBurst } from './burst.js'
import { DATABASE_ARMS, MARIADB_ARMS } from './database.js'
import { figuresOf } from './figures.js'
import { checkSale, untruthsIn } from './history.js'
import { KAFKA_ARMS } from './kafka.js'
import { startNeighbours } from './neighbours.js'
import { REDIS_ARMS } from './redis.js'
import { isAsPublished, modeOf } from './techniques.js'

const GATEWAY = new URL('gateway-process.js', import.meta.url)
const STOCK = 100
const POOL = 10
const HOLD_MS = 60_000

/** @param {string} technique @returns {Promise<{ url: string, close: () => Promise<void> } | null>} null: it has none */
async function startDatabase (technique) {
  const database = KAFKA_ARMS[technique] ?? REDIS_ARMS[technique] ?? technique
  if (database in MARIADB_ARMS) return startMariadb()
  return DATABASE_ARMS.includes(database) ? startPostgres() : null
}

/** @param {import('../plan.js').Contention} load @param {import('../load-process.js').How} how */
async function runSales (load, { redisUrl, keyPrefix, warmUpSeconds, seconds: duration, signal, onMeasuring, onMeasured }) {
  const { technique, users, stock = STOCK, pool = POOL, delayMs = 0, giveUp = 0, holdMs = HOLD_MS, neighbour } = load
  const database = await startDatabase(technique)
  const broker = technique in KAFKA_ARMS ? await startBroker({ cacheDir: defaultCacheDir(ROOT) }) : null
  const [databaseUrl, sharesPool] = [database?.url ?? null, neighbour === 'shared']
  const place = { redisUrl, databaseUrl, broker: broker?.address ?? null, keyPrefix, pool, delayMs, holdMs, sharesPool }
  const start = () => startOpened('a gateway of the lab', GATEWAY, { technique, ...place })
  const gateway = await start()
  const reader = neighbour === 'apart' ? await start() : null
  const neighbours = neighbour ? await startNeighbours(new URL((reader ?? gateway).url)) : null
  const burst = (/** @type {string} */ sale) => runBurst({
    url: new URL(gateway.url), sale, stock, users, mode: modeOf(technique), random: Math.random, giveUp, ask: gateway.ask, neighbours
  })
  for (let n = 0, until = performance.now() + warmUpSeconds * 1000; n === 0 || performance.now() < until; n++) await burst(`warm-up-${n}`)
  const idleMs = await neighbours?.idle('warm-up-0')
  neighbours?.latenciesMs.splice(0)
  await onMeasuring()
  const before = await gateway.usage()
  const window = openWindow()
  const bursts = []
  for (const until = performance.now() + duration * 1000; !signal.aborted && performance.now() < until;) {
    bursts.push(await burst(`sale-${bursts.length}`))
  }
  const use = window()
  const { cpuSeconds } = await gateway.usage()
  await onMeasured()
  await Promise.all([gateway.stop(), reader?.stop(), neighbours?.close()])
  await Promise.all([database?.close(), broker?.stop()])
  const checks = bursts.map((one) => checkSale(one, isAsPublished(technique)))
  const exact = checks.filter((all) => all.every(({ ok }) => ok)).length
  const untrue = bursts.reduce((sum, one) => sum + untruthsIn(one).length, 0)
  return {
    history: bursts[0],
    sales: { ...figuresOf(bursts), exact, untrue, neighbours: neighbours && neighbours.figures(idleMs ?? []) },
    sold: bursts.reduce((sum, { stored }) => sum + stored.sold, 0),
    invariants: technique === 'noop' ? [] : merged(checks),
    ...use,
    gatewayCpuSeconds: cpuSeconds - before.cpuSeconds
  }
}

/** @type {import('../load-process.js').System} */
export const SYSTEM = Object.freeze({
  run: runSales,
  historyText: (sale) => JSON.stringify({ kind: 'sale', ...sale }),
  summaryOf ({ sales, sold, gatewayCpuSeconds, ...result }) {
    const { people, requests, latencyMs } = sales
    const figures = { answered: people, sent: people, failed: 0, latencyMs, calls: requests, cpuSeconds: gatewayCpuSeconds }
    return { sales, ...requestSummary(result, figures), accepted: sold, batches: requests }
  }
})
