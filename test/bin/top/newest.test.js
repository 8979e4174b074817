import t from 'tap'
import { merged } from '../../../bin/top/newest.js'

/** @param {string} id @param {number} ts */
const item = (id, ts) => ({ id, ts, value: `${id} at ${ts}` })

t.test('newest first, each id once, deleted items removed', async (t) => {
  const known = merged([], [item('a', 1), item('b', 2), item('c', 2)])
  t.same(known.map(({ id }) => id), ['c', 'b', 'a'], 'with equal times, the last change first')
  const next = merged(known, [item('a', 3), { id: 'b', deleted: true }, item('late', 0)])
  t.same(next.map(({ id, ts }) => `${id} ${ts}`), ['a 3', 'c 2', 'late 0'])
})

t.test('the number of items is bounded', async (t) => {
  const many = Array.from({ length: 5000 }, (_, i) => item(`id-${i}`, i))
  const kept = merged([], many)
  t.equal(kept.length, 200)
  t.equal(kept[0].id, 'id-4999')
})
