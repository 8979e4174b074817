/**
 * A primary that is cut off together with one of its two replicas, while the other replica is promoted: what the minority acknowledges
 * then is lost with `ack: replica`, and nothing with `ack: 2`.
 *
 *     writers -> proxy -> primary -> replica
 *                            \-> line, cut -> the replica that is promoted
 */
import t from 'tap'
import { expectWhole, say, startRun } from '../../test/faults/ledger/run.js'
import { startProxy } from '../../test/proxy.js'
import { scopedEngines } from '../../test/scope.js'
import { connectFor, engineName, eventually, inSync, startServer } from '../../test/servers.js'

const MORE = 300
/** WAIT takes at most half of it */
const DEADLINE_MS = 4000

t.setTimeout(300_000)

/** @param {import('tap').Test} t @param {import('../../test/servers.js').Engine} engine @param {string} ack */
async function startMinority (t, engine, ack) {
  const primary = await startServer(t, { engine })
  const [proxy, line] = [await startProxy(t, primary.port), await startProxy(t, primary.port)]
  const [near, far] = [await startServer(t, { engine, replicaOf: primary }), await startServer(t, { engine, replicaOf: line })]
  await Promise.all([near, far].map((replica) => inSync(replica)))
  const run = startRun(t, { redisUrl: proxy.url, writers: 2, ack, options: { deadlineMs: DEADLINE_MS } })
  await run.open()
  await run.acknowledged(MORE)
  return {
    run,
    cut: () => line.goSilent(),
    /** The replica on the other side is promoted and gets replicas, and the minority is gone. @param {number} replicas */
    async promote (replicas) {
      const connection = await connectFor(t, far.url)
      await connection.send('REPLICAOF', 'NO', 'ONE')
      await Promise.all([primary.kill(), near.kill()])
      proxy.switchTo(far.port)
      const added = await Promise.all(Array.from({ length: replicas }, () => startServer(t, { engine, replicaOf: far })))
      await Promise.all(added.map((replica) => inSync(replica)))
      return far
    }
  }
}

for (const engine of await scopedEngines()) {
  t.test(`${engineName(engine)}: with ack 2 a minority acknowledges nothing, and nothing acknowledged is lost`, async (t) => {
    const { run, cut, promote } = await startMinority(t, engine, '2')
    cut()
    await eventually(async () => {
      const { accounts, isReady } = await run.look()
      return !isReady && accounts.every(({ unconfirmed }) => unconfirmed > 0)
    })
    const { acknowledged } = run.ledger
    await eventually(async () => (await run.look()).accounts.every(({ unconfirmed }) => unconfirmed > 1))
    t.equal(run.ledger.acknowledged, acknowledged, 'items wait')
    const promoted = await promote(2)
    await run.acknowledged(MORE)
    await run.finish()
    expectWhole(t, await run.compare(promoted), 'ack 2, primary and one replica of two cut off')
  })

  t.test(`${engineName(engine)}: with ack replica what a minority acknowledged is lost`, async (t) => {
    const { run, cut, promote } = await startMinority(t, engine, 'replica')
    cut()
    await run.acknowledgedAnew()
    const promoted = await promote(1)
    await run.acknowledged(MORE)
    await run.finish()
    const sums = await run.compare(promoted)
    say(t, sums, 'ack replica, primary and one replica of two cut off')
    const { acknowledged, intended, doubled, foreign, lost } = sums
    t.same({ acknowledged, doubled, foreign }, { acknowledged: intended, doubled: 0, foreign: 0 })
    t.ok(lost > 0, 'docs/writing.md says so')
  })
}
