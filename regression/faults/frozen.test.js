import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { residentMib } from '../../test/commands.js'
import { caughtUp, startOwnFlow } from '../../test/flow/flow.js'
import { eventually } from '../../test/servers.js'
import { newestOf, numbersOf } from '../../test/faults/synthetic.js'
import { nightly, scopedEngines } from '../../test/scope.js'

const FROZEN_MS = nightly(30_000, 5000)
const GROWTH_MIB = 64
/** it starts a process each time */
const SAMPLE_MS = nightly(250, 1000)
const RATE = 25_000
const [engine] = await scopedEngines()
t.setTimeout(300_000)

t.test(`a primary frozen for ${FROZEN_MS / 1000} s at 25,000 items/s: bounded memory, nothing lost, the writer catches up`, async (t) => {
  const { primary, replicas, reader, runWriter } = await startOwnFlow(t, { engine })
  const run = { items: nightly(36, 11) * RATE, ids: nightly(100_000, 20_000) }
  // on a busy machine, what is on its way at the end takes longer than the default of 10 s
  const writer = runWriter(t, ['--rate', `${RATE}`, '--items', `${run.items}`, '--ids', `${run.ids}`, '--drain-ms', '120000'])
  const most = { before: 0, frozen: 0, after: 0 }
  /** @type {keyof typeof most} */
  let phase = 'before'
  async function sample () {
    const now = phase
    most[now] = Math.max(most[now], await residentMib(writer.pid))
  }
  const sampler = setInterval(sample, SAMPLE_MS)
  t.teardown(() => clearInterval(sampler))

  // every buffer that the load needs is there already
  await eventually(() => /"items":[1-9]\d*,"itemsPerSecond"/.test(writer.stderr))
  await pause(2000)
  primary.freeze()
  phase = 'frozen'
  await writer.until(/connection to the primary lost/)
  t.equal((await reader.ask('/v1/feeds/latest/count')).status, 200, 'replicas answer what they have')
  await pause(FROZEN_MS)
  t.equal((await reader.ask('/readyz')).status, 200)
  phase = 'after'
  primary.thaw()
  await sample()

  const { code, summary } = await writer.ended()
  clearInterval(sampler)
  t.equal(code, 0)
  t.match(summary, { offered: run.items, items: run.items, refused: 0, dropped: 0, failed: 0 })
  t.ok(summary.behindMs.max > FROZEN_MS / 2, 'lateness counts from the intended time')
  t.comment(`resident at most ${Object.entries(most).map(([when, mib]) => `${Math.round(mib)} MiB ${when}`).join(', ')}; ` +
    `${summary.retried} items were sent again; all acknowledged ${(summary.seconds - run.items / RATE).toFixed(1)} s after the last was ` +
    'due')
  t.ok(most.frozen > 0 && most.frozen - most.before <= GROWTH_MIB, 'while frozen')
  t.ok(most.after > 0 && most.after - most.before <= GROWTH_MIB, 'while catching up')

  await caughtUp({ primary, replicas })
  t.same(numbersOf(await reader.allItems('latest', 'limit=10000&encoding=json')), newestOf(run), 'the newest of every id')
})
