import fc from 'fast-check'
import t from 'tap'
import { createBreaker, MIN_FAILURES } from '../../../src/systems/breaker.js'
import { holds } from '../../properties.js'

const RESET_MS = 10_000

/** @param {{ limit?: number }} [options] */
function startBreaker ({ limit = 20 } = {}) {
  const clock = { ms: 0 }
  const breaker = createBreaker({ limit, resetMs: RESET_MS, now: () => clock.ms })
  const run = (/** @type {boolean[]} */ ...failures) => failures.forEach((isFailure) => breaker.start()(isFailure))
  return {
    clock,
    breaker,
    run,
    fail: (/** @type {number} */ n) => run(...Array(n).fill(true)),
    succeed: (/** @type {number} */ n) => run(...Array(n).fill(false))
  }
}

t.test('it opens after ten failures, when they are half of the last twenty results', async (t) => {
  const { breaker, fail, succeed } = startBreaker()
  succeed(100)
  fail(MIN_FAILURES - 1)
  t.equal(breaker.state(), 'closed')
  succeed(1)
  t.equal(breaker.state(), 'closed', 'nine of twenty')
  fail(1)
  t.equal(breaker.state(), 'open', 'ten of twenty')
  t.ok(breaker.isRefusing())
})

t.test('failures that are few, or long ago, do not open it', async (t) => {
  const { breaker, run } = startBreaker()
  for (let i = 0; i < 1_000; i++) run(true, false, false)
  t.equal(breaker.state(), 'closed')
})

t.test('after the reset period one probe runs, and decides', async (t) => {
  const { breaker, clock, fail } = startBreaker()
  fail(MIN_FAILURES)
  clock.ms = RESET_MS - 1
  t.equal(breaker.state(), 'open')
  clock.ms = RESET_MS
  t.equal(breaker.state(), 'half-open')
  t.notOk(breaker.isRefusing())
  t.ok(breaker.hasRoom(5), 'calls of before may still be in flight')
  const probe = breaker.start()
  t.ok(breaker.isRefusing(), 'one at a time')
  t.equal(breaker.state(), 'half-open')
  probe(true)
  t.equal(breaker.state(), 'open', 'for another period')
  clock.ms += RESET_MS
  breaker.start()(false)
  t.equal(breaker.state(), 'closed')
  fail(MIN_FAILURES - 1)
  t.equal(breaker.state(), 'closed', 'what was before does not count')
})

t.test('results of calls from before it opened do not count', async (t) => {
  const { breaker, clock, fail } = startBreaker()
  const [success, failure] = [breaker.start(), breaker.start()]
  fail(MIN_FAILURES)
  success(false)
  t.equal(breaker.state(), 'open')
  clock.ms = RESET_MS
  const probe = breaker.start()
  failure(true)
  probe(false)
  t.equal(breaker.state(), 'closed')
})

t.test('a pause lasts as long as the source asked for, and a shorter one does not end a longer one', async (t) => {
  const { breaker, clock } = startBreaker()
  breaker.pause(60_000)
  breaker.pause(1_000)
  clock.ms = 59_999
  t.ok(breaker.isRefusing())
  clock.ms = 60_000
  breaker.start()(false)
  t.equal(breaker.state(), 'closed')
})

const anyLimit = fc.integer({ min: 1, max: 32 })
const anyHistory = fc.array(fc.constantFrom(true, false, false, false), { maxLength: 40 })
const anyOrder = fc.array(fc.boolean(), { minLength: 400, maxLength: 400 })

t.test('a source that dies gets at most max(limit, 10) calls, and then one per period', async (t) => {
  await holds(t, fc.property(anyLimit, anyHistory, anyOrder, (limit, history, order) => {
    const { breaker, clock, run } = startBreaker({ limit })
    for (const isFailure of history) if (breaker.state() === 'closed') run(isFailure)
    if (breaker.state() !== 'closed') return true
    /** @type {((isFailure: boolean) => void)[]} */
    const inFlight = []
    let calls = 0
    const startIfPossible = () => {
      if (breaker.isRefusing() || !breaker.hasRoom(inFlight.length)) return
      inFlight.push(breaker.start())
      calls++
    }
    for (const isStart of order) isStart ? startIfPossible() : inFlight.shift()?.(true)
    for (let period = 0; period < 5; period++) {
      clock.ms += RESET_MS
      for (let i = 0; i < 100; i++) {
        startIfPossible()
        inFlight.shift()?.(true)
      }
    }
    return calls <= Math.max(limit, MIN_FAILURES) + 5
  }), { runs: 1_000 })
})
