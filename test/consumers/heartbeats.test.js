/** Heartbeats, by a server whose replies are made here: a clock that jumps, a process that others have given up, silence. */
import t from 'tap'
import { setTimeout as sleep } from 'node:timers/promises'
import { createHeartbeats } from '../../src/consumers/leases.js'
import { eventually } from '../servers.js'

const LEASE_MS = 300

function fake () {
  /** @type {{ aheadMs: number, lived: number, isSilent: boolean, stopped: number[], jumped: number[] }} */
  const state = { aheadMs: 0, lived: 1, isSilent: false, stopped: [], jumped: [] }
  const connection = {
    runScript: async () => state.isSilent
      ? new Promise(() => {})
      : [String(Date.now() + state.aheadMs), state.lived, 'a', '300', 'b', '20']
  }
  const heartbeats = createHeartbeats({
    id: 'a',
    leaseMs: LEASE_MS,
    connectionOf: () => /** @type {any} */ (connection),
    keyOf: () => String,
    onStop: (home) => state.stopped.push(home),
    onJump: (home) => state.jumped.push(home)
  })
  return { state, heartbeats }
}

t.test('a clock that jumps, forward or back, is reported once', async (t) => {
  const { state, heartbeats } = fake()
  t.teardown(heartbeats.close)
  t.same(await heartbeats.beat(0), { a: 300, b: 20 })
  await heartbeats.beat(0)
  t.same(state.jumped, [])
  for (const aheadMs of [3_600_000, -60_000]) {
    state.aheadMs = aheadMs
    await heartbeats.beat(0)
    await heartbeats.beat(0)
  }
  t.same(state.jumped, [0, 0])
})

t.test('work stops when others may have the leases, and when no heartbeat succeeds for as long as a lease', async (t) => {
  const { state, heartbeats } = fake()
  t.teardown(heartbeats.close)
  await heartbeats.beat(0)
  state.lived = 0
  await heartbeats.beat(0)
  t.same(state.stopped, [0])
  state.lived = 1
  await heartbeats.beat(0)
  state.isSilent = true
  heartbeats.beat(0)
  await sleep(LEASE_MS / 2)
  t.equal(state.stopped.length, 1)
  await eventually(() => state.stopped.length === 2)
  state.isSilent = false
})
