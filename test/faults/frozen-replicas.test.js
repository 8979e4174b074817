/** Acknowledged by a replica means: by a replica. While none answers, nothing is. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { engineName, eventually, inSync, startDeployment, testEngines } from '../servers.js'
import { caughtUp } from '../flow/flow.js'
import { expectWhole, startRun } from './ledger/run.js'

const QUIET_MS = 1000
const WATCHED_MS = 3000
const ROUNDS = 2

/** @typedef {import('./ledger/run.js').LedgerRun} LedgerRun */

/** Resolves when nothing was acknowledged for a while: what had been confirmed before is told by then. @param {LedgerRun} run @returns {Promise<number>} how much is */
async function untilQuiet ({ ledger }) {
  let seen = -1
  await eventually(async () => {
    const before = seen
    seen = ledger.acknowledged
    if (before === seen) return true
    await pause(QUIET_MS)
    return false
  })
  return seen
}

/** @param {import('tap').Test} t @param {LedgerRun} run @param {string} what @param {() => unknown} undo */
async function expectNoneUntil (t, run, what, undo) {
  const before = await untilQuiet(run)
  await pause(WATCHED_MS)
  t.equal(run.ledger.acknowledged - before, 0, `${what}: nothing is acknowledged in ${WATCHED_MS} ms`)
  t.ok(run.ledger.intended > before, 'although there is something to acknowledge')
  await undo()
  const startedAt = performance.now()
  await run.acknowledged(1)
  t.comment(`${what}: resumed after ${Math.round(performance.now() - startedAt)} ms`)
  await run.acknowledged(1000)
}

t.jobs = 2
t.setTimeout(300_000)
for (const engine of await testEngines()) {
  t.test(`${engineName(engine)}, ack: replica: nothing is acknowledged while all replicas are frozen or gone, and one is enough`, { buffered: true }, async (t) => {
    const { primary, replicas } = await startDeployment(t, { engine, replicas: 2 })
    const run = startRun(t, { redisUrl: primary.url, writers: 2, ack: 'replica' })
    await run.open()
    await run.acknowledged(1000)
    for (let round = 0; round < ROUNDS; round++) {
      replicas[round % 2].freeze()
      await pause(QUIET_MS)
      await run.acknowledged(1000)
      t.pass('with one replica frozen the other confirms')
      replicas[(round + 1) % 2].freeze()
      await expectNoneUntil(t, run, 'both frozen', () => replicas[round % 2].thaw())
      replicas[(round + 1) % 2].thaw()
    }
    await Promise.all(replicas.map((replica) => replica.kill()))
    await expectNoneUntil(t, run, 'both killed', async () => {
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
}
