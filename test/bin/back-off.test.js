import t from 'tap'
import { createBackOff } from '../../bin/children.js'

t.test('waits double, five times in a minute; then it is over, until a minute has passed', async (t) => {
  let ms = 0
  const wait = createBackOff(() => ms)
  const waits = () => Array.from({ length: 6 }, () => {
    ms += 1000
    return wait()
  })
  t.same(waits(), [500, 1000, 2000, 4000, 8000, null])
  t.equal(wait(), null)
  ms += 60_000
  t.same(waits(), [500, 1000, 2000, 4000, 8000, null])
})
