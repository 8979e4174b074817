/**
 * The lab's own loads on real servers: what they acknowledge is what the servers hold, and what they say of themselves adds up. Most
 * run in the process of the test, as their own processes run them.
 */
import t from 'tap'
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { flagsOf } from '../../settings.js'
import { loadNames, storageOf } from '../../lab/loads/index.js'
import { gatewaySettings } from '../../lab/loads/gateway.js'
import { PUBLISHED_STRUCTURES } from '../../lab/loads/published.js'
import { percentilesInOrder } from '../../lab/analysis/percentiles.js'
import { capabilities } from '../../src/store/nodes.js'
import { createAuthority, tlsEngines } from '../../test/certificates.js'
import { runCommand } from '../../test/commands.js'
import { connectFor, engineName, startDeployment, startServer } from '../../test/servers.js'
import { ledgerOf, loadHere, runLoad, untilLevel } from '../../test/lab/load.js'
import { settingsWith } from './load-settings.js'
import { nightly, scopedEngines } from '../../test/scope.js'

const FRESHET = fileURLToPath(new URL('../../bin/freshet.js', import.meta.url))
const engines = await scopedEngines()
const [anyEngine] = engines
const NOTHING_WRONG = { missing: 0, foreign: 0, misplaced: 0 }
/** @type {[string, Record<string, any>][]} */
const VARIANTS = [
  ['library', { layout: 'values' }],
  ['library', { layout: 'segments', partitions: 2 }],
  ['library', { layout: 'stream' }],
  ['library', { layout: 'values', valueChange: 'never', partitions: 3 }],
  ['published-values', { valueChange: 'never' }],
  ['script-per-batch', { valueChange: 'never' }],
  ...nightly(/** @type {[string, {}][]} */ ([['gateway', { layout: 'segments', partitions: 2 }]]), [])
]
/** nothing in them is done otherwise by another engine */
const ON_ONE = ['list', ...Object.keys(PUBLISHED_STRUCTURES)]
/** Whether a load runs on every engine. @param {string} load */
const isForAll = (load) => nightly(!ON_ONE.includes(load), NEEDS_MSETEX.includes(load))
const NEEDS_MSETEX = ['msetex', 'newest-script']
/** loads that write at the same time, each into a feed of its own */
const AT_ONCE = 3
/** @param {Record<string, any>} settings @returns {string[]} arguments of node */
const gatewayCommand = (settings) => [FRESHET, 'gateway', ...flagsOf(gatewaySettings(settings)), '--log-level', 'error']

/** @param {import('tap').Test} t @param {import('../../test/lab/load.js').Said} said @param {Record<string, any>} more */
function saysWhatAddsUp (t, { status, measuring, summary, failed, stderr }, more = {}) {
  t.match({ status, measuring, failed, stderr }, { status: 0, measuring: true, failed: null, stderr: '' })
  const {
    offered, items, refused, dropped, failed: lost, retried, seconds, behindMs, flushMs, loopUse, writerCpuMicrosPerItem, bytes
  } = summary
  t.match(summary, { event: 'summary', feed: /^f/, refusedBy: {}, nodes: { length: 0 }, retried: 0, failed: 0, ...more })
  t.equal(offered, items + refused + dropped + lost, 'every item has one outcome')
  t.ok(items > 0 && seconds > 0 && bytes === items * 128 && retried === 0)
  t.ok(percentilesInOrder(behindMs))
  t.ok(percentilesInOrder(flushMs) && flushMs.max > 0)
  t.ok(loopUse > 0 && loopUse <= 1 && writerCpuMicrosPerItem > 0)
}

for (const engine of engines) {
  t.test(`${engineName(engine)}: what a load acknowledges is what primary and replica hold`, async (t) => {
    const { primary, replicas: [replica] } = await startDeployment(t, { engine, replicas: 1 })
    const { msetex } = await capabilities(await connectFor(t, primary.url))
    /** @param {string} load @param {Record<string, any>} more */
    async function check (load, more) {
      // no multiple of the ids, so that the last round is not whole
      const settings = settingsWith({ items: 2321, ...more })
      const said = await loadHere({ load, settings, redisUrl: primary.url, replicaUrls: [replica.url], gateway: gatewayCommand(settings) })
      if (NEEDS_MSETEX.includes(load) && !msetex) {
        return t.match(said, {
          status: 1,
          acknowledged: null,
          failed: { code: 'SERVER_REFUSED', message: /has no MSETEX.*needs Valkey 9.1/ },
          stderr: /^SERVER_REFUSED: .*has no MSETEX/
        })
      }
      const what = `${load} ${JSON.stringify(more)}`
      saysWhatAddsUp(t, said, { engine: engineName(engine) })
      t.same(said.acknowledged, [2321], what)
      await untilLevel(t, primary, replica)
      const run = { settings, acknowledged: [2321], storage: storageOf(load, settings) }
      const [one, other] = [await ledgerOf(t, primary, run), await ledgerOf(t, replica, run)]
      t.match(one, { ...NOTHING_WRONG, acknowledged: 2321, detail: { length: 0 } }, what)
      t.match(other, { ...NOTHING_WRONG, digest: one.digest }, `${what} on the replica`)
    }

    /** @type {[string, Record<string, any>][]} */
    const runs = [...loadNames().filter((load) => engine === anyEngine || isForAll(load))
      .map((load) => /** @type {[string, {}]} */ ([load, load === 'reference-burst' ? { rate: 3000, duration: 1.5 } : {}])),
    ...(engine === anyEngine ? VARIANTS : [])]
    while (runs.length) await Promise.all(runs.splice(0, AT_ONCE).map(([load, more]) => check(load, more)))
    const connection = await connectFor(t, primary.url)
    t.same(await connection.send('FUNCTION', 'LIST').catch(() => []), [], 'no function is left')
  })
}

t.test('the writer itself is held to the same ledger', async (t) => {
  const server = await startServer(t, { engine: anyEngine })
  const runs = /** @type {[string, string, number][]} */ ([['values', 'always', 2], ['ids', 'never', 1]])
  for (const [layout, valueChange, writers] of nightly(runs, runs.slice(0, 1))) {
    const settings = settingsWith({ layout, valueChange, writers })
    const flags = Object.entries({
      feed: settings.feed,
      source: 'synthetic',
      layout,
      'value-change': valueChange,
      items: 2345,
      writers,
      ids: 1000,
      rate: 0,
      'key-prefix': 'lab:',
      'redis-url': server.url,
      'log-level': 'warn'
    })
    const { code, summary } = await runCommand(t, ['writer', ...flags.flatMap(([flag, value]) => [`--${flag}`, String(value)])]).ended()
    t.match({ code, items: summary.items }, { code: 0, items: 2345 * writers })
    t.match(await ledgerOf(t, server, { settings, acknowledged: Array(writers).fill(2345), storage: storageOf('writer', settings) }),
      { ...NOTHING_WRONG, detail: { length: 0 } }, `${layout}, ${valueChange}`)
  }
})

t.test('with a rate the items of the window are those that were planned, warm-up left out', async (t) => {
  const server = await startServer(t, { engine: anyEngine })
  await Promise.all(/** @type {[string, Record<string, any>][]} */ ([['reference', {}],
    ['blob', { pace: 'burst', periodMs: 200, chunks: 2 }], ['library', {}]]).map(async ([load, more]) => {
    const settings = settingsWith({ rate: 2000, warmUp: 0.5, duration: 1, ...more })
    const said = await loadHere({ load, settings, redisUrl: server.url })
    saysWhatAddsUp(t, said)
    const [acknowledged] = said.acknowledged ?? []
    t.equal(acknowledged, 3000, `${load}: all that was due in 1.5 s`)
    // what the machine kept from being sent in the warm-up belongs to the window
    t.ok(said.summary.items <= acknowledged && said.summary.items >= 1000, `${load}: ${said.summary.items}`)
    t.match(await ledgerOf(t, server, { settings, acknowledged: [acknowledged], storage: storageOf(load, settings) }),
      { ...NOTHING_WRONG, detail: { length: 0 } })
  }))
  const within = await loadHere({ load: 'pipelined-commands', settings: settingsWith({ items: 500, warmUp: 600 }), redisUrl: server.url })
  t.match(within, { status: 0, measuring: false, acknowledged: [500], summary: { items: 0, offered: 0, batches: 0, seconds: 0 } },
    'it ended within its warm-up')
})

t.test('several writers are processes of one load', async (t) => {
  const server = await startServer(t, { engine: anyEngine })
  const settings = settingsWith({ writers: 2, items: 1111 })
  const whole = await runLoad(t, { load: 'published-values', settings, redisUrl: server.url })
  saysWhatAddsUp(t, whole, { writers: 2, items: 2222 })
  t.same(whole.acknowledged, [1111, 1111])
  t.match(await ledgerOf(t, server, { settings, acknowledged: [1111, 1111], storage: 'published-values' }),
    { ...NOTHING_WRONG, detail: { length: 0 } })
  const said = await runLoad(t, { load: 'msetex', settings: settingsWith({ writers: 2, windowMs: 0 }), redisUrl: server.url })
  t.match(said, { status: 1, acknowledged: null, failed: { code: 'LOAD_FAILED', message: /windowMs 0/ } })
})

t.test('servers that speak TLS and ask for a password are written to as others are', async (t) => {
  const [engine] = await tlsEngines()
  if (!engine) return t.pass('no engine here speaks TLS')
  const server = await startServer(t,
    { engine, tls: await (await createAuthority(t)).issue('server'), args: ['--requirepass', 'secret-4711'] })
  const redisUrl = server.url.replace('//', '//:secret-4711@')
  for (const load of ['reference', 'msetex', 'pipelined-commands']) {
    const order = { load, settings: settingsWith({ items: 500 }), redisUrl }
    // what a process prints is looked at too
    const said = load === 'reference' ? await runLoad(t, order) : await loadHere(order)
    if (!said.failed || load !== 'msetex') saysWhatAddsUp(t, said)
    t.notMatch(JSON.stringify(said), /secret-4711/)
  }
  for (const load of ['reference', 'blob']) {
    t.match(await loadHere({ load, settings: settingsWith(), redisUrl: server.url }), { status: 1, failed: { code: 'SERVER_REFUSED' } })
  }
})

t.test('it is no command', async (t) => {
  const file = fileURLToPath(new URL('../../lab/loads/load-process.js', import.meta.url))
  const { status, stderr } = spawnSync(process.execPath, [file], { encoding: 'utf8' })
  t.match({ status, stderr }, { status: 2, stderr: /started by the lab/ })
})

t.test('whatever a plan says of batches, the reference sends a SETEX an item and a ZADD for 1,000, a blob holds 1,000', async (t) => {
  /** @param {import('../../src/store/connection.js').Connection} connection @returns {Promise<Record<string, number>>} */
  const callsOf = async (connection) => Object.fromEntries([...String(await connection.send('INFO', 'commandstats'))
    .matchAll(/cmdstat_(\w+):calls=(\d+)/g)].map(([, name, calls]) => [name, Number(calls)]))
  /** @type {[string, Record<string, any>, Record<string, number>][]} */
  const runs = [
    ['reference', { rate: 0, items: 5000 }, { setex: 5000, zadd: 5 }],
    ['reference', { rate: 4000, warmUp: 0.25, duration: 0.75 }, { setex: 4000, zadd: 4 }],
    ['reference', { rate: 4000, duration: 0.6 }, { setex: 2400, zadd: 3 }],
    ['reference-burst', { rate: 2000, duration: 1.5 }, { setex: 4000, zadd: 4 }],
    ['blob', { rate: 0, items: 5000 }, { set: 5 }]
  ]
  await Promise.all(runs.map(async ([load, more, calls]) => {
    const server = await startServer(t, { engine: anyEngine })
    const settings = settingsWith({ batchItems: 10, ...more })
    const { status, acknowledged } = await loadHere({ load, settings, redisUrl: server.url })
    const what = `${load} ${JSON.stringify(more)}`
    t.same([status, acknowledged], [0, [calls.setex ?? 5000]], what)
    t.match(await callsOf(await connectFor(t, server.url)), calls, what)
  }))
})
