/** Writers with `ack: replica` while no replica confirms, and when one does again. */
import { ackOf } from '../../../src/pipeline/acks.js'
import { connectFor, eventually } from '../../servers.js'

const LANES = ackOf('replica').stripes
const DEADLINE_MS = 60_000
const TENTH_MS = 100

/** @typedef {import('./run.js').LedgerRun} LedgerRun */
/** @typedef {import('../../../src/store/connection.js').Connection} Connection */

/**
 * Resolves when every lane waits for a replica and all that was confirmed is in the ledger: a lane sends its next group
 * when it has read the answer to the one before.
 * @param {import('tap').Test} t @param {LedgerRun} run @param {{ url: string }} primary @param {number} writers
 */
export async function untilAllWait (t, run, primary, writers) {
  const admin = await connectFor(t, primary.url)
  // when it is so a second time, what a replica said before this was called has been read, too
  let times = 0
  await eventually(async () => {
    run.check()
    const [, blocked] = /blocked_clients:(\d+)/.exec(String(await admin.send('INFO', 'clients'))) ?? []
    times = Number(blocked) === writers * LANES ? times + 1 : 0
    return times === 2
  }, { deadlineMs: DEADLINE_MS })
  await run.look()
  admin.close()
}

/** Resolves when every writer has asked so often more, in vain, as it has lanes. @param {LedgerRun} run */
export async function untilAskedInVain (run) {
  const { accounts: before } = await run.look()
  await eventually(async () => {
    const { accounts } = await run.look()
    return accounts.every(({ unconfirmed }, i) => unconfirmed >= before[i].unconfirmed + LANES)
  }, { deadlineMs: DEADLINE_MS })
}

/**
 * Nothing but answers is needed to go on: every lane does so within a second. Not a second of the clock, in which no process
 * may have run: ten times a tenth in which the writers' process ran, and in each a replica confirmed something else.
 * @param {import('tap').Test} t @param {LedgerRun} run @param {{ url: string }} primary @param {string} what
 * @param {() => unknown} undo lets a replica confirm again
 */
export async function expectResumed (t, run, primary, what, undo) {
  const admin = await connectFor(t, primary.url, { deadlineMs: DEADLINE_MS })
  const { accounts: before, isReady: wasReady } = await run.look()
  t.equal(wasReady, false, 'the writers report that no replica confirms')
  await undo()
  let tenths = 0
  await confirm(admin)
  let now = await run.look()
  for (; !now.isReady && tenths < 10; tenths++) {
    await confirm(admin)
    now = await run.look({ afterMs: TENTH_MS })
  }
  t.ok(now.isReady, `${what}: every lane goes on within a second`)
  t.same(now.accounts.map(({ sessions }) => sessions), before.map(({ sessions }) => sessions), 'over the same connections')
  const risen = now.accounts.map(({ unconfirmed }, i) => unconfirmed - before[i].unconfirmed)
  t.ok(risen.every((more) => more <= LANES), `what was asked before is answered, asked again: ${risen}`)
  t.comment(`${what}: resumed in ${tenths} tenths of a second`)
  admin.close()
}

/** Resolves when a replica has what was written until now. @param {Connection} admin */
async function confirm (admin) {
  await admin.send('INCRBY', 'asked-by-the-test', 1)
  const replicas = await admin.send('WAIT', 1, DEADLINE_MS / 2)
  if (replicas < 1) throw new Error('no replica confirms')
}
