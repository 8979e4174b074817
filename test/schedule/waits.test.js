/** How long tasks have waited for the process that owns their partition. */
import t from 'tap'
import { createWaits } from '../../src/schedule/index.js'

/** @param {import('tap').Test} t a clock that stands still unless it is set */
function fakeClock (t) {
  const { now } = performance
  let nowMs = 100_000
  performance.now = () => nowMs
  t.teardown(() => { performance.now = now })
  return { add (/** @type {number} */ ms) { nowMs += ms } }
}
const busy = Object.assign(new Error('busy'), { retryable: true })
const outside = Object.assign(new Error('the provider is away'), { retryable: true, isOutside: true })
const broken = new TypeError('a bug')

t.test('a task waits from when it is due, but not for a process that had not taken the partition', async (t) => {
  const clock = fakeClock(t)
  const waits = createWaits()
  t.equal(waits.ms(), 0, 'nothing waits')
  waits.begin('old', 60_000)
  t.equal(waits.ms(), 0)
  clock.add(12_000)
  waits.begin('young', 5000)
  t.equal(waits.ms(), 12_000, 'the oldest one')
  waits.end('old', null)
  t.equal(waits.ms(), 5000)
  waits.end('young', null)
  clock.add(60_000)
  t.equal(waits.ms(), 0, 'after a minute of silence')
})

t.test('after the clock of the primary jumped, tasks wait from then on', async (t) => {
  const clock = fakeClock(t)
  const waits = createWaits()
  clock.add(60_000)
  waits.restart()
  waits.begin('set for the next ten minutes', 590_000)
  clock.add(2000)
  t.equal(waits.ms(), 2000)
})

t.test('a task that was not started, because too many run, waits too', async (t) => {
  const clock = fakeClock(t)
  const waits = createWaits()
  clock.add(30_000)
  waits.next('next', 11_000)
  clock.add(1000)
  t.equal(waits.ms(), 12_000)
  waits.next(null)
  t.equal(waits.ms(), 0)
})

t.test('a task that fails because servers are busy still waits; after another failure it waits from then on, when it runs', async (t) => {
  const clock = fakeClock(t)
  const waits = createWaits()
  clock.add(60_000)
  for (const error of [outside, broken]) {
    waits.begin('a', 10_000)
    clock.add(1000)
    waits.end('a', error)
    t.equal(waits.ms(), 0, error.message)
    clock.add(30_000)
    waits.leave('a')
    waits.begin('a', 41_000)
    t.equal(waits.ms(), 30_000)
    waits.end('a', null)
    waits.begin('a', 7000)
    t.equal(waits.ms(), 7000, 'after a success it is as any other')
    waits.end('a', null)
  }
  waits.begin('b', 10_000)
  clock.add(1000)
  waits.end('b', busy)
  t.equal(waits.ms(), 11_000)
  waits.leave('b')
  t.equal(waits.ms(), 0, 'a task that is there no more')
})
