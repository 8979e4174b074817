/** A line that is slow, and one that cuts everything into little pieces. */
import t from 'tap'
import { startProxy } from '../proxy.js'
import { engineName, startServer, testEngines } from '../servers.js'
import { expectWhole, startRun } from './ledger/run.js'

const LINES = [
  { what: '200 ms each way', line: { delayMs: 200 }, deadlineMs: 5000 },
  { what: 'pieces of 5 bytes', line: { pieceBytes: 5 }, deadlineMs: 5000 },
  { what: '200 ms each way and pieces of 5 bytes', line: { delayMs: 200, pieceBytes: 5 }, deadlineMs: 10_000 }
]
const ITEMS = 2000

t.jobs = 2
t.setTimeout(300_000)
for (const engine of await testEngines()) {
  for (const { what, line, deadlineMs } of LINES) {
    t.test(`${engineName(engine)}, ${what}: everything arrives once, over one connection`, { buffered: true }, async (t) => {
      const server = await startServer(t, { engine })
      const proxy = await startProxy(t, server.port, line)
      const run = startRun(t, { redisUrl: proxy.url, writers: 2, items: ITEMS, itemsPerRound: 100, options: { deadlineMs } })
      const accounts = await run.ended()
      t.same(accounts.map(({ epochs, retried }) => [epochs, retried]), [[1, 0], [1, 0]], 'slow is not lost')
      expectWhole(t, await run.compare(server), `no faults, ${what}`)
    })

    t.test(`${engineName(engine)}, ${what}: of each id the last version stays`, { buffered: true }, async (t) => {
      const server = await startServer(t, { engine })
      const proxy = await startProxy(t, server.port, line)
      const run = startRun(t, { redisUrl: proxy.url, items: ITEMS, ids: 37, itemsPerRound: 50, options: { deadlineMs, batchItems: 10 } })
      await run.ended()
      const sums = await run.compare(server)
      expectWhole(t, sums, `no faults, ${what}`)
      t.equal(sums.there, 37)
    })
  }
}
