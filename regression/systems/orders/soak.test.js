/**
 * Many orders while everything is killed in turn: no order is lost, stuck or paid twice. For longer, and without kills to see that memory
 * does not grow:
 *
 *     SOAK_SECONDS=2200 TAP_TIMEOUT=0 node regression/systems/orders/soak.test.js
 *     SOAK_SECONDS=900 SOAK_RATE=200 SOAK_FAULTS=few TAP_TIMEOUT=0 node regression/systems/orders/soak.test.js
 */
import t from 'tap'
import { runOrders } from '../../../lab/orders/load.js'
import { readInfo } from '../../../src/store/index.js'
import { scoped, scopedEngines } from '../../../test/scope.js'
import { connectFor, startDeployment } from '../../../test/servers.js'

const LONG = Number(process.env.SOAK_SECONDS ?? 0)
const SECONDS = LONG || scoped(20, 4)
/** requests/s, 60 % of them orders */
const RATE = Number(process.env.SOAK_RATE ?? 0) || (LONG ? 400 : scoped(120, 40))
const FAULTS = process.env.SOAK_FAULTS ?? 'any-killed'
const KILL_EVERY_MS = LONG ? 15_000 : scoped(2500, 1000)
/** of the third fifth of the time */
const MOST_MEMORY = 1.2

t.test(FAULTS, async (t) => {
  const [engine] = await scopedEngines()
  const { primary } = await startDeployment(t, { engine, replicas: 1 })
  const connection = await connectFor(t, primary.url)
  /** @type {{ services: number, server: number }[]} */
  const memory = []

  /** @param {import('../../../lab/orders/fleet.js').Fleet} fleet */
  function watchMemory (fleet) {
    const timer = setInterval(async () => {
      try {
        const [usage, info] = await Promise.all([fleet.usage(), connection.send('INFO', 'memory')])
        const services = Object.values(usage).flat().reduce((sum, { memoryBytes }) => sum + memoryBytes, 0)
        memory.push({ services, server: Number(readInfo(info, primary.url).used_memory) })
      } catch {
        // a process was killed meanwhile
      }
    }, 1000)
    return () => clearInterval(timer)
  }

  const { history: _, invariants, ...figures } = await runOrders(
    { technique: 'partitions-16', users: 1, driver: 'orders', replicas: 2, faults: FAULTS }, {
      redisUrl: primary.url,
      keyPrefix: 'soak:',
      rate: RATE,
      warmUpSeconds: 1,
      seconds: SECONDS,
      signal: new AbortController().signal,
      onMeasuring: async () => {},
      onMeasured: async () => {},
      killEveryMs: KILL_EVERY_MS,
      onWindow: watchMemory
    })
  t.comment(figures)
  t.same(invariants.filter(({ ok }) => !ok), [])
  t.match(figures, { stuck: 0, placed: figures.final })
  if (LONG && FAULTS === 'few') t.match(figures, { errors: 0, timeOuts: 0 })
  if (FAULTS === 'any-killed') t.ok(figures.kills > 0)

  const medianOf = (/** @type {'services' | 'server'} */ what, /** @type {number} */ fifth) => {
    const part = memory.slice(memory.length * fifth / 5, memory.length * (fifth + 1) / 5).map((one) => one[what]).sort((a, b) => a - b)
    return part[Math.floor(part.length / 2)]
  }
  for (const what of /** @type {const} */ (['services', 'server'])) {
    const all = [0, 1, 2, 3, 4].map((fifth) => medianOf(what, fifth))
    t.comment({ what, all })
    // not in a steady state else
    if (LONG && FAULTS === 'few') t.ok(all[4] < all[2] * MOST_MEMORY, `${what}: ${all}`)
  }
})
