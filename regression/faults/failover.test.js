/** Primary and replica die one at a time, under load; what was acknowledged by `ack: replica` outlives every one of them. */
import t from 'tap'
import { layoutNames } from '../../src/layouts/index.js'
import { engineName } from '../../test/servers.js'
import { startFailover } from '../../test/faults/ledger/failover.js'
import { expectWhole } from '../../test/faults/ledger/run.js'
import { nightEngines, nightly, scoped } from '../../test/scope.js'

const KILLS = nightly(10, scoped(3, 2))
/** the others are by chance */
const ALTERNATING = 5

// they wait more than they work
t.jobs = 4
t.setTimeout(300_000)
for (const engine of await nightEngines()) {
  for (const layout of scoped(layoutNames(), ['ids'])) {
    t.test(`${engineName(engine)}, ${layout}, ack: replica: ${KILLS} kills in a row lose nothing that was acknowledged`, {
      buffered: true
    }, async (t) => {
      const servers = await startFailover(t, { engine, run: { writers: 2, ack: 'replica', options: { layout, deadlineMs: 5000 } } })
      const killed = { primary: 0, replica: 0 }
      for (let kills = 0; kills < KILLS; kills++) {
        const victim = (kills < ALTERNATING ? kills % 2 === 0 : Math.random() < 0.5) ? 'primary' : 'replica'
        killed[victim]++
        await servers.kill(victim)
      }
      await servers.run.acknowledged(300)
      const accounts = await servers.run.finish()
      const again = accounts.reduce((sum, { retried }) => sum + retried, 0)
      expectWhole(t, await servers.run.compare(servers.primary),
        `${killed.primary} primaries and ${killed.replica} replicas killed, ${again} items sent again`)
    })
  }
}
