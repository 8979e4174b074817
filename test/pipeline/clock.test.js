import t from 'tap'
import { createClock } from '../../src/clock.js'

t.test('the clock runs evenly, and is set anew after a jump', async (t) => {
  let wallMs = 1_000_000
  let evenMs = 5.25
  const clock = createClock({ wall: () => wallMs, even: () => evenMs })
  t.equal(clock(), 1_000_000)
  evenMs += 10.5
  t.equal(clock(), 1_000_010.5, 'the wall clock may tick coarsely, or be slewed')
  wallMs += 3_600_000
  t.equal(clock(), 4_600_000, 'the machine slept')
  evenMs += 1
  t.equal(clock(), 4_600_001)
})
