/**
 * Many orders while everything is killed in turn: no order is lost, stuck or paid twice; by night for 20 minutes, too. At a higher rate,
 * and without kills to see that memory does not grow; with SOAK_RESULT its figures are kept in that file:
 *
 *     SOAK_SECONDS=1200 TAP_TIMEOUT=0 node regression/systems/orders/soak.test.js
 *     SOAK_SECONDS=600 SOAK_FAULTS=primary-killed TAP_TIMEOUT=0 node regression/systems/orders/soak.test.js
 *     SOAK_SECONDS=900 SOAK_FAULTS=few TAP_TIMEOUT=0 node regression/systems/orders/soak.test.js
 *     SOAK_SECONDS=60 SOAK_FAULTS=few SOAK_TECHNIQUE=single SOAK_REPLICAS=1 SOAK_RATE=50 node regression/systems/orders/soak.test.js
 */
import { writeFile } from 'node:fs/promises'
import t from 'tap'
import { machineFacts } from '../../../lab/run/machine.js'
import { BOUND_MS, runOrders } from '../../../lab/systems/orders/load.js'
import { isProduct } from '../../../lab/systems/orders/techniques.js'
import { newest } from '../../../src/embedded/engine.js'
import { readInfo } from '../../../src/store/index.js'
import { startProxy } from '../../../test/proxy.js'
import { nightTest } from '../../../test/scope.js'
import { connectFor, engineName, eventually, startDeployment, testEngines } from '../../../test/servers.js'

const { env } = process
const LONG = Number(env.SOAK_SECONDS ?? 0)
const SHORT = 20
const NIGHT = 1200
/** requests/s, 60 % of them orders */
const RATE = Number(env.SOAK_RATE ?? 0) || (LONG ? 200 : 60)
const TECHNIQUE = env.SOAK_TECHNIQUE ?? 'partitions-16'
const REPLICAS = Number(env.SOAK_REPLICAS ?? 2)
/** of the third fifth of the time */
const MOST_MEMORY = 1.2

/** @param {import('tap').Test} t @param {string} faults @param {number} [seconds] */
async function soak (t, faults, seconds = LONG || SHORT) {
  const engine = /** @type {import('../../../test/servers.js').Engine} */ (newest(await testEngines()))
  const { primary, replicas } = await startDeployment(t, { engine, replicas: LONG ? 2 : 1 })
  const proxy = faults === 'primary-killed' ? await startProxy(t, primary.port) : null
  const nodes = [primary, ...replicas]

  /** The first replica is promoted, the former primary and the others follow it. */
  async function killPrimary () {
    const [killed, next, ...others] = nodes
    await killed.kill()
    await (await connectFor(t, next.url)).send('REPLICAOF', 'NO', 'ONE')
    proxy?.switchTo(next.port)
    await killed.restart()
    for (const one of [killed, ...others]) {
      const connection = await connectFor(t, one.url)
      await connection.send('REPLICAOF', '127.0.0.1', String(next.port))
      await eventually(async () => /^master_link_status:up/m.test(String(await connection.send('INFO', 'replication'))))
    }
    nodes.splice(0, nodes.length, next, ...others, killed)
  }

  /** @type {{ services: number, server: number }[]} */
  const memory = []
  /** @param {import('../../../lab/systems/orders/fleet.js').Fleet} fleet */
  function watchMemory (fleet) {
    const timer = setInterval(async () => {
      try {
        const connection = await connectFor(t, nodes[0].url)
        const [{ gateway, reader, consumers }, info] = await Promise.all([fleet.usage(), connection.send('INFO', 'memory')])
        const services = [gateway, reader, consumers].flat().reduce((sum, one) => sum + (one?.memoryBytes ?? 0), 0)
        memory.push({ services, server: Number(readInfo(info, nodes[0].url).used_memory) })
        connection.close()
      } catch {
        // a process was killed meanwhile
      }
    }, 1000)
    return () => clearInterval(timer)
  }

  const load = { technique: TECHNIQUE, users: 1, driver: /** @type {'orders'} */ ('orders'), replicas: REPLICAS, faults }
  const { history: _, invariants, ...figures } = await runOrders(load, {
    redisUrl: proxy?.url ?? primary.url,
    keyPrefix: `soak-${faults}:`,
    rate: RATE,
    warmUpSeconds: LONG ? 5 : 1,
    seconds,
    signal: new AbortController().signal,
    onMeasuring: async () => {},
    onMeasured: async () => {},
    killEveryMs: seconds > SHORT ? 15_000 : 2500,
    killPrimary,
    // a busy machine is no fault of an order
    boundMs: LONG ? BOUND_MS : null,
    onWindow: watchMemory
  })
  const fifths = (/** @type {'services' | 'server'} */ what) => [0, 1, 2, 3, 4].map((fifth) => {
    const part = memory.slice(memory.length * fifth / 5, memory.length * (fifth + 1) / 5).map((one) => one[what]).sort((a, b) => a - b)
    return part[Math.floor(part.length / 2)]
  })
  const memoryBytes = { services: fifths('services'), server: fifths('server') }
  t.comment({ faults, ...figures, memoryBytes })
  if (env.SOAK_RESULT) {
    const conditions = { ...load, rate: RATE, endedAt: new Date().toISOString(), engine: engineName(engine), ...machineFacts() }
    await writeFile(env.SOAK_RESULT, JSON.stringify({ ...conditions, figures: { ...figures, invariants, memoryBytes } }, null, 2) + '\n')
  }
  t.same(invariants.filter(({ ok }) => !ok), [])
  if (!isProduct(TECHNIQUE)) return
  t.match(figures, { stuck: 0, placed: figures.final })
  if (faults.endsWith('killed')) t.ok(figures.kills > 0)
  if (!LONG || faults !== 'few') return
  t.match(figures, { errors: 0, timeOuts: 0 })
  // not in a steady state else
  if (LONG >= 600) for (const all of Object.values(memoryBytes)) t.ok(all[4] < all[2] * MOST_MEMORY, `${all}`)
}

if (env.SOAK_FAULTS) t.test(env.SOAK_FAULTS, (t) => soak(t, String(env.SOAK_FAULTS)))
else {
  nightTest('any process is killed', (t) => soak(t, 'any-killed'))
  nightTest('the primary is killed, and a replica promoted', (t) => soak(t, 'primary-killed'))
  nightTest('any process is killed, for 20 minutes', (t) => soak(t, 'any-killed', NIGHT))
}
