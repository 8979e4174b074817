/**
 * The synthetic workload: which ids a writer has, and what its values contain.
 */
import t from 'tap'
import fc from 'fast-check'
import { NUMBERED_VALUE_BYTES, WHOLE_VALUE_BYTES, makeIds, makeValue, readNumber, readValue } from '../src/synthetic.js'
import { holds } from './properties.js'

const namesOf = (/** @type {Buffer[]} */ ids) => ids.map(String)

/** @param {number} times @param {() => void} change */
const repeat = (times, change) => { for (let i = 0; i < times; i++) change() }

t.test('writers divide the ids, and each has at least one', async (t) => {
  t.same(namesOf(makeIds(3, 0, 1)), ['id-0', 'id-1', 'id-2'])
  t.same([0, 1].map((index) => namesOf(makeIds(5, index, 2))), [['id-0', 'id-2', 'id-4'], ['id-1', 'id-3']])
  t.same(namesOf(makeIds(2, 3, 4)), ['id-3'])
  await holds(t, fc.property(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 8 }), (distinct, writers) => {
    fc.pre(distinct >= writers)
    const all = Array.from({ length: writers }, (_, index) => namesOf(makeIds(distinct, index, writers))).flat()
    return all.length === distinct && new Set(all).size === distinct
  }))
})

t.test('a value has its size, and contains writer and number if they fit', async (t) => {
  await holds(t, fc.property(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 63 }), fc.integer({ min: 1, max: 300 }), (bytes,
    index, times) => {
    const { value, change } = makeValue(bytes, index)
    repeat(times, change)
    const read = readValue(value)
    if (value.length !== bytes || readNumber(value) !== (read?.number ?? null)) return false
    if (bytes < NUMBERED_VALUE_BYTES) return read === null
    return read?.number === times && (read.writer === index || (read.writer === null && bytes < WHOLE_VALUE_BYTES))
  }))
  const { value, change } = makeValue(WHOLE_VALUE_BYTES + 3, 7)
  repeat(120, change)
  t.equal(String(value), '{"writer":7,"n":"000000000120","pad":"xxxx"}')
  t.same(JSON.parse(String(value)).writer, 7)
})

t.test('values repeat after as many as there are ids', async (t) => {
  for (const bytes of [NUMBERED_VALUE_BYTES, 128]) {
    const { value, change } = makeValue(bytes, 1, 20)
    const texts = Array.from({ length: 60 }, () => {
      change()
      return String(value)
    })
    t.equal(new Set(texts).size, 20)
    t.same(texts.slice(20, 40), texts.slice(0, 20))
    t.same(texts.slice(40), texts.slice(0, 20))
    t.equal(readNumber(Buffer.from(texts[59])), 20)
  }
})

t.test('other values have no number', async (t) => {
  const { value, change } = makeValue(128, 3)
  change()
  t.equal(readNumber(value), 1)
  for (const wrong of ['', 'text that is long enough', '{"writer":', '{"writer":3,"m":"000000000001","pad":""}',
    '{"writer":3,"n":"00000000000x","pad":""}', '{"writer":x,"n":"000000000001","pad":""}', '00000000001x']) {
    t.equal(readValue(Buffer.from(wrong)), null, wrong)
  }
  t.equal(readValue(value.subarray(0, 100)), null, 'cut off')
})
