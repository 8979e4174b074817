/** Budgets of a plan: what they require, whether they were kept, and how that is reported. */
import t from 'tap'
import { readPlan } from '../../lab/plan/index.js'
import { reportsOf } from './reports.js'
import { planOf, resultOf } from './results.js'

const COSTS = { ids: 2.6, values: 1.5, reference: 4.3, blob: 0.21 }
const measure = 'primaryCpuMicrosPerItem'

/** @param {object[]} budgets @param {object} [more] */
const reported = (budgets, more = {}) => reportsOf(resultOf({ plan: planOf(/** @type {any} */ ({ budgets })), costs: COSTS, ...more }))

t.test('a budget is kept or missed when the whole interval lies on that side of it', async (t) => {
  const { analysis, markdown, table } = reported([
    { measure, arm: 'values', against: 'reference', most: 0.5 },
    { measure, arm: 'ids', against: 'reference', most: 0.5 },
    { measure, arm: 'values', against: 'ids', most: 0.578 },
    { measure, arm: 'reference', against: 'values', least: 2 },
    { measure, arm: 'blob', most: 1 },
    { measure: 'itemsPerSecond', arm: 'blob', against: 'ids', least: 14 }
  ])
  t.same(analysis.budgets.map(({ outcome }) => outcome), ['kept', 'missed', 'open', 'kept', 'kept', 'missed'])
  t.match(markdown, /## Budgets\n/)
  t.match(markdown,
    /\| Primary CPU time per item \| `values` \| 50 k items\/s \| at most 0\.5 x `reference` \| 0\.35 x \[0\.3\d-0\.3\d\] \| kept \|/)
  t.match(markdown, /\| `ids` \| 50 k items\/s \| at most 0\.5 x `reference` \| 0\.60 x \[.*\] \| \*\*missed\*\* \|/)
  t.match(markdown, /at most 0\.578 x `ids` \|.*\| open: the median (meets|misses) it \|/)
  t.match(markdown, /\| at most 1 µs \| 0\.21\d* \[.*\] \| kept \|/)
  t.match(table.replaceAll(/\s+/g, ' '),
    /budget: Primary CPU time per item, `ids` at 50 k items\/s, at most 0\.5 x `reference`: 0\.60 x \[.*?\], missed budget:/)
})

t.test('of too few rounds nothing is reported, of arms that were not measured neither, and without budgets there is ' +
  'no section', async (t) => {
  const { analysis, markdown } = reported([{ measure, arm: 'values', against: 'reference', most: 0.5 }], { rounds: 2 })
  t.match(analysis.budgets, [{ outcome: 'unknown', isWithin: true }])
  t.match(markdown, /\| unknown: the median meets it \|/)
  t.same(reported([{ measure, arm: 'values', against: 'reference', most: 0.5, level: 'another' }]).analysis.budgets, [])
  t.notMatch(reported([]).markdown, /## Budgets/)
  const { budgets: _, ...plan } = planOf()
  t.same(reportsOf(resultOf({ plan: /** @type {any} */ (plan), costs: COSTS })).analysis.budgets, [], 'a result of before there were any')
})

t.test('a budget names a measure, arms and a level of its plan, and one bound', async (t) => {
  const { name: _name, number: _number, published: _published, ...raw } = planOf({ published: null })
  const faultsOf = (/** @type {object[]} */ budgets) => {
    try {
      readPlan('013-my-question', { ...raw, fixed: { ...raw.fixed, maxItems: 0 }, budgets }, { checkSettings: () => [] })
    } catch (error) {
      return error.faults
    }
    return []
  }
  t.same(faultsOf([{ measure, arm: 'values', against: 'reference', most: 0.5, level: '50 k items/s' }]), [])
  t.match(faultsOf([{ measure: 'latencyMsP99', arm: 'valeus', against: 'valeus', most: 1, least: 2, level: 'fast' },
    { measure, arm: 'ids' }]), [
    /budgets\[0\]\.measure: "latencyMsP99" is no measure of this plan/,
    /budgets\[0\]: both most and least; expected one of them/,
    /budgets\[1\]: neither most nor least/,
    /budgets\[0\]\.arm: "valeus" is no arm of this plan; did you mean values\?/,
    /budgets\[0\]\.against: "valeus" is no arm/,
    /budgets\[0\]\.level: "fast" is no level/,
    /budgets\[0\]\.against: "valeus" is the arm itself/
  ])
})
