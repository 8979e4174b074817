import t from 'tap'
import { setImmediate as turn } from 'node:timers/promises'
import { createCoarseClock } from '../../src/pipeline/pipeline.js'

t.test('the clock is read once for several items, and again after each turn of the event loop', async (t) => {
  let looks = 0
  const nowMs = createCoarseClock(() => ++looks)
  const seen = (/** @type {number} */ n) => [...new Set(Array.from({ length: n }, nowMs))]
  t.same(seen(64), [1])
  t.same(seen(100), [2, 3])
  await turn()
  t.same(seen(64), [4])
  await turn()
  await turn()
  t.same(seen(1), [5])
  await turn()
  t.same(seen(1), [6])
})
