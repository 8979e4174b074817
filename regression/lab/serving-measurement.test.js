/**
 * Serving in a measurement: in its sample, as its outcome when a server ends, and gone when it is stopped.
 */
import { execFileSync } from 'node:child_process'
import t from 'tap'
import { measure } from '../../lab/run/measurement.js'
import { openOwnServers } from '../../lab/servers/own.js'
import { queryNode } from '../../lab/servers/query.js'
import { DEFAULT_PATH } from '../../lab/serving/plan.js'
import { allGone, makeCheckout } from '../../test/embedded/checkout.js'
import { nightTest, scopedEngines } from '../../test/scope.js'
import { commandOf, env } from './serving-commands.js'

const SETTINGS = {
  layout: 'ids',
  ids: 2000,
  valueBytes: 64,
  valueChange: 'always',
  batchItems: 100,
  windowMs: 60_000,
  maxItems: 0,
  rate: 2000,
  writers: 1,
  warmUp: 1
}

const [engine] = await scopedEngines()
const folder = await makeCheckout(t, 'lab')

/** Processes of serving that this one has started. @param {RegExp} [which] of their arguments @returns {number[]} */
const servingPids = (which = /\/lab\/serving\/tell-usage\.js/) => String(execFileSync('ps', ['-A', '-ww', '-o', 'pid=,ppid=,args=']))
  .split('\n')
  .map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [])
  .filter(([, , parent, args]) => Number(parent) === process.pid && which.test(args)).map(([, pid]) => Number(pid))

/** @type {number[]} */
let pids = []

/**
 * @param {'reader' | 'ask' | 'bare'} by
 * @param {{ duration: number, processes?: number, maxClients?: number, signal?: AbortSignal, onUp?: () => void }} how `maxClients`: of
 *   each replica
 */
const measured = (by, { duration, processes = 1, maxClients, signal = new AbortController().signal, onUp = () => {} }) => measure({
  level: 'one',
  arm: 'it',
  round: 1,
  load: 'writer',
  settings: { ...SETTINGS, duration },
  serving: { by, asks: 'pages', processes, connections: 8, everyMs: 100, path: DEFAULT_PATH, settings: {} }
}, {
  async openServers () {
    const servers = await openOwnServers({ program: engine.program, replicas: 1, folder })
    for (const url of maxClients ? servers.replicaUrls : []) {
      await queryNode(url, (connection) => connection.send('CONFIG', 'SET', 'maxclients', Number(maxClients)))
    }
    return servers
  },
  rttMs: 0,
  signal,
  env,
  readerCommand: commandOf('reader'),
  gatewayCommand: commandOf('gateway'),
  writerCommand (of) {
    // serving is up when the load begins
    pids = servingPids()
    onUp()
    return commandOf('writer')(of)
  }
})

t.test('a sample has what was requested and served beside what was written', async (t) => {
  const sample = await measured('reader', { duration: 4 })
  t.equal(sample.error, null, JSON.stringify(sample.error))
  t.same(sample.invariants.filter(({ ok }) => !ok), [])
  t.ok(sample.valid)
  t.ok(sample.serving && sample.serving.requests.answered > 0)
  t.ok(Number(sample.serving?.seconds) < sample.seconds, 'the window of the client is within that of the load')
  t.ok(sample.invariants.some(({ name }) => name === 'responses are correct'))
  t.equal(pids.length, 2)
  await allGone(...pids)
})

nightTest('L14: a server that ends is the outcome of a measurement', async (t) => {
  const sample = await measured('ask',
    { duration: 10, onUp: () => setTimeout(() => process.kill(servingPids(/serve-process\.js/)[0], 'SIGKILL'), 2500) })
  t.match(sample, { valid: false, error: { code: 'SERVING_FAILED', message: /the server ask was ended by SIGKILL/ } })
  t.equal(pids.length, 2)
  await allGone(...pids)
})

nightTest('L14: more readers than a server allows connections are the outcome, with the reason', async (t) => {
  const sample = await measured('reader', { duration: 4, processes: 4, maxClients: 3 })
  // of the readers, or of the lab, which asks the same servers
  t.match(sample, {
    valid: false, error: { code: /^(SERVING_FAILED|SERVER_UNREACHABLE)$/, message: /REPLICAS_GONE|max number of clients reached/ }
  })
  await allGone(...pids)
})

nightTest('a stopped measurement leaves no process', async (t) => {
  const controller = new AbortController()
  await t.rejects(measured('bare', { duration: 10, signal: controller.signal, onUp: () => setTimeout(() => controller.abort(), 1500) }),
    { code: 'LAB_STOPPED' })
  t.equal(pids.length, 2)
  await allGone(...pids)
})
