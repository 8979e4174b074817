import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { engineName, startServer } from '../../test/servers.js'
import { newestOf, runWriter, startWriter, storedIn, untilStored } from '../../test/faults/synthetic.js'
import { nightly, scopedEngines } from '../../test/scope.js'

const RATE = nightly(20_000, 10_000)
const KEEPS_ALL = ['--appendonly', 'yes', '--appendfsync', 'always']
/** on a busy machine, what is on its way at the end takes longer than the default of 10 s */
const DRAINS = ['--drain-ms', '120000']
t.jobs = 4
t.setTimeout(300_000)

const [engine] = await scopedEngines()
t.test(`${engineName(engine)}: a primary killed and restarted under load loses nothing that was acknowledged, and all of it arrives`, {
  buffered: true
}, async (t) => {
  const server = await startServer(t, { engine, args: KEEPS_ALL })
  // long enough that a busy machine kills before its end
  const run = { items: 6 * RATE, ids: 6 * RATE }
  const writer = runWriter(t, server.url, ['--rate', `${RATE}`, '--items', `${run.items}`, '--ids', `${run.ids}`, '--batch-items', '100',
    ...DRAINS])
  for (const ids of [0.4 * RATE, RATE]) {
    await untilStored(t, server.url, ids)
    await server.kill()
    await pause(300)
    await server.restart()
  }
  const { code, summary, stderr } = await writer.ended()
  t.equal(code, 0)
  t.match(summary, { offered: run.items, items: run.items, failed: 0, dropped: 0, refused: 0 })
  t.match(stderr, /connection to the primary lost/)
  t.comment(`${summary.retried} items were sent again`)
  t.same(await storedIn(t, server.url), newestOf(run))
})

t.test(`${engineName(engine)}: a writer stopped while its primary is dead counts exactly what was acknowledged`, {
  buffered: true
}, async (t) => {
  const server = await startServer(t, { engine, args: KEEPS_ALL })
  const ids = 1_000_000
  const writer = startWriter(t, server.url, ['--rate', '0', '--ids', `${ids}`, '--drain-ms', '200', '--batch-items', '100'])
  await untilStored(t, server.url, 20_000)
  await server.kill()
  await writer.until(/connection to the primary lost/)
  const { code, summary } = await writer.stop()
  t.equal(code, 1)
  t.ok(summary.failed > 0)
  t.equal(summary.offered, summary.items + summary.failed)
  await server.restart()
  const stored = await storedIn(t, server.url)
  t.comment(`${summary.items} acknowledged, ${stored.length} there`)
  t.ok(stored.length >= summary.items && stored.length <= summary.offered)
  t.same(stored, newestOf({ items: stored.length, ids }), 'they were written in order, so the acknowledged ones are all there')
})
