import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { connectFor, eventually, startServer } from '../servers.js'
import { newestOf, runWriter, startWriter, storedIn, untilStored } from './synthetic.js'
import { nightly, scopedEngines, wholeTest } from '../scope.js'

const RATE = nightly(40_000, 20_000)
const [engine] = await scopedEngines()
t.jobs = 3
t.setTimeout(300_000)

wholeTest('connections cut again and again cost only the sending', { buffered: true }, async (t) => {
  const server = await startServer(t, { engine })
  const admin = await connectFor(t, server.url)
  const run = { items: 2 * RATE, ids: 3_000 }
  const writer = startWriter(t, server.url, ['--rate', `${RATE}`, '--items', `${run.items}`, '--ids', `${run.ids}`])
  await untilStored(t, server.url, run.ids)
  let cuts = 0
  const cutter = setInterval(() => admin.send('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes').then(() => cuts++), 150)
  t.teardown(() => clearInterval(cutter))
  const { code, summary } = await writer.ended()
  clearInterval(cutter)
  t.equal(code, 0)
  // items that were stored, but whose acknowledgement was cut off, count as late when newer ones came before they are sent again
  t.match(summary, { offered: run.items, failed: 0, dropped: 0 })
  t.equal(summary.items + (summary.refusedBy?.late ?? 0), run.items)
  t.comment(`${cuts} cuts, ${summary.retried} items were sent again`)
  t.ok(cuts > 1)
  t.same(await storedIn(t, server.url), newestOf(run))
})

t.test('what a frozen server had received and not yet read never comes to lie over newer versions', { buffered: true }, async (t) => {
  const server = await startServer(t, { engine })
  const ids = 3000
  // what is sent again after each loss is little, so a busy server answers it within the deadline
  const writer = startWriter(t, server.url,
    ['--rate', `${RATE}`, '--ids', `${ids}`, '--deadline-ms', '1000', '--in-flight-bytes', '1048576'])
  await untilStored(t, server.url, ids)
  const admin = await connectFor(t, server.url)
  const received = async () => Number(/total_net_input_bytes:(\d+)/.exec(String(await admin.send('INFO', 'stats')))?.[1])
  for (let freezes = 1; freezes <= 2; freezes++) {
    // a connection that is not there again cannot be lost
    const before = await received()
    await eventually(async () => await received() > before + 500_000)
    server.freeze()
    await eventually(() => writer.stderr.split('connection to the primary lost').length > freezes)
    server.thaw()
  }
  const { code, summary, stderr } = await writer.stop()
  t.equal(code, 0)
  // items that the server stored, but did not acknowledge in time, count as late when they are sent again
  t.match(summary, { failed: 0, dropped: 0 })
  t.equal(summary.items + (summary.refusedBy?.late ?? 0), summary.offered)
  t.match(stderr, /silent for 1000 ms/)
  t.same(await storedIn(t, server.url), newestOf({ items: summary.offered, ids }))
})

wholeTest('a server without memory left is waited for', { buffered: true }, async (t) => {
  const server = await startServer(t, { engine, args: ['--maxmemory', '8mb', '--maxmemory-policy', 'noeviction'] })
  const admin = await connectFor(t, server.url)
  const run = { items: 40_000, ids: 40_000 }
  const writer = startWriter(t, server.url, ['--rate', '0', '--items', `${run.items}`, '--ids', `${run.ids}`, '--value-bytes', '512'])
  await eventually(() => /"retried":[1-9]/.test(writer.stderr))
  await admin.send('CONFIG', 'SET', 'maxmemory', '0')
  const { code, summary } = await writer.ended()
  t.equal(code, 0)
  t.match(summary, { offered: run.items, items: run.items, failed: 0, refused: 0 })
  t.same(await storedIn(t, server.url), newestOf(run))
})

wholeTest('a primary that comes back as a replica is not written to', { buffered: true }, async (t) => {
  const server = await startServer(t, { engine })
  const other = await startServer(t, { engine })
  const admin = await connectFor(t, server.url)
  const writer = startWriter(t, server.url, ['--rate', '5000', '--ids', '1000000', '--drain-ms', '200'])
  await untilStored(t, server.url, 1000)
  await admin.send('REPLICAOF', '127.0.0.1', other.port)
  await writer.until(/connection to the primary lost/)
  const { code, summary } = await writer.stop()
  t.equal(code, 1)
  t.ok(summary.failed > 0)
  t.equal(summary.offered, summary.items + summary.failed)
})

for (const { whenFull, counted, reasons } of [{ whenFull: 'drop', counted: 'dropped', reasons: [] },
  { whenFull: 'refuse', counted: 'refused', reasons: ['full'] }]) {
  t.test(`--when-full ${whenFull}: what finds no room while the server is frozen is counted, the rest arrives`, {
    buffered: true
  }, async (t) => {
    const server = await startServer(t, { engine })
    const writer = startWriter(t, server.url,
      ['--rate', '10000', '--ids', '1000000', '--in-flight-bytes', '262144', '--when-full', whenFull])
    await untilStored(t, server.url, 1000)
    server.freeze()
    await eventually(() => new RegExp(`"${counted}":[1-9]`).test(writer.stderr))
    server.thaw()
    const { code, summary } = await writer.stop()
    t.equal(code, 0)
    t.same(Object.keys(summary.refusedBy), reasons)
    t.equal(summary.failed, 0)
    t.equal(summary.offered, summary.items + summary.dropped + summary.refused)
    t.equal((await storedIn(t, server.url)).length, summary.items)
  })
}

wholeTest('a second Ctrl-C does not wait for a dead server', { buffered: true }, async (t) => {
  const server = await startServer(t, { engine })
  const writer = runWriter(t, server.url, ['--rate', '1000', '--drain-ms', '600000'])
  await untilStored(t, server.url, 100)
  await server.kill()
  await writer.until(/connection to the primary lost/)
  const ended = writer.stop()
  await writer.until(/"msg":"stopping/)
  await pause(1500)
  t.equal(writer.stdout, '', 'the first waits for it')
  t.equal((await writer.stop()).code, 1)
  t.equal((await ended).code, 1)
})
