/** One measurement with the real writer on real servers, and what becomes of it when something ends in the middle. */
import t from 'tap'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { flagsOf } from '../../settings.js'
import { measure } from '../../lab/run/measurement.js'
import { queryNode } from '../../lab/servers/query.js'
import { openOwnServers } from '../../lab/servers/own.js'
import { pidOf, pidsOf, until } from '../../test/embedded/checkout.js'
import { engineName } from '../../test/servers.js'
import { descendantsOf, stillThere } from '../../test/lab/lab-checkout.js'
import { newest } from '../../src/embedded/engine.js'
import { nightly, nightTest, nightEngines } from '../../test/scope.js'

const FRESHET = fileURLToPath(new URL('../../bin/freshet.js', import.meta.url))
const engines = await nightEngines()
const newestEngine = /** @type {import('../../test/servers.js').Engine} */ (newest(engines))
const SETTINGS = {
  ids: 400,
  valueBytes: 32,
  valueChange: 'always',
  batchItems: 100,
  layout: 'ids',
  windowMs: 60_000,
  maxItems: 0,
  rate: 4000,
  writers: 1,
  warmUp: 0.2,
  duration: 1
}

/**
 * Begins a measurement. `servers` resolves when they are open, `ended` to its sample or to the error that it threw, and
 * then to what it left behind.
 * @param {import('tap').Test} t
 * @param {{ load?: string, settings?: object, rttMs?: number, program?: string, replicas?: number, signal?: AbortSignal }} [options]
 */
function begin (t, {
  load = 'writer', settings = {}, rttMs = 0, program = newestEngine.program, replicas = 1, signal = new AbortController().signal
} = {}) {
  const folder = t.testdir()
  /** @type {(servers: import('../../lab/servers/own.js').LabServers) => void} */
  let tellServers
  const servers =
    /** @type {Promise<import('../../lab/servers/own.js').LabServers>} */ (new Promise((resolve) => { tellServers = resolve }))
  const sample = measure({ level: 'slow', arm: 'ids', round: 1, load, settings: { ...SETTINGS, ...settings } }, {
    async openServers () {
      const opened = await openOwnServers({ program, replicas, folder, signal })
      tellServers(opened)
      return opened
    },
    rttMs,
    signal,
    env: process.env,
    writerCommand: (of) => [FRESHET, 'writer', ...flagsOf(of), '--log-level', 'warn'],
    gatewayCommand: (of) => [FRESHET, 'gateway', ...flagsOf(of), '--log-level', 'error'],
    readerCommand: () => []
  })
  sample.catch(() => {})
  return {
    servers,
    sample,
    /** Until items are on the primary. */
    async underWay () {
      const { primaryUrl } = await servers
      await until(async () => await queryNode(primaryUrl, (connection) => connection.send('DBSIZE')) > 0)
    },
    /** Of the load, and of servers and a relay, as long as they are there. */
    processes: () => descendantsOf(process.pid),
    left: () => readdir(folder)
  }
}

/** @param {{ pid: number, args: string }[]} processes @param {RegExp} pattern */
const pidOfOne = (processes, pattern) => Number(processes.find(({ args }) => pattern.test(args))?.pid)

for (const engine of nightly(engines, [newestEngine])) {
  const [writers, rate, layout] = engine === newestEngine ? [2, 4000, 'values'] : [1, 4000, 'ids']
  t.test(`${engineName(engine)}, open loop: what was acknowledged is there, and all figures are`, async (t) => {
    const { servers, sample: promise, left } = begin(t,
      { program: engine.program, replicas: 2, settings: { writers, rate, layout, warmUp: 1 } })
    const pids = await pidsOf(await servers)
    const sample = await promise
    t.same(sample.invariants.filter(({ ok }) => !ok), [])
    t.match(sample,
      { arm: 'ids', level: 'slow', round: 1, valid: true, error: null, refused: {}, failed: 0, retried: 0, planned: rate * writers })
    t.ok(sample.items > 0 && sample.itemsPresent === sample.itemsAcknowledged)
    t.ok(sample.items < sample.itemsAcknowledged, 'L2, L8: items of the warm-up are there, and in no figure')
    t.equal(sample.offered, sample.items + sample.dropped, 'L3, L4: every item has an outcome')
    t.ok(sample.seconds > 0)
    t.match(sample.ledger, { missing: 0, foreign: 0, misplaced: 0, nodesEqual: true })
    t.same(sample.nodes.map(({ role, engine }) => [role, engine]),
      ['primary', 'replica', 'replica'].map((role) => [role, engineName(engine)]))
    for (const { cpuMicrosPerItem, netInputBytes, commands, fullSyncs } of sample.nodes) {
      t.ok(Number(cpuMicrosPerItem) > 0 && netInputBytes > 0 && commands > 0 && fullSyncs === 0)
    }
    t.ok(sample.generator.processes === writers && sample.generator.cpuSeconds > 0 && sample.generator.loopUse > 0,
      'L7: what the load itself took')
    t.same(await stillThere(pids.map((pid) => ({ pid, args: 'server' }))), [])
    t.same(await left(), [])
  })
}

nightTest('L8: a closed loop sends as fast as possible, and nothing is planned', async (t) => {
  const sample = await begin(t, { settings: { rate: 0, warmUp: 1 } }).sample
  t.match(sample, { valid: true, error: null, planned: null, dropped: 0, failed: 0 })
  t.ok(sample.items > 0 && sample.items < sample.itemsAcknowledged)
  t.notOk(sample.marks.includes('behind'), 'there is no rate to be behind')
})

t.test('L17: how late a flush is counts from when it was due, so a load that stood still shows it', async (t) => {
  const { sample: promise, underWay, processes } = begin(t, { settings: { duration: 4 } })
  await underWay()
  const pid = pidOfOne(await processes(), /freshet\.js writer/)
  await pause(700)
  process.kill(pid, 'SIGSTOP')
  await pause(800)
  process.kill(pid, 'SIGCONT')
  const sample = await promise
  t.match(sample, { valid: true, error: null })
  t.ok(Number(sample.behindMs?.max) > 500, `${sample.behindMs?.max} ms`)
})

nightTest('L16: with a delay the load goes through it, and it ends with the measurement', async (t) => {
  const { servers, sample: promise, underWay, processes } = begin(t, { load: 'reference', rttMs: 1 })
  await servers
  await underWay()
  const during = await processes()
  t.ok(during.some(({ args }) => /delay-process\.js/.test(args)))
  const sample = await promise
  t.match(sample, { valid: true, error: null })
  t.ok(sample.items > 0)
  t.same((await stillThere(during)).filter((args) => /delay-process|load-process|valkey|redis/.test(args)), [])
})

for (const [what, which] of /** @type {const} */ ([['primary', 0], ['replica', 1]])) {
  const test = which === 0 ? t.test.bind(t) : nightTest
  test(`L14: a ${what} that ends in the middle is the outcome of this measurement, and nothing is left`, async (t) => {
    const { servers, sample: promise, underWay, processes, left } = begin(t, { settings: { duration: 600 } })
    const { primaryUrl, replicaUrls } = await servers
    await underWay()
    const during = await processes()
    process.kill(await pidOf([primaryUrl, ...replicaUrls][which]), 'SIGKILL')
    const sample = await promise
    t.match(sample, {
      arm: 'ids',
      valid: false,
      items: 0,
      nodes: { length: 0 },
      error: {
        code: 'SERVER_LOST',
        message: new RegExp(`^a server ended during the measurement: the ${what} redis://127\\.0\\.0\\.1:\\d+ ended by SIGKILL$`)
      }
    })
    t.same((await stillThere(during)).filter((args) => /writer|valkey|redis/.test(args)), [])
    t.same(await left(), [])
  })
}

t.test('a gateway is part of the load: what it takes is checked, and it ends with it, whatever ends first', async (t) => {
  const settings = { rate: nightly(0, 2000), ids: 2000, valueBytes: 128, warmUp: 0.5 }
  const { sample: promise, underWay, processes, left } = begin(t, { load: 'gateway', settings })
  await underWay()
  const during = await processes()
  t.ok(during.some(({ args }) => /freshet\.js gateway/.test(args)))
  const sample = await promise
  t.same(sample.invariants.filter(({ ok }) => !ok), [])
  t.match(sample, { valid: true, error: null, refused: {}, failed: 0, planned: nightly(null, 2000) })
  t.ok(sample.items > 0 && sample.generator.cpuSeconds > 0 && Number(sample.flushMs?.p50) > 0)
  t.same((await stillThere(during)).filter((args) => /gateway|load-process|valkey|redis/.test(args)), [])
  t.same(await left(), [])

  const ends = /** @type {[RegExp, RegExp][]} */ ([[/freshet\.js gateway/, /the gateway/],
    [/load-process/, /the load gateway was ended by SIGKILL/]])
  for (const [pattern, message] of nightly(ends, [])) {
    const killed = begin(t, { load: 'gateway', settings: { ...settings, duration: 600 } })
    await killed.underWay()
    const running = await killed.processes()
    process.kill(pidOfOne(running, pattern), 'SIGKILL')
    t.match(await killed.sample, { valid: false, error: { message } })
    await until(async () => (await stillThere(running)).every((args) => !/gateway|load-process|valkey|redis/.test(args)))
    t.same(await killed.left(), [])
  }
})

nightTest('L14: a load that is killed is the outcome of this measurement', async (t) => {
  const { sample: promise, underWay, processes, left } = begin(t, { settings: { duration: 600 } })
  await underWay()
  process.kill(pidOfOne(await processes(), /freshet\.js writer/), 'SIGKILL')
  t.match(await promise, { valid: false, error: { code: 'LOAD_FAILED', message: /^the load writer was ended by SIGKILL/ } })
  t.same(await left(), [])
})

nightTest('a load that somebody stops has measured nothing', async (t) => {
  const { sample: promise, underWay, processes } = begin(t, { settings: { duration: 600 } })
  await underWay()
  process.kill(pidOfOne(await processes(), /freshet\.js writer/), 'SIGTERM')
  t.match(await promise,
    { valid: false, items: 0, error: { code: 'LOAD_FAILED', message: /ended early, after [\d.]+ s of 600 s|ended with status 0/ } })
})

t.test('a lab that is stopped in the middle ends without waiting, and nothing is left', async (t) => {
  const stopping = new AbortController()
  const { sample: promise, underWay, processes, left } = begin(t, { settings: { duration: 600, writers: 2 }, signal: stopping.signal })
  await underWay()
  const during = await processes()
  t.ok(during.filter(({ args }) => /writers\/worker/.test(args)).length === 2, 'two writers are processes of their own')
  stopping.abort('SIGINT')
  await t.rejects(promise, { code: 'LAB_STOPPED', message: /completed measurements are kept/ })
  t.same((await stillThere(during)).filter((args) => /writer|valkey|redis/.test(args)), [])
  t.same(await left(), [])
})

t.test('a lab that is stopped while servers start ends with the same error', async (t) => {
  const stopping = new AbortController()
  const { sample: promise, left } = begin(t, { signal: stopping.signal })
  await until(async () => (await left()).length > 0)
  stopping.abort('SIGINT')
  await t.rejects(promise, { code: 'LAB_STOPPED' })
  t.same(await left(), [])
  await t.rejects(begin(t, { signal: stopping.signal }).sample, { code: 'LAB_STOPPED' }, 'nothing is begun any more')
})

t.test('servers that cannot be had are no outcome of an arm', async (t) => {
  await t.rejects(begin(t, { program: join(t.testdir(), 'no-server') }).sample, { code: 'SERVERS_FAILED' })
})
