/** Acknowledged by a replica means: by a replica. While none answers, nothing is. */
import t from 'tap'
import { engineName, inSync, startDeployment } from '../../test/servers.js'
import { caughtUp } from '../../test/flow/flow.js'
import { expectWhole, startRun } from '../../test/faults/ledger/run.js'
import { expectResumed, untilAllWait, untilAskedInVain } from '../../test/faults/ledger/waiting.js'
import { nightly, scopedEngines } from '../../test/scope.js'

const ROUNDS = nightly(2, 1)
const WRITERS = 2
/** a WAIT for replicas lasts half of this */
const DEADLINE_MS = 4000

/**
 * @param {import('tap').Test} t
 * @param {import('../../test/faults/ledger/run.js').LedgerRun} run
 * @param {{ url: string }} primary
 * @param {string} what
 * @param {() => unknown} undo
 */
async function expectNoneUntil (t, run, primary, what, undo) {
  // a replica that was frozen in the middle of an answer may still have sent it
  await untilAskedInVain(run)
  await untilAllWait(t, run, primary, WRITERS)
  const { acknowledged, intended } = run.ledger
  await untilAskedInVain(run)
  t.equal(run.ledger.acknowledged - acknowledged, 0, `${what}: nothing is acknowledged`)
  t.ok(run.ledger.intended > intended, 'although there is something to acknowledge')
  await expectResumed(t, run, primary, what, undo)
  await run.acknowledgedAnew()
}

t.jobs = 2
t.setTimeout(300_000)
const [engine] = await scopedEngines()
t.test(`${engineName(engine)}, ack: replica: nothing is acknowledged while all replicas are frozen or gone, and one is enough`, {
  buffered: true
}, async (t) => {
  const { primary, replicas } = await startDeployment(t, { engine, replicas: 2 })
  const run = startRun(t, { redisUrl: primary.url, writers: WRITERS, ack: 'replica', options: { deadlineMs: DEADLINE_MS } })
  await run.open()
  await run.acknowledged(1000)
  for (let round = 0; round < ROUNDS; round++) {
    replicas[round % 2].freeze()
    await run.acknowledgedAnew()
    t.pass('with one replica frozen the other confirms')
    replicas[(round + 1) % 2].freeze()
    await expectNoneUntil(t, run, primary, 'both frozen', () => replicas[round % 2].thaw())
    replicas[(round + 1) % 2].thaw()
  }
  await Promise.all(replicas.map((replica) => replica.kill()))
  await expectNoneUntil(t, run, primary, 'both killed', async () => {
    await replicas[0].restart()
    await inSync(replicas[0])
  })
  await replicas[1].restart()
  await inSync(replicas[1])
  const accounts = await run.finish()
  t.ok(accounts.every(({ unconfirmed }) => unconfirmed > 0), 'it is counted')
  await caughtUp({ primary, replicas })
  expectWhole(t, await run.compare(primary), `${ROUNDS} times both replicas frozen, once both killed`)
  for (const replica of replicas) expectWhole(t, await run.compare(replica), 'the same on a replica')
})
