/** When tasks of a partition are looked at, by a system whose replies are made here. */
import t from 'tap'
import { setTimeout as sleep } from 'node:timers/promises'
import { runTasks } from '../../src/schedule/index.js'
import { eventually } from '../servers.js'

const ENTRY = { id: '1-0', rule: 'r', key: 'k', seq: 1, fields: {} }
const RING = { rule: 'r', key: 'k', name: 'ring' }

/** @param {import('tap').Test} t @param {(task: any, entry?: any) => Promise<unknown>} run */
function owned (t, run) {
  const stop = new AbortController()
  /** @type {{ looks: number, aheadMs: number, tasks: [string, number][], waker: any }} */
  const state = { looks: 0, aheadMs: 0, tasks: [], waker: null }
  const connection = {
    async sendAll () {
      state.looks++
      const nowMs = Date.now() + state.aheadMs
      const due = state.tasks.toSorted(([, a], [, b]) => a - b)
      return [[Math.floor(nowMs / 1000), nowMs % 1000 * 1000], null, due.flat()]
    }
  }
  const system = /** @type {any} */ ({ connectionOf: () => connection, keyOf: () => String, clock: { see () {}, async turnBack () {} } })
  const ended = runTasks(system, { partition: 0, signal: stop.signal }, run, (waker) => { state.waker = waker })
  t.teardown(() => {
    stop.abort()
    return ended
  })
  return state
}

t.test('at rest tasks are looked at every five seconds; an entry is followed by one look, for all that come within 250 ms', async (t) => {
  const state = owned(t, async () => {})
  await sleep(50)
  const first = state.looks
  await sleep(1000)
  t.ok(state.looks - first <= 1, `${state.looks - first} looks in a second`)
  const before = state.looks
  for (let i = 0; i < 100; i++) state.waker.soon()
  await eventually(() => state.looks > before)
  await sleep(300)
  t.ok(state.looks - before <= 2, `${state.looks - before} looks after 100 entries`)
})

t.test('a task is run when it is due, without a look before, and at once after a wake', async (t) => {
  const ran = /** @type {number[]} */ ([])
  const state = owned(t, async () => {
    state.tasks = []
    ran.push(Date.now())
  })
  await sleep(50)
  const dueMs = Date.now() + 400
  state.tasks = [['r k ring', dueMs]]
  state.waker.now()
  await eventually(() => ran.length === 1)
  t.ok(ran[0] >= dueMs - 5 && ran[0] < dueMs + 2000, `${ran[0] - dueMs} ms late`)
  state.tasks = [['r j ring', Date.now()]]
  state.waker.now()
  await eventually(() => ran.length === 2)
})

t.test('an entry that came with a task starts it without a look; twice it runs once; one that is over is not looked for', async (t) => {
  const entries = /** @type {any[]} */ ([])
  let end = (/** @type {unknown} */ _) => {}
  const state = owned(t, (_, entry) => {
    entries.push(entry)
    return new Promise((resolve) => { end = resolve })
  })
  await sleep(50)
  const before = state.looks
  state.waker.start(RING, ENTRY)
  t.same(entries, [ENTRY])
  end(true)
  await sleep(300)
  t.ok(state.looks - before <= 1)
  state.waker.start(RING, ENTRY)
  state.waker.start(RING, ENTRY)
  t.equal(entries.length, 2)
  state.tasks = [['r k ring', 1]]
  await eventually(() => state.looks > before + 1)
  end(true)
  await eventually(() => entries.length === 3)
  t.equal(entries[2], undefined, 'it is due again, as a look during its run found')
  state.tasks = []
  end(true)
})

t.test('a task that fails is run again after a pause', async (t) => {
  let runs = 0
  const state = owned(t, async () => {
    if (++runs < 3) throw new Error('not yet')
    state.tasks = []
    return true
  })
  state.tasks = [['r k ring', 1]]
  state.waker.now()
  await eventually(() => runs === 3)
})
