/**
 * What a result says: figures, comparisons in words, noise, costs, what is invalid, and what a reader is warned of.
 */
import t from 'tap'
import { analyse } from '../../lab/analysis/index.js'
import { textsOf } from '../../lab/analysis/verdict.js'
import { ended as lost, lossy, planOf, resultOf } from './results.js'

/** @typedef {import('../../lab/run/sample.js').Sample} Sample */

const LEVEL = '50 k items/s'
const IDS = [4.3, 4.5, 4.2, 4.4, 4.7]
const VALUES = [2.6, 2.7, 2.5, 2.9, 2.55]
const COSTS = { ids: 4.3, values: 2.6, reference: 6, blob: 0.2 }
const plain = planOf({ published: null, expected: [] })

/**
 * Gives arms what they cost the primary in each round, microseconds an item.
 * @param {Record<string, number[]>} micros
 * @returns {(sample: Sample) => object}
 */
const costing = (micros) => (sample) => {
  const of = micros[sample.arm]?.[sample.round - 1]
  return of === undefined ? {} : { nodes: sample.nodes.map((node) => node.role === 'primary' ? { ...node, cpuMicrosPerItem: of } : node) }
}

/** @param {Record<string, number[]>} micros @param {Partial<Parameters<typeof resultOf>[0]>} [options] */
const analysisOf = (micros, options = {}) =>
  analyse(resultOf({ plan: plain, costs: COSTS, change: costing({ 'ids (A/A)': micros.ids, ...micros }), ...options }))

/** @param {import('../../lab/analysis/index.js').Analysis} analysis @param {string} arm @param {string} [against] */
const comparison = ({ comparisons }, arm, against = 'ids') => {
  const [found] = comparisons.filter((one) => one.arm === arm && one.against === against)
  return found
}

t.test('an arm that costs less is reported as a ratio with its interval', async (t) => {
  const { verdict, measure, level, ratio, sentence, published, sameDirection, expected, asExpected, withinNoise } =
    comparison(analysisOf({ ids: IDS, values: VALUES }), 'values')
  t.equal(sentence, '`values` costs 0.59 x `ids` [0.55-0.67]')
  t.same({ verdict, measure, level, withinNoise },
    { verdict: 'less', measure: 'primaryCpuMicrosPerItem', level: LEVEL, withinNoise: false })
  t.equal(Number(ratio).toFixed(4), (2.6 / 4.4).toFixed(4), 'of medians')
  t.same({ published, sameDirection, expected, asExpected }, { published: null, sameDirection: null, expected: null, asExpected: null })
})

t.test('an interval that spans 1 is no measurable difference', async (t) => {
  const { verdict, sentence } = comparison(analysisOf({ ids: [1, 1.05, 0.95, 0.99, 1.08], values: [1.02, 0.97, 1.1, 1, 0.94] }), 'values')
  t.equal(verdict, 'none')
  t.equal(sentence, '`values` against `ids`: no measurable difference [0.88-1.12]')
})

t.test('the verb is that of the measure', async (t) => {
  const ofMeasure = (/** @type {string} */ measure, /** @type {(sample: Sample) => object} */ change) =>
    comparison(analyse(resultOf({ plan: planOf({ measures: [measure], published: null }), costs: COSTS, change })), 'values').sentence
  const more = (/** @type {Sample} */ { arm }) => arm === 'values' ? 3 : 1
  t.match(ofMeasure('itemsPerSecond', (sample) => ({ items: sample.items * more(sample) })), /^`values` reaches 3\.00 x `ids` \[/)
  t.match(ofMeasure('behindMsP99', (sample) => ({ behindMs: { p50: 1, p95: 1, p99: 2 * more(sample), max: 9 } })),
    /^`values` is behind by 3\.00 x `ids` \[/)
})

t.test('a difference that the A/A pair has as well is within the noise of this machine', async (t) => {
  const twice = analysisOf({
    ids: [1, 1.001, 0.999, 1.002, 0.998],
    'ids (A/A)': [1.05, 1.051, 1.049, 1.052, 1.048],
    values: [1.04, 1.041, 1.039, 1.042, 1.038],
    reference: [0.94, 0.941, 0.939, 0.942, 0.938]
  })
  t.match(comparison(twice, 'values').sentence,
    /^`values` against `ids`: no difference beyond the noise of this machine \(1\.04\d* x \[1\.04\d*-1\.04\d*\]; `ids` against itself 1\.05\d* x \[1\.0[45]\d*-1\.05\d*\]\)$/)
  t.equal(comparison(twice, 'values').withinNoise, true)
  t.equal(comparison(twice, 'reference').withinNoise, false, '0.94 is further from 1 than 1.05')
  t.same(twice.noise.map(({ level, measure }) => ({ level, measure })), plain.measures.map((measure) => ({ level: LEVEL, measure })),
    'for every measure')
  t.equal(Number(twice.noise[0].ratio).toFixed(3), '1.050')
  t.ok(Number(twice.noise[0].low) <= 1.05 && Number(twice.noise[0].high) >= 1.05)
})

t.test('within the noise nothing is shown: no direction, no prediction come true or refuted', async (t) => {
  const micros = {
    ids: [1, 1.001, 0.999, 1.002, 0.998], 'ids (A/A)': [1.05, 1.051, 1.049, 1.052, 1.048], values: [1.04, 1.041, 1.039, 1.042, 1.038]
  }
  for (const direction of /** @type {const} */ (['more', 'less', 'same'])) {
    for (const value of [1.5, 0.5, 1]) {
      const published = {
        source: 's', conditions: 'c', unit: 'u', figures: [], ratios: [{ arm: 'values', against: 'ids', value, label: 'theirs' }]
      }
      const { verdict, withinNoise, sameDirection, asExpected } = comparison(analysisOf(micros,
        { plan: planOf({ published, expected: [{ arm: 'values', against: 'ids', direction }] }) }), 'values')
      t.same({ verdict, withinNoise, sameDirection, asExpected },
        { verdict: 'more', withinNoise: true, sameDirection: null, asExpected: null }, `${direction}, ${value}`)
    }
  }
})

t.test('an A/A pair that comes out different is warned of, and up to the farther end of its interval all is noise', async (t) => {
  const wide = { ids: [1, 1.03, 0.97, 1.02, 0.98], 'ids (A/A)': [1.3, 1.45, 1.2, 1.35, 1.25] }
  const { noise: [{ ratio, high }], warnings } = analysisOf(wide)
  t.ok(Number(high) > 1.32, `${ratio} [-${high}]`)
  t.match(warnings, [/^the A\/A pair differs at 50 k items\/s: 1\.30 x \[1\.\d\d-1\.\d\d\]; differences of that size are noise there$/])
  const between = (Number(ratio) + Number(high)) / 2
  const of = (/** @type {number} */ factor) =>
    comparison(analysisOf({ ...wide, values: [0.999, 1, 1.001, 1.0005, 0.9995].map((one) => one * factor) }), 'values').withinNoise
  t.same([between, 1 / between, Number(high) * 1.05, 1 / (Number(high) * 1.05)].map(of), [true, true, false, false],
    'larger than the ratio of the pair, and it may be noise still')
  const alike = analysisOf({ ids: [1, 1.3, 0.8, 1.1, 0.9], 'ids (A/A)': [1.02, 1.3, 0.8, 1.1, 0.9], values: [0.5, 0.51, 0.49, 0.5, 0.5] })
  t.same(alike.warnings, [], 'a pair that does not differ')
  t.equal(comparison(alike, 'values').withinNoise, false)
})

t.test('"the same" takes an interval within a tenth: a wide one proves nothing', async (t) => {
  const same = (/** @type {number[]} */ ids, /** @type {number[]} */ values) => {
    const published = {
      source: 's', conditions: 'c', unit: 'u', figures: [], ratios: [{ arm: 'values', against: 'ids', value: 1.01, label: 'theirs' }]
    }
    const { verdict, asExpected, sameDirection } = comparison(analysisOf({ ids, values },
      { plan: planOf({ published, expected: [{ arm: 'values', against: 'ids', direction: 'same' }] }) }), 'values')
    t.equal(sameDirection, asExpected, 'published ratios near 1 are held to the same')
    return [verdict, asExpected]
  }
  const tight = [1, 1.002, 0.998, 1.001, 0.999]
  t.same(same(tight, tight), ['none', true])
  t.same(same(tight, tight.map((one) => one * 1.03)), ['more', true], 'a difference, of less than a tenth')
  t.same(same([1, 1.3, 0.8, 1.1, 0.9], [1.05, 1.25, 0.85, 1.1, 0.9]), ['none', null], 'no measurable difference')
  t.same(same(IDS, VALUES), ['less', false])
})

t.test('L18: counters of a cell are there, whatever the plan measures', async (t) => {
  const { cells } = analyse(resultOf({
    plan: planOf({ measures: ['itemsPerSecond'] }), costs: COSTS, change: ({ arm }) => arm === 'blob' ? lost(null) : {}
  }))
  t.match(cells[0].counters, { commandsPerItem: 1 / 500, netBytesPerItem: 168, scriptMicrosPerItem: null })
  t.same(cells.find(({ arm }) => arm === 'blob')?.counters,
    { commandsPerItem: null, netBytesPerItem: null, replicatedBytesPerItem: null, scriptMicrosPerItem: null })
})

t.test('figures of a cell: median, interval, range, number', async (t) => {
  const { cells, main } = analysisOf({ ids: IDS, values: VALUES })
  t.equal(main, 'primaryCpuMicrosPerItem')
  t.same(cells.map(({ arm }) => arm), ['ids', 'values', 'reference', 'blob', 'ids (A/A)'])
  const { n, invalid, marks, figures } = cells[1]
  t.same({ n, invalid, marks }, { n: 5, invalid: 0, marks: {} })
  t.same(Object.keys(figures), plain.measures)
  const { median, low, high, min, max } = figures.primaryCpuMicrosPerItem
  t.same({ median, min, max, n: figures.primaryCpuMicrosPerItem.n }, { median: 2.6, min: 2.5, max: 2.9, n: 5 })
  t.ok(Number(low) < 2.6 && Number(low) > 2.3 && Number(high) > 2.6 && Number(high) < 3.3, `[${low}-${high}]`)
})

t.test('invalid samples, and those that ended with an error, enter no figure and are listed apart', async (t) => {
  const change = (/** @type {Sample} */ sample) => {
    if (sample.arm !== 'values') return costing({ ids: IDS })(sample)
    if (sample.round === 1) return { ...lossy(sample), nodes: sample.nodes.map((node) => ({ ...node, cpuMicrosPerItem: 1000 })) }
    if (sample.round === 2) return lost(sample)
    if (sample.round === 3) return { ...lossy(sample), valid: true }
    return costing({ values: [0, 0, 0, 2.5, 3.5] })(sample)
  }
  const { cells, comparisons, invalid, ended } = analyse(resultOf({ plan: plain, costs: COSTS, change }))
  t.same(invalid.map(({ arm, level, round }) => `${arm}, ${level}, ${round}`), [1, 3].map((round) => `values, ${LEVEL}, ${round}`))
  t.match(invalid[0].why, [/^items acknowledged are present: no \(.* 12 missing\)$/])
  t.equal(invalid[1].why.length, 1, 'a sample that is marked valid with a broken invariant is not')
  t.same(ended,
    [{ arm: 'values', level: LEVEL, round: 2, code: 'SERVER_LOST', message: 'a server ended during the measurement: killed by SIGKILL' }],
    'L14: an outcome, no contradiction')
  const { n, invalid: left, ended: codes, figures } = cells[1]
  t.same({ n, left, codes }, { n: 2, left: 2, codes: { SERVER_LOST: 1 } })
  t.same(figures.primaryCpuMicrosPerItem, { median: 3, low: null, high: null, min: 2.5, max: 3.5, n: 2 })
  const [{ verdict, low, high, sentence }] = comparisons
  t.same({ verdict, low, high }, { verdict: 'unknown', low: null, high: null })
  t.equal(sentence, '`values` against `ids`: unknown, 0.68 x from 2 and 5 valid samples; an interval needs 3 of each')
})

t.test('an arm without a valid sample is not known, one that was not measured is not compared', async (t) => {
  const result = resultOf({ plan: plain, costs: COSTS, change: (sample) => sample.arm === 'values' ? lost(sample) : {} })
  const { comparisons, cells } = analyse({ ...result, samples: result.samples.filter(({ arm }) => arm !== 'reference') })
  t.same(comparisons.map(({ arm }) => arm), ['values', 'blob'])
  t.same(cells[1].figures.primaryCpuMicrosPerItem, { median: null, low: null, high: null, min: null, max: null, n: 0 })
  t.equal(comparisons[0].sentence, '`values` against `ids`: unknown, no valid sample of `values` has a value')
})

t.test('what is 0 has no ratio, and the medians are reported', async (t) => {
  const change = (/** @type {Sample} */ { arm }) =>
    ({ behindMs: arm === 'ids' ? { p50: 0, p95: 0, p99: 0, max: 0 } : { p50: 1, p95: 1, p99: 3, max: 4 } })
  const { ratio, verdict, sentence } = comparison(analyse(resultOf({ plan: planOf({ measures: ['behindMsP99'] }), costs: COSTS, change })),
    'values')
  t.same({ ratio, verdict }, { ratio: null, verdict: 'unknown' })
  t.equal(sentence, '`values` against `ids`: unknown, a value of 0 allows no interval (medians 3.00 and 0.00)')
})

t.test('published: the same direction, another one, or nothing to say', async (t) => {
  const told = (/** @type {number} */ value, /** @type {number[]} */ ids = IDS) => {
    const published = {
      source: 's', conditions: 'c', unit: 'u', figures: [], ratios: [{ arm: 'values', against: 'ids', value, label: 'theirs' }]
    }
    const { sameDirection, published: shown } = comparison(analysisOf({ ids, values: VALUES }, { plan: planOf({ published }) }), 'values')
    t.same(shown, { value, label: 'theirs' })
    return sameDirection
  }
  t.equal(told(0.605), true)
  t.equal(told(1.4), false)
  t.equal(told(0.985), false, 'they saw no difference, here is one')
  t.equal(told(0.6, VALUES), null, 'no measurable difference here')
})

t.test('a published ratio of one level applies to no other, and takes precedence over one of all levels', async (t) => {
  const levels = { low: { settings: { rate: 10_000 }, without: [] }, high: { settings: { rate: 50_000 }, without: [] } }
  const ratios = [{ arm: 'values', against: 'ids', value: 0.6, label: 'everywhere' },
    { arm: 'values', against: 'ids', level: 'low', value: 0.8, label: 'A low' },
    { arm: 'values', against: 'ids', level: 'low', value: 0.9, label: 'B low' }]
  const plan = planOf({
    levels,
    published: { source: 's', conditions: 'c', unit: 'u', figures: [], ratios },
    expected: [{ arm: 'values', against: 'ids', direction: 'more', level: 'low' }, { arm: 'values', against: 'ids', direction: 'less' }]
  })
  const { comparisons } = analyse(resultOf({ plan, costs: COSTS }))
  t.same(comparisons.filter(({ arm }) => arm === 'values').map(({ level, published, expected, asExpected }) =>
    [level, published?.label, expected, asExpected]), [
    ['low', 'A low', 'more', false], ['low', 'B low', 'more', false], ['high', 'everywhere', 'less', true]
  ], 'a row for each published ratio')
})

t.test('pairs beside the baseline are compared when something is expected of them or published', async (t) => {
  const published = {
    source: 's', conditions: 'c', unit: 'u', figures: [], ratios: [{ arm: 'reference', against: 'values', value: 2, label: 'theirs' }]
  }
  const analysis = analyse(resultOf({
    plan: planOf({
      published, expected: [{ arm: 'values', against: 'blob', direction: 'less' }, { arm: 'reference', against: 'ids', direction: 'same' }]
    }),
    costs: COSTS
  }))
  t.same(analysis.comparisons.map(({ arm, against }) => `${arm} ${against}`),
    ['values ids', 'reference ids', 'blob ids', 'values blob', 'reference values'])
  t.equal(comparison(analysis, 'values', 'blob').asExpected, false)
  t.equal(comparison(analysis, 'reference').asExpected, false)
  t.equal(comparison(analysis, 'reference', 'values').sameDirection, true)
})

t.test('texts of ratios: no false digits, and none that says 1 where 1 is excluded', async (t) => {
  t.same(textsOf([0.5814, 0.5512, 0.613]), ['0.58', '0.55', '0.61'])
  t.same(textsOf([12.432, 11.9, 13.04]), ['12.4', '11.9', '13.0'])
  t.same(textsOf([0.04832, 0.0471, 0.0502]), ['0.0483', '0.0471', '0.0502'])
  t.same(textsOf([143.4]), ['143'])
  t.same(textsOf([0.97, 0.94, 0.9981], true), ['0.970', '0.940', '0.998'])
  t.same(textsOf([0.97, 0.94, 0.9981]), ['0.97', '0.94', '1.00'])
})

t.test('the same result gives the same words, whatever the order of its samples', async (t) => {
  const levels = Object.fromEntries([10_000, 25_000, 50_000].map((rate) => [`${rate}`, { settings: { rate }, x: rate, without: [] }]))
  const result = resultOf({
    plan: planOf({ levels, fixedAndMarginal: true }), costs: COSTS, change: (sample) => sample.round === 2 ? lossy(sample) : {}
  })
  const before = JSON.stringify(result)
  const once = analyse(result)
  t.same(analyse({ ...result, samples: result.samples.toReversed() }), once)
  t.equal(JSON.stringify(result), before, 'and is left as it was')
})

t.test('a measure that is not known is an error that names those known', async (t) => {
  const result = resultOf({ plan: planOf({ measures: ['primaryCpu'] }), costs: COSTS })
  t.throws(() => analyse(result), { code: 'RESULT_INVALID', message: /primaryCpu; known are primaryCpuMicrosPerItem/ })
})

t.test('fixed and marginal cost', async (t) => {
  const RATES = /** @type {Record<string, number>} */ ({ '10 k': 10_000, '25 k': 25_000, '50 k': 50_000, flat: 0 })
  const levels = Object.fromEntries(Object.entries(RATES).map(([name, rate]) => [name, { settings: { rate }, x: rate, without: [] }]))
  const plan = planOf({ levels, fixedAndMarginal: true, published: null, expected: [] })
  const fixed = 20_000
  const perItem = (/** @type {string} */ level, /** @type {number} */ marginal) => fixed / (RATES[level] || 100_000) + marginal
  const costs = {
    ids: (/** @type {string} */ level) => perItem(level, 1.5),
    values: (/** @type {string} */ level) => perItem(level, 0.8),
    reference: 4,
    blob: (/** @type {string} */ level) => level === '25 k' ? 3 : 1
  }
  const flatOut = (/** @type {Sample} */ sample) => sample.level === 'flat' ? { planned: null, items: 600_000 } : {}

  await t.test('a line through the levels at their planned rate', async (t) => {
    const { costs: fitted } = analyse(resultOf({ plan, costs, change: flatOut }))
    t.same(fitted.map(({ arm }) => arm), ['ids', 'values', 'reference', 'blob'], 'not of the A/A pair')
    const [ids, values, reference, blob] = fitted
    t.same(ids.levels, ['10 k', '25 k', '50 k'], 'as fast as possible is not on the line')
    t.ok(Math.abs(Number(ids.fixedPercent.mid) - 2) < 0.2, `${ids.fixedPercent.mid} % of a core`)
    t.ok(Math.abs(Number(ids.marginalMicrosPerItem.mid) - 1.5) < 0.05, `${ids.marginalMicrosPerItem.mid} us an item`)
    t.ok(Number(ids.fixedPercent.low) < 2 && Number(ids.fixedPercent.high) > 2)
    t.ok(Number(ids.marginalMicrosPerItem.low) < 1.5 && Number(ids.marginalMicrosPerItem.high) > 1.5)
    t.ok(Number(values.marginalMicrosPerItem.high) < 1)
    t.match(ids.sentence, /^`ids`: (1\.[89]|2\.[01])\d % of a core \[[\d.]+ to [\d.]+\] and 1\.[45]\d us per item \[1\.\d\d to 1\.\d\d\]$/)
    t.match(reference.sentence, /^`reference`: no fixed cost shown \(/)
    t.match(blob.sentence, /its levels are up to \d+ % off the line/)
  })

  await t.test('is weighted least squares, as numpy has it', async (t) => {
    // numpy 2.4.6: polyfit([10000, 25000, 50000], [35000, 57000, 95500], 1, w=1 / y)
    const micros = /** @type {Record<string, number>} */ ({ '10 k': 3.5, '25 k': 2.28, '50 k': 1.91 })
    const [ids] = analyse(resultOf({
      plan, costs, change: (sample) => ({ ...flatOut(sample), ...costing({ ids: Array(5).fill(micros[sample.level]) })(sample) })
    })).costs
    t.equal(Number(ids.marginalMicrosPerItem.mid).toFixed(6), '1.503394')
    t.equal(Number(ids.fixedPercent.mid).toFixed(5), '1.98610')
  })

  await t.test('levels that did not reach their rate are left out, and below three there is no line', async (t) => {
    const slow = (/** @type {Sample} */ sample) =>
      ({ ...flatOut(sample), ...(sample.arm === 'ids' && sample.level === '50 k' && { items: sample.items * 0.96 }) })
    const [ids, values] = analyse(resultOf({ plan, costs, change: slow })).costs
    t.same(ids.levels, ['10 k', '25 k'])
    t.same([ids.fixedPercent, ids.marginalMicrosPerItem, ids.offLine], [...Array(2).fill({ mid: null, low: null, high: null }), null])
    t.equal(ids.sentence, '`ids`: fixed and marginal cost unknown, 2 of 4 levels have 3 samples at the planned rate; a line needs 3')
    t.equal(values.levels.length, 3)
  })

  await t.test('is only fitted when the plan asks', async (t) => {
    t.same(analyse(resultOf({ costs: COSTS })).costs, [])
  })
})
