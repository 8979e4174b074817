/** The ledger finds what it is there to find: it is shown sums that it has to see, and acks that lie. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { connectFor, engineName, openWriterFor, startServer } from '../../test/servers.js'
import { startFailover } from '../../test/faults/ledger/failover.js'
import { createLedger } from '../../test/faults/ledger/ledger.js'
import { say } from '../../test/faults/ledger/run.js'
import { storedOn } from '../../test/faults/ledger/stored.js'
import { untilAllWait, untilAskedInVain } from '../../test/faults/ledger/waiting.js'
import { scopedEngines } from '../../test/scope.js'

const LIES = 3
const WRITERS = 2
const AHEAD_MS = 30_000
const BETWEEN_MS = 300
const engines = await scopedEngines()

t.test('the ledger counts what is lost, twice there, and never intended', async (t) => {
  const ledger = createLedger()
  ledger.intend(0, 100)
  ledger.acknowledge(0, 50)
  ledger.acknowledge(40, 60)
  const own = (/** @type {number[]} */ ...numbers) => numbers.map((n) => ({ id: n, n }))
  const all = own(...Array(60).keys())
  t.match(ledger.compare(all), { intended: 100, acknowledged: 60, there: 60, lost: 0, doubled: 0, foreign: 0 })
  t.match(ledger.compare([...all, ...own(99)]), { there: 61, lost: 0, doubled: 0, foreign: 0 },
    'intended and not acknowledged may be there')
  t.match(ledger.compare([...all.slice(1), ...own(5, 5, 100)]),
    { lost: 1, doubled: 2, foreign: 1, examples: ['doubled 5', 'doubled 5', 'foreign 100', 'lost 0'] })
  t.match(ledger.compare([...all.slice(0, 59), { id: 1, n: 59 }]), { lost: 1, foreign: 1 }, 'under another id')

  const newest = Array.from({ length: 7 }, (_, id) => ({ id, n: 56 - 7 * Number(id > 3) + id }))
  t.match(ledger.compare(newest, { ids: 7 }), { lost: 0, doubled: 0, foreign: 0 })
  t.match(ledger.compare([...newest.slice(1), { id: 0, n: 63 }], { ids: 7 }), { lost: 0 }, 'a newer one, intended')
  t.match(ledger.compare([...newest.slice(1), { id: 0, n: 49 }], { ids: 7 }), { lost: 1, examples: ['lost 56'] })
  t.match(ledger.compare(newest.slice(1), { ids: 7 }), { lost: 1 })
  t.match(ledger.compare(newest, { ids: 7, keepsAll: true }), { lost: 53 }, 'where every version is kept, each is missed')
})

t.test('what is read from a server is what is there', async (t) => {
  const server = await startServer(t, { engine: engines[0] })
  const admin = await connectFor(t, server.url)
  const writer = await openWriterFor(t, { redisUrl: server.url })
  for (let n = 0; n < 2500; n++) writer.pipeline.append(Buffer.from(String(n)), Date.now(), Buffer.from(`${n} x`))
  await writer.pipeline.flush()
  t.equal((await storedOn(t, server)).length, 2500)
  await admin.send('DEL', 'fr:{latest:0}:item:7')
  await t.rejects(storedOn(t, server), { message: 'id 7 is in the sorted set and has no key' })
  await admin.send('ZREM', 'fr:{latest:0}:ids', '7', '8')
  await t.rejects(storedOn(t, server), { message: 'ZCARD says 2498, 2498 members were read, 2499 keys are there' })
})

t.jobs = 2
t.setTimeout(300_000)
const [engine] = engines
/** @type {{ what: string, ack: string, layout: string, cut: (servers: Awaited<ReturnType<typeof startFailover>>) => void }[]} */
const lies = [
  { what: 'an ack before WAIT', ack: 'early', layout: 'ids', cut: () => {} }
]
for (const { what, ack, layout, cut } of lies) {
  for (const isHonest of [false, true]) {
    t.test(`${engineName(engine)}, ${layout}: ${what} ` +
      `${isHonest ? 'is not what ack: replica does: the same loses nothing' : 'is found out'}`, { buffered: true }, async (t) => {
      const servers = await startFailover(t, {
        engine,
        run: {
          writers: WRITERS,
          ack: isHonest ? 'replica' : ack,
          aheadMs: AHEAD_MS,
          options: { layout, windowMs: 0, maxItems: 10_000_000, deadlineMs: 1000 }
        }
      })
      const { run } = servers
      await run.acknowledged(300)
      // nothing reaches the replica, or is answered by it
      servers.line.goSilent()
      await servers.line.passed()
      // an ack that lies does not wait for the replica
      if (isHonest) await untilAllWait(t, run, servers.primary, WRITERS)
      const before = run.ledger.acknowledged
      for (let lie = 0; lie < LIES; lie++) {
        await pause(BETWEEN_MS)
        run.check()
        cut(servers)
        // connections that are cut while they are made tell no lie: on a busy machine they are given time
        if (!isHonest) await run.acknowledged(1)
      }
      if (isHonest) await untilAskedInVain(run)
      const acknowledged = run.ledger.acknowledged - before
      await run.kill()
      await servers.failOver()
      const sums = await run.compare(servers.primary)
      say(t, sums, 'one primary killed while nothing reached its replica')
      t.match(sums, { doubled: 0, foreign: 0 })
      if (isHonest) t.same([acknowledged, sums.lost], [0, 0])
      else t.ok(sums.lost > 0, `${sums.lost} lost, ${acknowledged} acknowledged in the meantime`)
    })
  }
}
