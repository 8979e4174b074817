/** The load of one measurement of sales, as a process that its parent controls; messages as loads/protocol.js. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { tellParent } from '../../src/runtime/index.js'
import { createPostgres, defaultCacheDir } from '../../src/store/embedded/index.js'
import { ROOT } from '../../src/store/index.js'
import { startBroker } from '../kafka/broker.js'
import { runBurst } from './burst.js'
import { DATABASE_ARMS } from './database.js'
import { figuresOf } from './figures.js'
import { checkSale, untruthsIn } from './history.js'
import { KAFKA_ARMS } from './kafka.js'
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
  const { technique, users, stock = STOCK, pool = POOL, delayMs = 0, giveUp = 0, holdMs = HOLD_MS } = contention
  try {
    const database = DATABASE_ARMS.includes(technique) ? await startDatabase() : null
    const broker = KAFKA_ARMS.includes(technique) ? await startBroker({ cacheDir: defaultCacheDir(ROOT) }) : null
    const place = { redisUrl, databaseUrl: database?.url ?? null, broker: broker?.address ?? null, keyPrefix, pool, delayMs, holdMs }
    const gateway = await startGateway({ technique, ...place })
    const burst = (/** @type {string} */ sale) => runBurst({
      url: gateway.url, sale, stock, users, mode: modeOf(technique), random: Math.random, giveUp, ask: gateway.ask
    })
    for (let n = 0, until = performance.now() + warmUp * 1000; n === 0 || performance.now() < until; n++) await burst(`warm-up-${n}`)
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
    await gateway.close()
    await Promise.all([database?.close(), broker?.stop()])
    const checks = bursts.map((one) => checkSale(one, isAsPublished(technique)))
    const exact = checks.filter((all) => all.every(({ ok }) => ok)).length
    const sales = { ...figuresOf(bursts), exact, untrue: bursts.reduce((sum, one) => sum + untruthsIn(one).length, 0) }
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

async function startDatabase () {
  const folder = await mkdtemp(join(tmpdir(), 'freshet-lab-'))
  const postgres = createPostgres({
    folder: join(folder, 'database'),
    cacheDir: defaultCacheDir(ROOT),
    report: () => {},
    signal: new AbortController().signal,
    fail: () => {}
  })
  const { url } = await postgres.start()
  return {
    url,
    async close () {
      await postgres.close()
      await rm(folder, { recursive: true, force: true })
    }
  }
}

/** @param {object} place */
async function startGateway (place) {
  const child = fork(GATEWAY, [], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const exited = once(child, 'exit')
  let cpuMicros = 0
  child.on('message', (/** @type {any} */ message) => { if (message.event === 'cpu') cpuMicros = message.cpuMicros })
  /** @param {object} message @param {string} event of the reply @returns {Promise<any>} */
  const ask = (message, event) => new Promise((resolve, reject) => {
    const take = (/** @type {any} */ reply) => {
      if (reply.event !== event) return
      child.off('message', take)
      resolve(reply)
    }
    child.on('message', take)
    exited.then(([status]) => reject(new Error(`the gateway of the lab ended with status ${status}`)))
    child.send(message, (error) => { if (error) reject(error) })
  })
  const { url } = await ask({ event: 'start', ...place }, 'up')
  return {
    url: new URL(url),
    ask,
    cpuMicros: () => cpuMicros,
    async close () {
      child.disconnect()
      await exited
    }
  }
}
