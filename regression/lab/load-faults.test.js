/**
 * Loads of the lab that are stopped, left alone or failed by their server: each ends, and says with a code why.
 */
import t from 'tap'
import { loadOf, storageOf } from '../../lab/loads/index.js'
import { startProxy } from '../../test/proxy.js'
import { connectFor, eventually, startServer } from '../../test/servers.js'
import { ledgerOf, loadHere, startLoad } from '../../test/lab/load.js'
import { settingsWith } from './load-settings.js'
import { scopedEngines } from '../../test/scope.js'

const [anyEngine] = await scopedEngines()
/** a writer tries WATCH after four batches */
const SCRIPTS_AFTER_WATCH = 20

/** @param {Parameters<typeof loadHere>[0]} order @param {() => Promise<unknown>} when */
async function stoppedHere (order, when) {
  const stopping = new AbortController()
  let begin = () => {}
  const measuring = new Promise((resolve) => { begin = () => resolve(null) })
  const ended = loadHere({ ...order, signal: stopping.signal, onMeasuring: begin })
  await Promise.race([measuring, ended])
  await when()
  stopping.abort()
  return ended
}

/** @param {import('tap').Test} t @param {Parameters<typeof startLoad>[1]} order @param {() => Promise<unknown>} when */
async function stoppedProcess (t, order, when) {
  const run = startLoad(t, order)
  await run.measuring()
  await when()
  run.child.send({ event: 'stop' })
  return run.ended()
}

t.test('a stopped load ends early, and all it sent is acknowledged', async (t) => {
  const server = await startServer(t, { engine: anyEngine })
  for (const [load, writers] of /** @type {[string, number][]} */ ([['reference', 1], ['library', 1], ['blob', 2]])) {
    const settings = settingsWith({ rate: 5000, writers, duration: 600 })
    const connection = await connectFor(t, server.url)
    const hasWritten = () => eventually(async () => (await connection.send('DBSIZE')) > 0)
    const order = { load, settings, redisUrl: server.url }
    const said = writers > 1 ? await stoppedProcess(t, order, hasWritten) : await stoppedHere(order, hasWritten)
    t.match(said, { status: 0, failed: null, summary: { failed: 0, dropped: 0 } }, load)
    t.match(await ledgerOf(t, server, { settings, acknowledged: said.acknowledged ?? [], storage: storageOf(load, settings) }),
      { missing: 0, foreign: 0, misplaced: 0, detail: { length: 0 } })
  }
})

t.test('batches sent again, because their replies were lost, meet newer versions of their own ids: the ledger is whole', async (t) => {
  // without WATCH many batches are in flight, once the writer has tried it
  const server = await startServer(t, { engine: anyEngine, args: ['--rename-command', 'WATCH', ''] })
  const proxy = await startProxy(t, server.port)
  const admin = await connectFor(t, server.url)
  const scripts = async () => Number(/cmdstat_evalsha:calls=(\d+)/.exec(await admin.send('INFO', 'commandstats'))?.[1])
  const onMeasuring = () => eventually(async () => await scripts() > SCRIPTS_AFTER_WATCH)
    .then(() => proxy.lines.find(({ name }) => name?.endsWith(':items'))?.goMute())
  const settings = settingsWith({ ids: 50, rate: 1000, duration: 2 })
  const said = await loadHere({ load: 'library', settings, redisUrl: proxy.url, onMeasuring })
  t.match(said, { status: 0, failed: null, summary: { failed: 0 } })
  t.ok(said.summary?.refusedBy.late > 0, `${said.summary?.refusedBy.late} late`)
  t.match(await ledgerOf(t, server, { settings, acknowledged: said.acknowledged ?? [], storage: 'ids' }),
    { missing: 0, foreign: 0, misplaced: 0, detail: { length: 0 } })
})

t.test('it ends when its parent is gone', async (t) => {
  const server = await startServer(t, { engine: anyEngine })
  const run = startLoad(t,
    { load: 'pipelined-commands', settings: settingsWith({ rate: 1000, duration: 600, writers: 2 }), redisUrl: server.url })
  await run.measuring()
  run.child.disconnect()
  t.match(await run.ended(), { status: 1, summary: null })
  const connection = await connectFor(t, server.url)
  await eventually(async () => !String(await connection.send('CLIENT', 'LIST')).includes('freshet-load'))
})

t.test('a server that runs out of memory, loses its scripts or dies is an outcome with a code', async (t) => {
  const small = await startServer(t, { engine: anyEngine, args: ['--maxmemory', '8mb'] })
  const settings = () => settingsWith({ ids: 200_000, valueBytes: 512, duration: 60, drainMs: 300 })
  for (const load of ['reference', 'blob', 'script-per-batch', 'pipelined-commands']) {
    t.match(await loadHere({ load, settings: { ...settings(), batchItems: 1000 }, redisUrl: small.url }), {
      status: 1, acknowledged: null, summary: null, failed: { code: 'SERVER_FULL', message: /OOM/ }, stderr: /^SERVER_FULL: [^\n]*\n$/
    }, load)
  }
  // it waits for room, as long as it is given
  const other = await startServer(t, { engine: anyEngine, args: ['--maxmemory', '8mb'] })
  t.match(await loadHere({ load: 'library', settings: { ...settings(), duration: 5 }, redisUrl: other.url }),
    { status: 1, failed: { code: 'SERVER_FULL', message: /not acknowledged within 300 ms/ } })

  const server = await startServer(t, { engine: anyEngine })
  const flush = async () => { await (await connectFor(t, server.url)).send('SCRIPT', 'FLUSH') }
  const scripted = { load: 'script-per-item', settings: settingsWith({ rate: 1000, duration: 60 }), redisUrl: server.url }
  t.match(await loadHere({ ...scripted, onMeasuring: flush }), { status: 1, failed: { code: 'SERVER_LOST', message: /NOSCRIPT/ } })

  const orderOf = (/** @type {string} */ load) => ({ load, settings: settingsWith({ rate: 1000, duration: 60 }), redisUrl: server.url })
  const run = startLoad(t, orderOf('reference'))
  await run.measuring()
  const here = loadHere({ ...orderOf('blob'), onMeasuring: () => { server.kill() } })
  const lost = { status: 1, acknowledged: null, failed: { code: 'SERVER_LOST', message: /ended .* before the reply/ } }
  t.match(await Promise.all([run.ended(), here]), [lost, lost])
  t.match(await loadHere({ load: 'reference', settings: settingsWith(), redisUrl: server.url }),
    { status: 1, failed: { code: 'SERVER_UNREACHABLE' } })
})

t.test('an impossible load is refused before it writes', async (t) => {
  const server = await startServer(t, { engine: anyEngine })
  /** @type {[string, Record<string, any>, RegExp][]} */
  const wrong = [
    ['no-such', {}, /no load no-such; expected writer, or one of reference, /],
    ['reference', { windowMs: 0 }, /windowMs 0: SETEX needs an expiry/],
    ['pipelined-commands', { windowMs: 0 }, /windowMs 0/],
    ['blob', { valueBytes: 11 }, /valueBytes 11/],
    ['published-values', { valueBytes: 20, writers: 2 }, /valueBytes 20/],
    ['reference-burst', { rate: 0 }, /rate 0 with bursts/]
  ]
  for (const [load, more, message] of wrong) {
    t.match(await loadHere({ load, settings: settingsWith(more), redisUrl: server.url }),
      { status: 1, acknowledged: null, failed: { code: 'LOAD_FAILED', message } })
  }
  t.equal(await (await connectFor(t, server.url)).send('DBSIZE'), 0)
  t.throws(() => loadOf('no-such'), { code: 'LOAD_FAILED' })
})
