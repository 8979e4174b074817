/** A batch that was executed and whose reply is lost is sent again: that must change nothing. */
import t from 'tap'
import { layoutNames } from '../../src/layouts/index.js'
import { startProxy } from '../proxy.js'
import { engineName, eventually, startServer, testEngines } from '../servers.js'
import { expectWhole, startRun } from './ledger/run.js'

const FAULTS = 100
const WRITERS = 8
/** replies of one connection until one is lost: mostly of batches, now and then of its beginning */
const repliesUntilLost = () => 1 + Math.floor(Math.random() * (Math.random() < 0.2 ? 8 : 60))

t.jobs = 2
for (const engine of await testEngines()) {
  for (const layout of layoutNames()) {
    t.test(`${engineName(engine)}, ${layout}: ${FAULTS} replies lost after execution, nothing lost and nothing twice`, { buffered: true }, async (t) => {
      const server = await startServer(t, { engine })
      let lost = 0
      let isOn = false
      /** @param {import('../proxy.js').Line} line */
      const spoil = (line) => { if (isOn && lost < FAULTS) line.loseReply(repliesUntilLost(), () => { lost++ }) }
      const proxy = await startProxy(t, server.port, { onLine: spoil })
      const run = startRun(t, { redisUrl: proxy.url, writers: WRITERS, options: { layout, batchItems: 50 } })
      await run.open()
      await run.acknowledged(100)
      isOn = true
      proxy.lines.forEach(spoil)
      await eventually(() => {
        run.check()
        return lost >= FAULTS
      }, { deadlineMs: 90_000 })
      const accounts = await run.finish()
      expectWhole(t, await run.compare(server), `${lost} replies lost, ${accounts.reduce((sum, { retried }) => sum + retried, 0)} items sent again`)
    })
  }
}
