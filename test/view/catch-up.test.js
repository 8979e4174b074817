import t from 'tap'
import { waitUntilCaughtUp } from '../../src/view/catch-up.js'

t.test('a node is looked at until it has caught up, also by a process that stands still for longer than a second', async (t) => {
  const replies = [false, false, true, true]
  await waitUntilCaughtUp(async () => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600)
    return Boolean(replies.shift())
  })
  t.same(replies, [true], 'at the third look')
})

t.test('a node that stays behind is not waited for any longer', async (t) => {
  const looks = []
  await waitUntilCaughtUp(async () => looks.push(false) < 0)
  t.equal(looks.length, 50)
})
