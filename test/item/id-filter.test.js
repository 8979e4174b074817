/** Which ids a filter permits: exact ones, and those with a beginning. */
import fc from 'fast-check'
import t from 'tap'
import { readIdFilter } from '../../src/item/index.js'
import { holds } from '../properties.js'

/** @param {string[]} list */
const filterOf = (list) => /** @type {import('../../src/item/index.js').IdFilter} */ (readIdFilter(list))

t.test('it permits what one of its entries permits', async (t) => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '*', '-'), minLength: 1, maxLength: 5 })
  await holds(t, fc.property(fc.array(letters, { minLength: 1, maxLength: 12 }), fc.array(letters, { maxLength: 30 }), (list, ids) => {
    if (list.includes('*')) return readIdFilter(list) === null
    const filter = filterOf(list)
    return ids.every((id) => {
      const isPermitted = list.some((one) => one.endsWith('*') ? id.startsWith(one.slice(0, -1)) : id === one)
      const around = Buffer.from(`>${id}<`)
      return filter.has(Buffer.from(id)) === isPermitted && filter.has(around, 1, around.length - 1) === isPermitted
    })
  }))
})

t.test('the same ids have the same text, in whatever order, and what a beginning covers is left out', (t) => {
  t.equal(filterOf(['b', 'a*', 'a', 'ab*', 'b']).of, '["a*","b"]')
  t.equal(filterOf(['a*', 'b']).of, filterOf(['b', 'a*']).of)
  t.not(filterOf(['a*']).of, filterOf(['a']).of)
  t.same(filterOf(['b', 'a']).exact?.map(String), ['a', 'b'])
  t.equal(filterOf(['a*', 'b']).exact, null)
  t.end()
})

t.test('malformed lists are faults, never a filter that permits all', (t) => {
  for (const [list, words] of /** @type {[any, RegExp][]} */ ([
    [undefined, /not a list/], [null, /not a list/], ['a', /not a list/], [{ a: 1 }, /not a list/], [[], /a list of 0/],
    [[1], /an id of type number/], [[null], /of type null/], [['a', ['b']], /of type object/], [[''], /an id of 0 bytes/],
    [['x'.repeat(129)], /an id of 129 bytes/], [['a\n*'], /a control character/], [['\ud800*'], /surrogate/],
    [Array.from({ length: 1001 }, (_, i) => String(i)), /a list of 1001/]
  ])) t.match(readIdFilter(list), words)
  t.end()
})
