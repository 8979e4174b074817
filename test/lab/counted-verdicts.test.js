/** A count decides where windows show no difference, and nowhere else. */
import t from 'tap'
import { analyse } from '../../lab/analysis/index.js'
import { outcomeOf } from '../../lab/analysis/statements.js'
import { isShown } from '../../lab/analysis/verdict.js'
import { drawingOf } from '../../lab/report/drawing.js'
import { markdownOf } from '../../lab/report/markdown.js'
import { statementsOf } from '../../lab/report/statements.js'
import { planOf, resultOf } from './results.js'

const LEVEL = '50 k items/s'
/** windows cannot tell values and reference from ids */
const COSTS = { ids: 4.3, values: 4.3, reference: 4.3, blob: 0.2 }
const cell = (/** @type {string} */ arm, /** @type {number} */ instructions, more = {}) => ({
  level: LEVEL,
  arm,
  unit: 'item',
  batchUnits: 250,
  units: 1000,
  nodes: ['primary', 'replica'].map((role) => ({ role, instructions, commands: 0.05, bytesIn: 200, bytesOut: 5, calls: {} })),
  window: null,
  ratio: null,
  invalid: [],
  error: null,
  ...more
})
const counts = (/** @type {any[]} */ ...cells) => /** @type {any} */ ({
  experiment: '007-reference-or-value', commit: '12345678', startedAt: 'then', window: null, baseline: 'ids', keys: {}, cells
})
const counted = (/** @type {any} */ of, plan = planOf({ published: null })) => ({ ...resultOf({ plan, costs: COSTS }), counts: of })
const OF = counts(cell('ids', 10_000), cell('values', 8000), cell('reference', 10_200))
const became = (/** @type {any} */ statement, of = counted(OF)) =>
  outcomeOf({ study: '001', experiment: '007', says: 'so', against: { arm: 'ids' }, ...statement }, of)

t.test('a difference by count, where the window has none, is a verdict; a difference in the window stays', async (t) => {
  const { comparisons, further } = analyse(counted(OF))
  const of = (/** @type {string} */ arm) => comparisons.find((one) => one.arm === arm)
  t.match(of('values'), {
    verdict: 'less', isByCount: true, counted: 0.8, asExpected: true, sentence: /costs 0\.80 x the instructions of `ids`; CPU time 1\.00 x/
  })
  t.match(of('reference'), { verdict: 'none', isByCount: false, sentence: /no measurable difference \[.*\], 1\.02 x the instructions/ })
  t.match(of('blob'), { verdict: 'less', isByCount: false, counted: null }, 'it is not counted')
  t.match(further.find(({ arm, measure }) => arm === 'values' && measure === 'replicaCpuMicrosPerItem'), { counted: 0.8 })
  t.match(further.find(({ arm, measure }) => arm === 'values' && measure === 'itemsPerSecond'), { counted: null })
  const opposite = { ...resultOf({ plan: planOf({ published: null }), costs: { ...COSTS, values: 8.6 } }), counts: OF }
  t.match(analyse(opposite).comparisons.find(({ arm }) => arm === 'values'), { verdict: 'more', isByCount: false, counted: 0.8 })
})

t.test('what is INVALID, of another unit, or within what counts of one load differ by, decides nothing', async (t) => {
  const byCount = (/** @type {any} */ one, /** @type {any} */ plan = planOf({ published: null })) =>
    analyse(counted(counts(cell('ids', 10_000), one), plan)).comparisons.find(({ arm }) => arm === 'values')
  t.match(byCount(cell('values', 8000, { invalid: ['so'] })), { verdict: 'none', counted: null })
  t.match(byCount(cell('values', 8000, { unit: 'reply' })), { verdict: 'none', counted: null })
  t.match(byCount(cell('values', 0, { nodes: [], error: { code: 'COUNT_FAILED', message: '' } })), { verdict: 'none', counted: null })
  t.match(byCount(cell('values', 10_290)), { verdict: 'none' })
  t.match(byCount(cell('values', 10_310)), { verdict: 'more', isByCount: true })
  const onRedis = planOf({ published: null, levels: { [LEVEL]: { engine: 'redis 7.0', settings: { rate: 50_000 } } } })
  t.match(byCount(cell('values', 10_500), onRedis), { verdict: 'none' }, 'levels of its skip lists cannot be fixed')
})

t.test('statements: a count confirms or refutes what the window leaves open; equal counts do not refute a difference', async (t) => {
  t.match(became({ of: { arm: 'values' }, direction: 'less' }), { became: 'confirmed', ratio: { counted: 0.8, isByCount: true } })
  t.match(became({ of: { arm: 'values' }, value: 1.2 }), { became: 'refuted' })
  t.match(became({ of: { arm: 'reference' }, value: 1.2 }), { became: 'no measurable difference' })
  const uneven = (/** @type {any} */ sample, /** @type {number} */ i) => ({
    ...sample,
    nodes: sample.nodes.map((/** @type {any} */ node) => ({ ...node, cpuMicrosPerItem: node.cpuMicrosPerItem * (i % 3 === 0 ? 1.5 : 1) }))
  })
  const wide = { ...counted(OF), samples: counted(OF).samples.map(uneven) }
  t.match(became({ of: { arm: 'reference' }, value: 1 }, wide), { became: 'confirmed' }, 'the same, within a tenth')
  t.match(became({ of: { arm: 'values' }, value: 1 }, wide), { became: 'refuted' })
  const outcome = became({ of: { arm: 'values' }, direction: 'less' })
  t.match(statementsOf([{ statement: /** @type {any} */ ({ says: 'so', direction: 'less' }), outcome }], '').page, /; 0\.80 x by count \|/)
})

t.test('an experiment that was counted and has no windows: counts alone decide', async (t) => {
  const plan = planOf({ published: null })
  const alone = /** @type {any} */ ({ plan, samples: [], counts: OF })
  const outcome = became({ of: { arm: 'values' }, value: 0.07, from: '7 / 100' }, alone)
  t.match(outcome, { became: 'confirmed', isSizeInside: null, ratio: { ratio: null, counted: 0.8 } })
  t.match(became({ of: { arm: 'reference' }, direction: 'same' }, alone), { became: 'confirmed' })
  t.match(became({ of: { arm: 'values', measure: 'itemsPerSecond' }, direction: 'less' }, alone), { became: 'not measured' })
  t.throws(() => became({ of: { arm: 'blob' }, direction: 'less' }, alone), { code: 'RESULT_INVALID' })
  t.match(statementsOf([{ statement: /** @type {any} */ ({ says: 'so', value: 0.07, from: '7 / 100' }), outcome }], '').page,
    /\| 0\.0700 x \(7 \/ 100\) \| 0\.80 x by count \|/)
})

t.test('page and chart say that it is by count', async (t) => {
  const plan = planOf({ published: null, counted: { without: ['blob'], why: 'it is no question' } })
  const result = counted(OF, plan)
  const analysis = analyse(result)
  t.ok(isShown(/** @type {any} */ (analysis.comparisons.find(({ arm }) => arm === 'values'))))
  const page = markdownOf(analysis, result, plan)
  t.match(page, /`values` costs 0\.80 x the instructions of `ids`/)
  t.match(page, /\| values \|.*\| 0\.80 x by count \|/)
  t.match(page, /Not counted: it is no question\./)
  const row = drawingOf(analysis, result, plan).rows.find(({ arm }) => arm === 'values')
  t.match(row, { ratio: '0.80 x by count' })
})
