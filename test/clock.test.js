import t from 'tap'
import { createClock } from '../src/clock.js'

t.test('the clock is monotonic, and is set again after a jump', async (t) => {
  let wallMs = 1_000_000
  let monotonicMs = 5.25
  const clock = createClock({ wall: () => wallMs, monotonic: () => monotonicMs })
  t.equal(clock(), 1_000_000)
  monotonicMs += 10.5
  t.equal(clock(), 1_000_010.5, 'the wall clock may tick coarsely, or be slewed')
  wallMs += 3_600_000
  t.equal(clock(), 4_600_000, 'the machine slept')
  monotonicMs += 1
  t.equal(clock(), 4_600_001)
})
