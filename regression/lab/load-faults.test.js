/**
 * Loads of the lab that are stopped, left alone or failed by their server: each ends, and says with a code why.
 */
import t from 'tap'
import { loadOf, storageOf } from '../../lab/loads/index.js'
import { connectFor, eventually, startServer } from '../../test/servers.js'
import { ledgerOf, runLoad, startLoad } from '../../test/lab/load.js'
import { settingsWith } from './load-settings.js'
import { scopedEngines, wholeTest } from '../../test/scope.js'

const [anyEngine] = await scopedEngines()
t.test('a stopped load ends early, and all it sent is acknowledged', async (t) => {
  const server = await startServer(t, { engine: anyEngine })
  for (const [load, writers] of /** @type {[string, number][]} */ ([['reference', 1], ['library', 1], ['blob', 2]])) {
    const settings = settingsWith({ rate: 5000, writers, duration: 600 })
    const run = startLoad(t, { load, settings, redisUrl: server.url })
    await run.measuring()
    await eventually(async () => (await (await connectFor(t, server.url)).send('DBSIZE')) > 0)
    run.child.send({ event: 'stop' })
    const said = await run.ended()
    t.match(said, { status: 0, failed: null, summary: { failed: 0, dropped: 0 } }, load)
    t.match(await ledgerOf(t, server, { settings, acknowledged: said.acknowledged ?? [], storage: storageOf(load, settings) }),
      { missing: 0, foreign: 0, misplaced: 0, detail: [] })
  }
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

wholeTest('a server that runs out of memory, loses its scripts or dies is an outcome with a code', async (t) => {
  const small = await startServer(t, { engine: anyEngine, args: ['--maxmemory', '8mb'] })
  const settings = () => settingsWith({ ids: 200_000, valueBytes: 512, duration: 60, drainMs: 300 })
  for (const load of ['reference', 'blob', 'script-per-batch', 'pipelined-commands', 'multi-commands']) {
    const said = await runLoad(t, { load, settings: { ...settings(), batchItems: 1000 }, redisUrl: small.url })
    t.match(said, {
      status: 1, acknowledged: null, summary: null, failed: { code: 'SERVER_FULL', message: /OOM/ }, stderr: /^SERVER_FULL: [^\n]*\n$/
    }, load)
  }
  // it waits for room, as long as it is given
  const other = await startServer(t, { engine: anyEngine, args: ['--maxmemory', '8mb'] })
  t.match(await runLoad(t, { load: 'library', settings: { ...settings(), duration: 5 }, redisUrl: other.url }),
    { status: 1, failed: { code: 'SERVER_FULL', message: /not acknowledged within 300 ms/ } })

  const server = await startServer(t, { engine: anyEngine })
  const scripted = startLoad(t, { load: 'script-per-item', settings: settingsWith({ rate: 1000, duration: 60 }), redisUrl: server.url })
  await scripted.measuring()
  await (await connectFor(t, server.url)).send('SCRIPT', 'FLUSH')
  t.match(await scripted.ended(), { status: 1, failed: { code: 'SERVER_LOST', message: /NOSCRIPT/ } })

  const running = ['reference', 'blob'].map((load) =>
    startLoad(t, { load, settings: settingsWith({ rate: 1000, duration: 60 }), redisUrl: server.url }))
  await Promise.all(running.map((run) => run.measuring()))
  await server.kill()
  for (const run of running) {
    t.match(await run.ended(), { status: 1, acknowledged: null, failed: { code: 'SERVER_LOST', message: /ended .* before the reply/ } })
  }
  t.match(await runLoad(t, { load: 'reference', settings: settingsWith(), redisUrl: server.url }),
    { status: 1, failed: { code: 'SERVER_UNREACHABLE' } })
})

wholeTest('an impossible load is refused before it writes', async (t) => {
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
    t.match(await runLoad(t, { load, settings: settingsWith(more), redisUrl: server.url }),
      { status: 1, acknowledged: null, failed: { code: 'LOAD_FAILED', message } })
  }
  t.equal(await (await connectFor(t, server.url)).send('DBSIZE'), 0)
  t.throws(() => loadOf('no-such'), { code: 'LOAD_FAILED' })
})
