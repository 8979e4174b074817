import t from 'tap'
import fc from 'fast-check'
import { createPacer } from '../../src/pipeline/append-paced.js'
import { holds } from '../properties.js'

const START = 1_750_000_000_000
const steady = (/** @type {number} */ ratePerSecond) =>
  createPacer({ ratePerSecond, pace: 'steady', periodMs: 1000, chunks: 1, startMs: START })
const burst = (/** @type {number} */ ratePerSecond, chunks = 1, periodMs = 1000) =>
  createPacer({ ratePerSecond, pace: 'burst', periodMs, chunks, startMs: START })

t.test('steady: due items follow from the rate and the time alone', async (t) => {
  const pacer = steady(1000)
  t.equal(pacer.due(START - 5), 0)
  t.equal(pacer.due(START), 0)
  t.equal(pacer.due(START + 10), 10)
  t.equal(pacer.due(START + 3_600_000), 3_600_000, 'what was missed stays due')
  t.same([0, 1, 2].map(() => pacer.take(START + 60_000)), [START + 1, START + 2, START + 3], 'at the time it was intended for')
  t.equal(pacer.due(START + 10), 7)
  t.equal(pacer.waitMs(START + 1), 3)
})

t.test('steady: rates below one a second', async (t) => {
  const pacer = steady(0.5)
  t.equal(pacer.due(START + 1999), 0)
  t.equal(pacer.due(START + 2000), 1)
  t.equal(pacer.waitMs(START), 2000)
})

t.test('burst: all items of a burst are due at its beginning', async (t) => {
  const pacer = burst(1000, 4)
  t.equal(pacer.due(START + 1), 250)
  t.equal(pacer.due(START + 249), 250)
  t.equal(pacer.due(START + 251), 500)
  t.equal(pacer.due(START + 999), 1000)
  const times = Array.from({ length: 501 }, () => pacer.take(START + 10_000))
  t.same([times[0], times[249], times[250], times[499], times[500]], [0, 0, 250, 250, 500].map((ms) => START + ms))
})

t.test('burst: a rate that does not divide is right over time', async (t) => {
  const pacer = burst(10, 3)
  const perSecond = [1, 2, 3].map((second) => pacer.due(START + second * 1000 - 1))
  t.same(perSecond, [10, 20, 30])
})

t.test('rate 0: everything is due always, now', async (t) => {
  const pacer = steady(0)
  t.equal(pacer.due(START), Infinity)
  t.equal(pacer.take(START + 7), START + 7)
  t.equal(pacer.waitMs(START), 0)
  t.equal(pacer.skip(START + 1000), 0)
})

t.test('skip drops the due items and returns their number', async (t) => {
  const pacer = steady(1000)
  pacer.take(START + 500)
  t.equal(pacer.skip(START + 500), 499)
  t.equal(pacer.due(START + 500), 0)
  t.equal(pacer.skip(START + 100), 0, 'never back')
  t.equal(pacer.take(START + 501), START + 501)
})

const anyPacer = fc.record({
  ratePerSecond: fc.double({ min: 0.1, max: 1e6, noNaN: true }),
  pace: fc.constantFrom(/** @type {const} */ ('steady'), /** @type {const} */ ('burst')),
  periodMs: fc.integer({ min: 1, max: 10_000 }),
  chunks: fc.integer({ min: 1, max: 20 })
})

t.test('an item is due when its time has come, and not before', (t) =>
  holds(t, fc.property(anyPacer, fc.integer({ min: 0, max: 5000 }), (options, skipped) => {
    const pacer = createPacer({ ...options, startMs: START })
    for (let k = 0; k < skipped; k++) pacer.take(START)
    const dueMs = pacer.take(START)
    const others = createPacer({ ...options, startMs: START })
    return others.due(dueMs + 0.01) > skipped && others.due(dueMs - 0.01) <= skipped
  }), { runs: 300 }))

t.test('times never go back', (t) =>
  holds(t, fc.property(anyPacer, (options) => {
    const pacer = createPacer({ ...options, startMs: START })
    const times = Array.from({ length: 500 }, () => pacer.take(START))
    return times.every((ms, k) => k === 0 || ms >= times[k - 1])
  }), { runs: 100 }))
