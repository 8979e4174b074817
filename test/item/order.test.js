import t from 'tap'
import fc from 'fast-check'
import { MAX_SEQ, MAX_TS, compareOrder, createSequence, newestFirst, scoreOf, unscore } from '../../src/item/order.js'
import { anyId, anyPlace, anySeq, anyTs, holds } from '../properties.js'

/** @typedef {import('../../src/item/order.js').OrderKey} OrderKey */

const place = (/** @type {number} */ ts, /** @type {number} */ seq, /** @type {string} */ id) => ({ ts, seq, id: Buffer.from(id) })

t.test('a score gives back its ts and seq exactly', (t) =>
  holds(t, fc.property(anyTs, anySeq, (ts, seq) => {
    const back = unscore(scoreOf(ts, seq))
    return back.ts === ts && back.seq === seq
  }), { runs: 2000 }))

t.test('a score reads as milliseconds', async (t) => {
  t.equal(scoreOf(1_700_000_000_123, 0), 1_700_000_000_123)
  t.equal(scoreOf(1_700_000_000_123, 2048), 1_700_000_000_123.5)
  t.equal(scoreOf(MAX_TS, MAX_SEQ), 2 ** 41 - 1 / 4096)
})

t.test('scores order as ts and seq do', (t) =>
  holds(t, fc.property(anyPlace, anyPlace, (a, b) => {
    const byScore = Math.sign(scoreOf(a.ts, a.seq) - scoreOf(b.ts, b.seq))
    return byScore === Math.sign(a.ts - b.ts || a.seq - b.seq)
  }), { runs: 1000 }))

const nearPlace = fc.record({
  ts: fc.integer({ min: 0, max: 2 }),
  seq: fc.integer({ min: 0, max: 2 }),
  id: fc.oneof(anyId, fc.constantFrom('a', 'b', 'ab').map((id) => Buffer.from(id)))
})

t.test('the order is total: antisymmetric, transitive, and 0 only for the same place', (t) =>
  holds(t, fc.property(nearPlace, nearPlace, nearPlace, (a, b, c) => {
    const same = a.ts === b.ts && a.seq === b.seq && a.id.equals(b.id)
    const opposite = Math.sign(compareOrder(a, b)) === -Math.sign(compareOrder(b, a))
    const transitive = !(compareOrder(a, b) <= 0 && compareOrder(b, c) <= 0) || compareOrder(a, c) <= 0
    return opposite && transitive && (compareOrder(a, b) === 0) === same
  }), { runs: 1000 }))

t.test('ts decides first, then seq, then the bytes of the id', async (t) => {
  const oldestFirst = [place(1, 5, 'z'), place(2, 0, 'b'), place(2, 1, 'a'), place(2, 1, 'ab'), place(2, 1, 'b'), place(2, 1, 'é')]
  const shuffled = [3, 0, 5, 2, 4, 1].map((i) => oldestFirst[i])
  t.same(shuffled.toSorted(newestFirst), oldestFirst.toReversed())
})

t.test('ids compare as bytes, not as UTF-16', async (t) => {
  t.ok(compareOrder(place(1, 0, '\u{1F600}'), place(1, 0, '\uFF5E')) > 0)
})

t.test('a sequence counts consecutive items of one ts', async (t) => {
  const next = createSequence()
  t.same([5, 5, 5, 6, 6, 5].map(next), [0, 1, 2, 0, 1, 0])
})

t.test('a sequence saturates at 4,095', async (t) => {
  const next = createSequence()
  const seqs = Array.from({ length: 5000 }, () => next(7))
  t.equal(seqs[4095], 4095)
  t.equal(seqs[4096], 4095)
  t.equal(seqs[4999], 4095)
  t.equal(next(8), 0)
})
