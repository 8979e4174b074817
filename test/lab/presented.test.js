/** What a chart shows of a result, and under which words. */
import t from 'tap'
import { overTimeOf } from '../../lab/report/over-time.js'
import { presented } from '../../lab/report/presented.js'
import { cellsOf, reportsOf } from './reports.js'
import { planOf, resultOf } from './results.js'

const COSTS = { ids: 2.6, values: 1.5, reference: 4.3, blob: 0.21 }

t.test('a chart shows the arms and levels that its plan names, and the title their ratio in the words of the plan', async (t) => {
  const levels = { few: {}, many: {} }
  const about = { arm: 'values', against: 'ids', level: 'many', says: 'Values cost {} of ids' }
  const plan = planOf({ levels, chart: { about, levels: ['many'], arms: ['values'] } })
  const { drawing, markdown } = reportsOf(resultOf({ plan, costs: COSTS }))
  t.match(drawing.title, /^Values cost 0\.5\d x of ids$/)
  t.same(drawing.rows.map(({ arm, level }) => `${arm} ${level}`), ['ids many', 'values many', 'ids (again) many'])
  t.match(drawing.caption[0], /^7 more figures, of other arms and levels/)
  t.match(markdown, /\*\*few\*\*/, 'a page has all')
  const alike = reportsOf(resultOf({ plan, costs: { ...COSTS, values: COSTS.ids } }))
  t.equal(alike.drawing.title, 'Values against ids: no measurable difference')
  const alone = planOf({ chart: { about: { arm: 'values', says: 'Values take {} us' } } })
  t.match(reportsOf(resultOf({ plan: alone, costs: COSTS })).drawing.title, /^Values take \d\.\d\d us$/)
})

t.test('older results have the names of today, and newer ones keep theirs', async (t) => {
  const current = planOf({
    baseline: 'ids (overwrite)',
    arms: { ids: {}, 'ids (overwrite)': {}, values: {}, reference: { load: 'reference' }, blob: { load: 'blob' } },
    levels: { now: {} },
    fixed: { ...planOf().fixed, late: 'overwrite' },
    formerly: { ids: 'ids (overwrite)', before: 'now' },
    labels: { 'ids (overwrite)': 'overwriting' },
    chart: { about: { arm: 'ids', against: 'ids (overwrite)', says: '{}' }, levels: ['now'], arms: ['ids', 'values'] },
    question: 'Which?',
    published: {
      ...planOf().published,
      ratios: [{ arm: 'values', against: 'ids (overwrite)', value: 0.605, label: '26 / 43' },
        { arm: 'ids', against: 'values', value: 2, label: '' }]
    }
  })
  const result = presented(resultOf({ plan: planOf({ levels: { before: {} } }), costs: COSTS }), current)
  const { drawing, markdown } = reportsOf(result)
  t.match(drawing.rows.map(({ arm, level }) => `${arm}, ${level}`), ['overwriting, now', 'values, now', 'overwriting (again), now'])
  t.match(drawing.title, /^Values: 5\d % of the CPU of overwriting$/, 'not about an arm that was not measured')
  t.match(cellsOf(markdown, '`values` against `ids (overwrite)`: 26 / 43'), [/43/, 'now', '0.605 x'], 'what is published, of what was measured')
  t.equal(drawing.subtitle, 'Which?')
  t.equal(result.plan.fixed.late, 'overwrite', 'what was the default then')
  const newer = resultOf({ plan: current, costs: { ...COSTS, 'ids (overwrite)': 1 } })
  t.same(presented(newer, current).samples, newer.samples)
})

t.test('a page has what samples have by tier, by operation and by service', async (t) => {
  const latencyMs = { mean: 2, p50: 1, p95: 3, p99: 4, max: 5 }
  const { markdown } = reportsOf(resultOf({
    costs: COSTS,
    change: ({ arm }) => arm === 'values'
      ? { prices: { tiers: { cold: { answered: 100, perSecond: 50, latencyMs } } } }
      : {
          orders: {
            seconds: 2,
            answered: 20,
            placed: 10,
            final: 10,
            httpMs: latencyMs,
            orderMs: latencyMs,
            polledMs: latencyMs,
            pushedMs: null,
            serverMs: latencyMs,
            cpuSeconds: { gateway: [0.5, 0.5], consumers: [1] }
          }
        }
  }))
  t.same(cellsOf(markdown, 'values | cold'), ['values', 'cold', '500', '50.0', '2.00', '1.00', '3.00', '4.00', '5.00'])
  t.same(cellsOf(markdown, 'ids | placing'), ['ids', 'placing an order: reply', '50', '5.00', '2.00', '1.00', '3.00', '4.00', '5.00'])
  t.same(cellsOf(markdown, 'ids | an order: end, for a polling')?.slice(2, 4), ['-', '-'])
  t.same(cellsOf(markdown, 'ids | gateway'), ['ids', 'gateway', '2.00', '500'])
})

t.test('a plan that asks for it has a second chart: processor time of primary and replicas in each second', async (t) => {
  const plan = planOf({ chart: { overTime: '50 k items/s' }, expected: [] })
  const result = resultOf({ plan, costs: COSTS, change: ({ round }) => ({ cpuOverTime: [[20, 20 + round], [8, 9], [10, 11]] }) })
  const drawing = overTimeOf(result, result.plan)
  t.equal(drawing?.title, 'Primary 21.5 % of a core, a replica 9.50 %: ids')
  t.same(drawing?.rows.map(({ arm, x, mid }) => [arm, x, mid]),
    [['ids, primary', 1, 20], ['ids, primary', 2, 23], ['ids, replica', 1, 9], ['ids, replica', 2, 10]])
  t.equal(overTimeOf(resultOf({ costs: COSTS }), planOf()), null)
})
