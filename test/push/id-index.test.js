/** Who wants an id: by the id, and by beginnings of it. */
import fc from 'fast-check'
import t from 'tap'
import { IdIndex } from '../../src/push/subscribers.js'
import { holds } from '../properties.js'

const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 6 })
const wanted = fc.record({ ids: fc.array(text, { maxLength: 3 }), beginnings: fc.uniqueArray(text, { maxLength: 4 }) })

t.test('an id finds the members that want it, whatever came and went before', async (t) => {
  await holds(t, fc.property(fc.array(wanted, { maxLength: 12 }), fc.array(fc.nat(11)), fc.array(text), (all, gone, ids) => {
    /** @type {IdIndex<number>} */
    const index = new IdIndex()
    const members = all.map(({ ids, beginnings }) => ({ ids: new Set(ids), beginnings }))
    members.forEach((one, i) => index.add(i, one))
    const left = new Set(members.keys())
    for (const i of gone) if (left.delete(i)) index.remove(i, members[i])
    return ids.every((id) => {
      const expected = [...left].filter((i) => members[i].ids.has(id) || members[i].beginnings.some((one) => id.startsWith(one)))
      /** @type {Set<number>} */
      const found = new Set()
      index.each(id, (member) => found.add(member))
      return [...found].sort().join() === expected.sort().join() && index.has(id) === (expected.length > 0)
    }) && ([...left].some((i) => members[i].ids.size + members[i].beginnings.length > 0) || index.isEmpty)
  }), { runs: 1000 })
})

t.test('of 1,000 beginnings, an id is compared with a dozen for each part that it has in common with one', (t) => {
  let compared = 0
  class Counted extends String {
    [Symbol.toPrimitive] () {
      compared++
      return this.valueOf()
    }
  }
  /** @type {IdIndex<number>} */
  const index = new IdIndex()
  const numbers = Array.from({ length: 1000 }, (_, n) => n)
  for (const n of numbers) {
    const beginning = /** @type {any} */ (new Counted(`tenant-${n}.`))
    index.add(n, { ids: new Set(), beginnings: [beginning] })
  }
  /** @type {number[]} */
  const found = []
  compared = 0
  for (const n of numbers) index.each(`tenant-${n}.bus-7`, (member) => { found.push(member) })
  t.same(found, numbers)
  // tenant-, tenant-1, tenant-12 and so on
  t.ok(compared <= 6 * 12 * 1000, `${compared} comparisons for 1,000 ids`)
  compared = 0
  for (const n of numbers) index.each(`other-${n}`, () => t.fail('none begins it'))
  t.ok(compared <= 12 * 1000, `${compared} comparisons for 1,000 ids that none begins`)
  t.end()
})
