/** The load of one measurement of sales, as a process that its parent controls; messages as loads/protocol.js. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { tellParent } from '../../src/runtime/index.js'
import { defaultCacheDir } from '../../src/store/embedded/index.js'
import { ROOT } from '../../src/store/index.js'
import { startBroker } from '../kafka/broker.js'
import { startPostgres } from '../servers/postgres.js'
import { runBurst } from './burst.js'
import { DATABASE_ARMS } from './database.js'
import { figuresOf } from './figures.js'
import { checkSale, untruthsIn } from './history.js'
import { KAFKA_ARMS } from './kafka.js'
import { startNeighbours } from './neighbours.js'
import { startProcess } from './process.js'
import { isAsPublished, modeOf } from './techniques.js'

const GATEWAY = fileURLToPath(new URL('gateway-process.js', import.meta.url))
const STOCK = 100
const POOL = 10
const HOLD_MS = 60_000

process.once('disconnect', () => process.exit(1))
process.once('message', async (/** @type {any} */ { settings, redisUrl }) => {
  const stop = new AbortController()
  const looked = /** @type {Promise<void>} */ (new Promise((resolve) => {
    process.on('message', (/** @type {any} */ { event }) => {
      if (event === 'stop') stop.abort()
      if (event === 'stop' || event === 'looked') resolve()
    })
  }))
  const { contention, warmUp, duration, keyPrefix } = settings
  const { technique, users, stock = STOCK, pool = POOL, delayMs = 0, giveUp = 0, holdMs = HOLD_MS, neighbour } = contention
  try {
    const database = DATABASE_ARMS.includes(technique) ? await startPostgres() : null
    const broker = KAFKA_ARMS.includes(technique) ? await startBroker({ cacheDir: defaultCacheDir(ROOT) }) : null
    const [databaseUrl, sharesPool] = [database?.url ?? null, neighbour === 'shared']
    const place = { redisUrl, databaseUrl, broker: broker?.address ?? null, keyPrefix, pool, delayMs, holdMs, sharesPool }
    const gateway = await startProcess(GATEWAY, { technique, ...place })
    const reader = neighbour === 'apart' ? await startProcess(GATEWAY, { technique, ...place }) : null
    const neighbours = neighbour ? await startNeighbours(new URL((reader ?? gateway).up.url)) : null
    const burst = (/** @type {string} */ sale) => runBurst({
      url: new URL(gateway.up.url), sale, stock, users, mode: modeOf(technique), random: Math.random, giveUp, ask: gateway.ask, neighbours
    })
    for (let n = 0, until = performance.now() + warmUp * 1000; n === 0 || performance.now() < until; n++) await burst(`warm-up-${n}`)
    const idleMs = await neighbours?.idle('warm-up-0')
    neighbours?.latenciesMs.splice(0)
    await tellParent({ event: 'measuring' })
    const beganMs = performance.now()
    const [cpu, gatewayCpu, loop] = [process.cpuUsage(), gateway.cpuMicros(), performance.eventLoopUtilization()]
    const bursts = []
    for (const until = performance.now() + duration * 1000; !stop.signal.aborted && performance.now() < until;) {
      bursts.push(await burst(`sale-${bursts.length}`))
    }
    const seconds = (performance.now() - beganMs) / 1000
    const { user, system } = process.cpuUsage(cpu)
    const gatewayCpuSeconds = (gateway.cpuMicros() - gatewayCpu) / 1e6
    const { utilization } = performance.eventLoopUtilization(loop)
    await tellParent({ event: 'measured' })
    await looked
    await Promise.all([gateway.close(), reader?.close(), neighbours?.close()])
    await Promise.all([database?.close(), broker?.stop()])
    const checks = bursts.map((one) => checkSale(one, isAsPublished(technique)))
    const exact = checks.filter((all) => all.every(({ ok }) => ok)).length
    const untrue = bursts.reduce((sum, one) => sum + untruthsIn(one).length, 0)
    const sales = { ...figuresOf(bursts), exact, untrue, neighbours: neighbours && neighbours.figures(idleMs ?? []) }
    const invariants = technique === 'noop' ? [] : merged(checks)
    if (contention.historyFile) {
      await mkdir(dirname(contention.historyFile), { recursive: true })
      await writeFile(contention.historyFile, JSON.stringify({ kind: 'sale', ...bursts[0] }))
    }
    await tellParent({ event: 'ended', acknowledged: [sales.people] })
    const none = { p50: 0, p95: 0, p99: 0, max: 0 }
    process.stdout.write(JSON.stringify({
      event: 'summary',
      sales,
      seconds,
      latencyMs: sales.latencyMs,
      invariants,
      items: sales.people,
      accepted: bursts.reduce((sum, { stored }) => sum + stored.sold, 0),
      calls: sales.requests,
      attemptsPerAccepted: null,
      latencyMsByCode: {},
      failed: 0,
      offered: sales.people,
      refusedBy: {},
      dropped: 0,
      retried: 0,
      batches: sales.requests,
      bytes: 0,
      behindMs: none,
      flushMs: none,
      gatewayCpuSeconds,
      loopUse: utilization,
      writerCpuMicrosPerItem: (user + system) / sales.people
    }) + '\n', () => process.exit(0))
  } catch (error) {
    await tellParent({ event: 'failed', code: error.code ?? 'LOAD_FAILED', message: error.message })
    process.exit(1)
  }
})

/** The first that is broken, of each. @param {ReturnType<typeof checkSale>[]} all of sales */
const merged = (all) => all[0].map((one, i) => all.find((those) => !those[i].ok)?.[i] ?? one)
