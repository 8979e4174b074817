/**
 * Intervals of medians and of their ratios: against known values, and by simulation, with arms that are equal (L10) and
 * arms that are not. FRESHET_TEST_SIMULATIONS makes more of them; docs/decisions/010 has the figures of 2,000 each.
 */
import t from 'tap'
import fc from 'fast-check'
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64'
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus'
import { probit, standardDeviation } from 'simple-statistics'
import { FEWEST_VALUES, medianWithInterval, ratioOfMedians, resampledMedians, verdictOf } from '../../lab/analysis/statistics.js'
import { holds } from '../properties.js'
import { nightTest, nightly } from '../scope.js'

/** Of each noise and number of rounds. */
const SIMULATIONS = Number(process.env.FRESHET_TEST_SIMULATIONS ?? nightly(200, 50))
/** Survival in days of the treated mice in Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapter 2. */
const MICE = [94, 197, 16, 38, 99, 141, 23]
const UNKNOWN = { low: null, high: null }

/** @param {import('tap').Test} t @param {number | null} value @param {number} expected @param {number} share @param {string} name */
const isNear = (t, value, expected, share, name) =>
  t.ok(Math.abs(Number(value) / expected - 1) <= share, `${name}: ${value}, expected ${expected}`)

t.test('the bootstrap standard error of a median is the published one', async (t) => {
  // 37.83 is their value for infinitely many resamples
  isNear(t, standardDeviation(resampledMedians(MICE, xoroshiro128plus(1), 20_000)), 37.83, 0.01, 'standard error')
})

t.test('intervals are those of all resamples that there can be', async (t) => {
  // enumerated in Python: each resample with its probability, scipy.stats.t.ppf for the widening
  const median = medianWithInterval(MICE)
  t.equal(median.median, 94)
  isNear(t, median.low, 5.362, 0.001, 'low')
  isNear(t, median.high, 152.676, 0.001, 'high')
  const cases = [
    { values: [2.6, 2.7, 2.5, 2.9, 2.55], against: [4.3, 4.5, 4.2, 4.4, 4.7], ratio: 0.590909, low: 0.546161, high: 0.673196 },
    { values: [2.6, 2.7, 2.5, 2.9, 2.55], against: [4.3, 4.5, 4.2], ratio: 0.604651, low: 0.557581, high: 0.693018 },
    { values: [1.02, 0.97, 1.1, 1.0, 0.94], against: [1.0, 1.05, 0.95, 0.99, 1.08], ratio: 1, low: 0.881246, high: 1.118699 }
  ]
  for (const { values, against, ...expected } of cases) {
    const found = ratioOfMedians(values, against)
    isNear(t, found.ratio, expected.ratio, 1e-5, 'ratio')
    isNear(t, found.low, expected.low, 0.005, 'low')
    isNear(t, found.high, expected.high, 0.005, 'high')
  }
})

t.test('fewer than three values have no interval, and no verdict', async (t) => {
  t.equal(FEWEST_VALUES, 3)
  t.same(medianWithInterval([]), { median: null, ...UNKNOWN })
  t.same(medianWithInterval([2, 1]), { median: 1.5, ...UNKNOWN })
  t.same(ratioOfMedians([], [1, 2, 3]), { ratio: null, ...UNKNOWN })
  t.same(ratioOfMedians([4, 2], [1, 2, 3]), { ratio: 1.5, ...UNKNOWN })
  t.same(ratioOfMedians([1, 2, 3], [4]), { ratio: 0.5, ...UNKNOWN })
  t.equal(verdictOf(ratioOfMedians([1, 2, 3], [4])), 'unknown')
  t.type(ratioOfMedians([1, 2, 3], [2, 3, 4]).low, 'number')
})

t.test('there is no ratio to 0, and none of 0 can be bounded', async (t) => {
  t.same(ratioOfMedians([1, 2, 3], [0, 0, 1]), { ratio: null, ...UNKNOWN })
  t.same(ratioOfMedians([0, 1, 1], [2, 2, 2]), { ratio: 0.5, ...UNKNOWN })
  const { median, low } = medianWithInterval([0, 0, 3, 4, 5])
  t.same([median, low], [3, 0], 'nothing measured is below 0')
  const shrunk = medianWithInterval([-3, -2, -1, 1, 0.5])
  t.ok(Number(shrunk.low) < -1 && Number(shrunk.high) > -1, 'the median is inside, also of what is below 0')
})

t.test('verdicts: an interval that excludes 1 is a difference', async (t) => {
  t.equal(verdictOf({ low: 0.9, high: 0.999 }), 'less')
  t.equal(verdictOf({ low: 1.001, high: 1.2 }), 'more')
  t.equal(verdictOf({ low: 1, high: 1.2 }), 'none')
  t.equal(verdictOf({ low: 0.9, high: 1 }), 'none')
  t.equal(verdictOf(UNKNOWN), 'unknown')
})

t.test('values that do not vary have an interval without width', async (t) => {
  t.same(ratioOfMedians([2, 2, 2, 2, 2], [4, 4, 4, 4, 4]), { ratio: 0.5, low: 0.5, high: 0.5 })
  t.same(medianWithInterval([7, 7, 7]), { median: 7, low: 7, high: 7 })
})

const anySample = fc.array(fc.double({ min: 0.01, max: 1e6, noNaN: true }), { minLength: FEWEST_VALUES, maxLength: 15 })

t.test('an interval holds its ratio, does not know the unit, and is the same again', async (t) => {
  await holds(t, fc.property(anySample, anySample, fc.constantFrom(1e-3, 1000), (values, against, unit) => {
    const { ratio, low, high } = ratioOfMedians(values, against)
    const scaled = ratioOfMedians(values.map((value) => value * unit), against.map((value) => value * unit))
    const again = ratioOfMedians(values.toReversed(), against.toReversed())
    const near = (/** @type {number | null} */ a, /** @type {number | null} */ b) => Math.abs(Math.log(Number(a) / Number(b))) < 1e-6
    return Number(low) <= Number(ratio) * (1 + 1e-9) && Number(ratio) <= Number(high) * (1 + 1e-9) &&
      again.ratio === ratio && again.low === low && again.high === high && near(scaled.low, low) && near(scaled.high, high)
  }), { runs: 50 })
})

/** What a machine does to equal arms. `at`: 0..1 through the run. */
const random = xoroshiro128plus(20_000)
const share = () => uniformFloat64(random)
const normal = () => probit(Math.min(1 - 1e-12, Math.max(1e-12, share())))
const NOISE = /** @type {Record<string, (at: number) => number>} */ ({
  'lognormal 5 %': () => Math.exp(0.05 * normal()),
  'lognormal 20 %': () => Math.exp(0.2 * normal()),
  'one in ten is 1.5 to 3 times as much': () => Math.exp(0.05 * normal()) * (share() < 0.1 ? 1.5 + 1.5 * share() : 1),
  'tails without a variance': () => Math.exp(0.05 * normal() / Math.sqrt(-Math.log(1 - share()))),
  'a drift of 30 % over the rounds': (at) => Math.exp(0.03 * normal()) * (1 + 0.3 * at)
})

/**
 * Two arms that differ by `factor`, measured as the lab does: every other round backwards.
 * @param {(at: number) => number} noise @param {number} rounds @param {number} [factor]
 */
function twoArms (noise, rounds, factor = 1) {
  const order = Array.from({ length: rounds }, (_, i) => i % 2 === 0 ? ['a', 'b'] : ['b', 'a']).flat()
  const all = order.map((arm, i) => ({ arm, value: noise(i / order.length) }))
  const of = (/** @type {string} */ name) => all.filter(({ arm }) => arm === name).map(({ value }) => value)
  return { a: of('a').map((value) => value * factor), b: of('b') }
}

/** @param {number} simulations @param {() => { a: number[], b: number[] }} arms @returns {number} share that is called different */
function shareDifferent (simulations, arms) {
  let different = 0
  for (let i = 0; i < simulations; i++) {
    const { a, b } = arms()
    const verdict = verdictOf(ratioOfMedians(a, b, { seed: i }))
    if (verdict === 'less' || verdict === 'more') different++
  }
  return different / simulations
}

const percent = (/** @type {number} */ part) => `${(part * 100).toFixed(1)} %`

nightTest('L10: of equal arms at most 6 % are called different, in at least 2,000 simulations', async (t) => {
  let simulations = 0
  for (const [name, noise] of Object.entries(NOISE)) {
    for (const rounds of [5, 7, 10]) {
      const different = shareDifferent(SIMULATIONS, () => twoArms(noise, rounds))
      simulations += SIMULATIONS
      t.ok(different <= 0.06, `${name}, ${rounds} rounds: ${percent(different)}`)
    }
  }
  t.ok(simulations >= 2000, `${simulations} simulations`)
})

nightTest('L10 holds as well when samples were INVALID: 3 against 5, 3 against 3, 4 against 10', async (t) => {
  for (const [few, many] of [[3, 5], [3, 3], [4, 10]]) {
    const different = shareDifferent(SIMULATIONS * 2, () => {
      const { a, b } = twoArms(NOISE['lognormal 5 %'], many)
      return { a: a.slice(0, few), b }
    })
    t.ok(different <= 0.06, `${few} against ${many}: ${percent(different)}`)
  }
})

t.test('a difference that is there is found: 20 % among noise of 5 %, five rounds', async (t) => {
  const found = shareDifferent(SIMULATIONS * 2, () => twoArms(NOISE['lognormal 5 %'], 5, 1.2))
  t.ok(found >= 0.9, percent(found))
  t.equal(verdictOf(ratioOfMedians([12, 12.4, 11.8, 12.1, 12.6], [10, 10.3, 9.8, 10.1, 10.4])), 'more')
})
