/** Orders of the lab: the checker catches every mutant, and nothing that is right; each arm does its work. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { checkOrders, historyText } from '../../lab/systems/orders/history.js'
import { startFaults } from '../../lab/systems/orders/faults.js'
import { createScaling } from '../../lab/systems/orders/autoscaler.js'
import { figuresOf } from '../../lab/systems/orders/figures.js'
import { createQuota } from '../../lab/systems/orders/quota.js'
import { runOrders } from '../../lab/systems/orders/load.js'
import { TECHNIQUES } from '../../lab/systems/orders/techniques.js'
import { endOfMain } from '../bin/in-process.js'
import { nightTest, scopedEngines } from '../scope.js'
import { eventually, startDeployment } from '../servers.js'
import { MUTANTS, ordersInMemory } from './mutants/orders.js'

const broken = (/** @type {import('../../lab/systems/orders/history.js').Invariant[]} */ invariants) =>
  invariants.filter(({ ok }) => !ok).map(({ name, detail }) => `${name}: ${detail}`)

/** What finds each. @type {Record<string, string>} */
const FINDS = { 'mark-before-do': 'D4', 'no-idempotency': 'D4', 'get-set-state': 'D3', 'no-deadline': 'D1', 'release-twice': 'D3' }

t.test('every mutant is caught, by what it breaks', async (t) => {
  t.same(Object.keys(FINDS).sort(), [...MUTANTS].sort())
  for (const mutant of MUTANTS) {
    const faults = broken(checkOrders(ordersInMemory(mutant)))
    t.ok(faults.some((text) => text.startsWith(FINDS[mutant])), `${mutant}: ${faults.join(' | ') || 'nothing'}`)
  }
})

t.test('what the checker must see in steps, views, readers and dead letters', async (t) => {
  const right = ordersInMemory('right')
  const [first, second] = right.events
  /** @param {Partial<typeof right>} change */
  const faultsOf = (change) => broken(checkOrders({ ...right, ...change })).join(' | ')
  t.equal(faultsOf({}), '')
  t.match(faultsOf({ events: right.events.filter((event) => event !== second) }), /^D2 .*o0: capture_requested 3 after placed 1/)
  t.match(faultsOf({ events: [first, first, ...right.events.slice(1)] }), /D2 .*o0: placed 1 after placed 1/)
  t.match(faultsOf({ orders: right.orders.map((order) => ({ ...order, status: 'cancelled' })) }), /D7 .*o0: cancelled after confirmed/)
  t.match(faultsOf({ orders: right.orders.map((order) => ({ ...order, total: 7 })) }), /^D4 .*\| D7 .*o0: \["",7,.*of events \["",5,/)
  const late = right.orders.map((order) => ({ ...order, ms: 9000, placedMs: 1000 }))
  t.match(faultsOf({ orders: late, boundMs: 8000 }), /^D1 within 8 s.*o0: 9000 ms, 0 of them without the provider/)
  t.equal(faultsOf({ orders: late, boundMs: 8000, outages: [[500, 1500], [9500, Infinity]] }), '', 'only while the provider answers')
  t.match(faultsOf({ placed: ['lost'] }), /^D1 .*lost: unknown/)
  t.match(faultsOf({ unknown: ['o1'] }), /^D8 .*o1/)
  t.match(faultsOf({ dead: ['o:o1'] }), /^D9 .*o:o1/)
})

t.test('experiment check reads the history of a measurement', async (t) => {
  const file = join(t.testdir(), 'orders.ndjson')
  await writeFile(file, historyText(ordersInMemory('right')))
  t.match(await endOfMain(['experiment', 'check', file]), { code: 0, stdout: /12 orders of right\n {2}D1 [^]*D9 no order has a dead letter: yes/ })
  await writeFile(file, historyText(ordersInMemory('no-idempotency')))
  t.match(await endOfMain(['experiment', 'check', file]), { code: 1, stdout: /D4 .*: no \(/ })
})

t.test('replicas of a service follow the formula of Kubernetes', async (t) => {
  /** @param {number[]} uses mean shares of half a core, one per second @param {number} [stabilisationMs] @returns {number[]} replicas */
  function replay (uses, stabilisationMs = 5000) {
    let nowMs = 0
    let replicas = 1
    const wantedOf = createScaling({ elapsed: () => nowMs, stabilisationMs })
    return uses.map((use) => {
      nowMs += 1000
      return (replicas = wantedOf({ replicas, use }))
    })
  }
  // of the published order service at 200/s: 1,200 millicores of 500, then 1,200, 67 and 73: the two that do nothing stay
  t.same(replay([2.4, ...Array(9).fill((1200 + 67 + 73) / 3 / 500)]), Array(10).fill(3))
  // of a gateway here at 200/s, from the start of the load
  t.same(replay([0.1, 0.6, 0.9, 0.95, 0.5, 0.48, 0.5, 0.51]), [1, 1, 2, 3, 3, 3, 3, 3])
  t.same(replay([0.64, 0.76, 0.7]), [1, 1, 1], 'no change within 10 %')
  t.same(replay([1.5, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]), [3, 3, 3, 3, 3, 1, 1], 'down when the window is over')
  t.same(replay([9, 0, 0], 0), [3, 1, 1], 'from 1 to 3')
})

t.test('the processor time of a process is limited, or the report says that it is not', async (t) => {
  const quota = await createQuota()
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
  await quota.limit(Number(child.pid))
  const groups = await readFile(`/proc/${child.pid}/cgroup`, 'utf8').catch(() => '')
  t.equal(groups.includes(`freshet-lab-${child.pid}`), quota.isLimited)
  child.kill()
  await once(child, 'exit')
  await quota.close()
})

t.test('from a kill until every partition of the process goes on; from the end of an order until it is seen', async (t) => {
  /** @param {number} partition @param {number} atMs */
  const event = (partition, atMs, type = 'held') => ({ id: 'a', version: 1, type, partition, atMs })
  const order = { id: 'a', status: 'confirmed', reason: null, total: 1, lines: [], ms: 50, placedMs: 1000 }
  const usage = { before: {}, after: {} }
  const { handOverMs, seenAfterMs } = figuresOf({
    heard: {
      requests: [{ kind: 'order', isWarmUp: false, ms: 1, status: 201 }],
      tracked: [{ id: 'a', isPolled: true, ms: 60, seenMs: 1200, polls: 1, isFinal: true }],
      placed: [{ id: 'a', isWarmUp: false }],
      unknown: [],
      replenished: 0
    },
    orders: [order],
    events: [event(1, 10_100), event(1, 13_500), event(1, 13_900), event(2, 10_900, 'placed'), event(2, 13_200), event(3, 10_700)],
    killed: [{ atMs: 10_000, partitions: [1, 2] }, { atMs: 10_000, partitions: [7] }],
    seconds: 1,
    planned: 1,
    sent: 1,
    kills: 2,
    isLimited: false,
    usage
  })
  t.match(handOverMs, { p50: 3500, max: 3500 }, 'what was sent before, placings, and partitions in which nothing waits do not count')
  t.match(seenAfterMs, { max: 150 })
})

t.test('while one of a kind is not up again, no other of it is killed; what cannot start again ends the measurement', async (t) => {
  const fault = { provider: {}, doubled: 0, kills: /** @type {const} */ (['consumers', 'gateway']) }
  const over = new AbortController()
  /** @type {string[]} */
  const killed = []
  const parts = { fault, fail: async () => {}, killEveryMs: 2, signal: over.signal }
  let up = () => {}
  const end = startFaults({
    ...parts,
    async kill (what) {
      killed.push(what)
      if (what === 'consumers') await new Promise((resolve) => { up = () => resolve(null) })
    }
  })
  await eventually(() => killed.length > 5)
  t.same(killed.filter((what) => what === 'consumers'), ['consumers'])
  const ending = end()
  up()
  t.equal(await ending, killed.length)
  const failing = startFaults({ ...parts, kill: async () => { throw new Error('port in use') } })
  await pause(50)
  await t.rejects(failing(), { message: 'port in use' })
  const aborted = startFaults({ ...parts, kill: async () => killed.push('late') })
  over.abort()
  await pause(20)
  t.equal(await aborted(), 0, 'nothing is killed when the measurement is over')
})

nightTest('each arm works for a moment, and loses nothing', async (t) => {
  const [engine] = await scopedEngines()
  const { primary } = await startDeployment(t, { engine, replicas: 0 })
  for (const technique of TECHNIQUES) {
    /** @type {import('../../lab/systems/plan.js').Contention} */
    const load = { technique, users: 1, driver: 'orders', replicas: 3 }
    const { answered, placed, final, stuck, invariants } = await runOrders(load, {
      redisUrl: primary.url,
      keyPrefix: `lab-${technique}:`,
      rate: 40,
      warmUpSeconds: 0.2,
      seconds: 1,
      signal: new AbortController().signal,
      onMeasuring: async () => {},
      onMeasured: async () => {}
    })
    t.ok(answered > 0, technique)
    t.notMatch(JSON.stringify(invariants), 'D1 within', `${technique}: without faults on purpose lateness is a figure`)
    t.same(broken(invariants), [], technique)
    t.equal(placed, final + stuck)
    t.equal(stuck, 0, technique)
  }
})

nightTest('orders of one unit without faults; at rest nothing is sent, and what the processes use is there', async (t) => {
  const [engine] = await scopedEngines()
  const { primary } = await startDeployment(t, { engine, replicas: 0 })
  for (const [technique, rate] of /** @type {const} */ ([['floor', 40], ['floor', 0], ['partitions-16', 0]])) {
    /** @type {import('../../lab/systems/plan.js').Contention} */
    const load = { technique, users: 1, driver: 'orders', faults: 'none', ordersOnly: true }
    const { sent, placed, final, tracked, cpuSeconds, hasServers, seconds, invariants } = await runOrders(load, {
      redisUrl: primary.url,
      keyPrefix: `lab-${technique}-${rate}:`,
      rate,
      warmUpSeconds: 0.5,
      seconds: 1,
      signal: new AbortController().signal,
      onMeasuring: async () => {},
      onMeasured: async () => {}
    })
    t.same({ sent, placed, final, tracked }, { sent: rate, placed: rate, final: rate, tracked: 0 }, technique)
    t.same(broken(invariants), [], technique)
    t.equal(invariants.length, 7)
    t.equal(hasServers, technique !== 'floor')
    t.ok(seconds > 0.9 && cpuSeconds.consumers[0] > 0 && cpuSeconds.database.length === 1)
  }
})

nightTest('replicas of every service behind proxies, which an autoscaler adds', async (t) => {
  const [engine] = await scopedEngines()
  const { primary } = await startDeployment(t, { engine, replicas: 0 })
  /** @type {import('../../lab/systems/plan.js').Contention} */
  const load = { technique: 'partitions-16', users: 1, driver: 'orders', replicas: 2, everywhere: true, autoscaled: true }
  const { answered, errors, stuck, cpuSeconds, invariants } = await runOrders(load, {
    redisUrl: primary.url,
    keyPrefix: 'lab-everywhere:',
    rate: 40,
    warmUpSeconds: 2,
    seconds: 3,
    signal: new AbortController().signal,
    onMeasuring: async () => {},
    onMeasured: async () => {}
  })
  t.same({ answered, errors, stuck }, { answered: 120, errors: 0, stuck: 0 })
  t.same(broken(invariants), [])
  // how many there are depends on the machine
  t.ok(['gateway', 'reader', 'consumers'].every((service) => cpuSeconds[service].length >= 1))
})
