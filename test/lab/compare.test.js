/** Two results side by side. */
import t from 'tap'
import { compareResults, comparisonOf } from '../../lab/analysis/compare.js'
import { ended, lossy, planOf, resultOf } from './results.js'

const costs = { ids: 4, values: 2, reference: 8, blob: 0.5 }
const a = { name: 'a.json', result: resultOf({ costs }) }

t.test('a result against itself: no measurable difference, and nothing else differs', async (t) => {
  const { measure, rows, differences, onlyA, onlyB } = comparisonOf(a, a)
  t.equal(measure, 'primaryCpuMicrosPerItem')
  t.same(rows.map(({ arm, ratio, verdict }) => [arm, ratio, verdict]),
    ['ids', 'values', 'reference', 'blob', 'ids (A/A)'].map((arm) => [arm, 1, 'none']))
  t.same([differences, onlyA, onlyB], [[], [], []])
})

t.test('what became less or more, by how much, and what else is not the same', async (t) => {
  const plan = planOf()
  const result = { ...resultOf({ plan, costs: { ...costs, ids: 2, values: 3 } }), engine: 'redis 7.0.15', commit: null }
  const b = { name: 'b.json', result: { ...result, machine: { ...result.machine, cores: 8 }, settings: { ...result.settings, rttMs: 1 } } }
  const rows = comparisonOf(a, b).rows
  const of = (/** @type {string} */ arm) => rows.find((row) => row.arm === arm)
  t.match(of('ids'), { level: '50 k items/s', ratio: 0.5, verdict: 'less' })
  t.match(of('values'), { ratio: 1.5, verdict: 'more' })
  t.match(of('blob'), { ratio: 1, verdict: 'none' })
  const text = compareResults(a, b)
  for (const words of [/^A {2}a\.json\nB {2}b\.json\n/, /differs: engine: valkey 9\.1\.2 \/ redis 7\.0\.15/,
    /differs: commit: 68121d0\w+ \/ unknown/, /differs: machine: .* 2 cores \/ .* 8 cores/, /differs: rttMs: 0 \/ 1/,
    /Two runs are not interleaved/, /50 k items\/s +ids +[\d.]+ +[\d.]+ +0\.50 x \[0\.\d\d-0\.\d\d\] +less\n/]) t.match(text, words)
})

t.test('samples that are INVALID or ended with an error are in no figure, and are counted; so are marks', async (t) => {
  const change = (/** @type {any} */ sample) => {
    if (sample.arm === 'values') return sample.round === 1 ? { ...lossy(sample), valid: true } : lossy(sample)
    if (sample.arm === 'blob') return sample.round > 2 ? ended(sample) : { marks: ['noisy'] }
    return {}
  }
  const plan = planOf({ arms: /** @type {any} */ ({ ids: {}, values: {}, blob: { load: 'blob' } }) })
  const b = { name: 'b.json', result: resultOf({ plan, costs, change }) }
  const { rows, onlyA, onlyB } = comparisonOf(a, b)
  t.same(rows.map(({ arm, b, verdict, remarks }) => [arm, b === null, verdict, remarks]), [
    ['ids', false, 'none', []],
    ['values', true, 'unknown', ['B: INVALID in 5 of 5 rounds']],
    ['blob', false, 'unknown', ['B: ended by SERVER_LOST in 3 of 5 rounds', 'B: noisy in 2 of 5 rounds']],
    ['ids (A/A)', false, 'none', []]
  ], 'one that is marked valid with a broken invariant is not')
  t.same(onlyA, ['reference at 50 k items/s'])
  t.same(onlyB, [])
  t.match(compareResults(a, b),
    /blob +[\d.]+ +[\d.]+ +1\.\d\d x +too few valid rounds\n {4}B: ended by SERVER_LOST in 3 of 5 rounds\n {4}B: noisy in 2 of 5 rounds\n[^]*only in A: reference at 50 k items\/s$/)
})

t.test('a measure that this version does not know is refused', async (t) => {
  const b = { name: 'b.json', result: resultOf({ plan: planOf({ measures: ['primaryCpu'] }), costs }) }
  t.throws(() => comparisonOf(b, a),
    { code: 'RESULT_INVALID', message: /^b\.json has the measure primaryCpu, .*; known are primaryCpuMicrosPerItem/ })
})

t.test('two results with nothing in common are refused', async (t) => {
  const plan = planOf({ arms: /** @type {any} */ ({ list: {}, other: { load: 'blob' } }), baseline: 'list', ceiling: 'other' })
  const b = { name: 'b.json', result: resultOf({ plan, costs: { list: 1, other: 1 } }) }
  t.throws(() => comparisonOf(a, b),
    { code: 'RESULT_INVALID', message: 'a.json and b.json have no arm at the same level; expected two results of one experiment' })
})
