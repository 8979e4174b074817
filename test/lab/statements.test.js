/** What becomes of published statements, of samples that show it, its opposite, or nothing. */
import t from 'tap'
import { outcomeOf } from '../../lab/analysis/statements.js'
import { analyse } from '../../lab/analysis/index.js'
import { ratioOfMedians, ratioOfRatios } from '../../lab/analysis/statistics.js'
import { headlineOf } from '../../lab/report/headline.js'
import { figureWithInterval } from '../../lab/report/numbers.js'
import { countsText, MOST_WORDS, statementsOf, withCounts, withStatements } from '../../lab/report/statements.js'
import { planOf, resultOf } from './results.js'

const COSTS = { ids: 4.3, values: 2.6, reference: 4.3, blob: 0.2 }
const levels = { low: { settings: { rate: 10_000 }, x: 1 }, high: { settings: { rate: 50_000 }, x: 2 } }
const result = resultOf({ plan: planOf({ levels, published: null }), costs: COSTS })
const base = { study: 'Feeds', experiment: '007', says: 'values cost less' }
const of = { arm: 'values' }
const against = { arm: 'ids' }
const became = (/** @type {any} */ rest, of = result) => outcomeOf({ ...base, ...rest }, of)

t.test('a ratio: the direction decides, and the size is apart', async (t) => {
  t.match(became({ of, against, value: 0.605 }), { became: 'confirmed', isSizeInside: true })
  t.match(became({ of, against, value: 0.1 }), { became: 'confirmed', isSizeInside: false })
  t.match(became({ of, against, value: 1.5 }), { became: 'refuted', isSizeInside: false })
  t.match(became({ of, against, direction: 'more' }), { became: 'refuted', isSizeInside: null })
  t.match(became({ of: { arm: 'reference' }, against, value: 1.2 }), { became: 'no measurable difference' })
  t.match(became({ of, against, value: 1.2, direction: 'less' }), { became: 'confirmed' }, 'the claim counts, not the value')
})

t.test('across levels and measures, and how much a ratio changes', async (t) => {
  const changed = resultOf({
    plan: planOf({ levels, published: null }),
    costs: { ...COSTS, values: (/** @type {string} */ level) => level === 'low' ? 4.3 : 1.4 }
  })
  t.match(became({ of: { ...of, level: 'high' }, against: { level: 'low' }, direction: 'less' }, changed), { became: 'confirmed' })
  t.match(became({ of: { ...of, level: 'high' }, against, per: { level: 'low' }, value: 0.33 }, changed),
    { became: 'confirmed', isSizeInside: true })
  t.match(became({ of: { arm: 'ids' }, against: { measure: 'replicaCpuMicrosPerItem' }, direction: 'more' }), { became: /ed$/ })
  const { across } = analyse(changed)
  const [one] = across.filter(({ arm, measure }) => arm === 'values' && measure === 'primaryCpuMicrosPerItem')
  t.match(one, { level: 'high', from: 'low' })
  t.ok(Number(one.high) < 1)
})

t.test('a figure in a range or within a tenth, a line, an invariant, and what is not measured', async (t) => {
  t.match(became({ of, between: [2, 3] }), { became: 'confirmed' })
  t.match(became({ of, between: [3, null] }), { became: 'refuted' })
  t.match(became({ of, between: [2.6, 3] }), { became: 'no measurable difference' })
  t.match(became({ of, value: 2.6 }), { became: 'confirmed', isSizeInside: true })
  t.match(became({ of: { ...of, times: 4 }, value: 10.4 }), { became: 'confirmed' })
  t.match(became({ of, value: 1 }), { became: 'refuted', isSizeInside: false })
  t.match(became({ holds: { arms: ['ids', 'values'] } }), { became: 'confirmed', count: { held: 20, all: 20 } })
  const broken = resultOf({
    plan: planOf({ published: null }),
    costs: COSTS,
    change: ({ arm }) => arm === 'ids' ? { invariants: [{ name: 'x', ok: false, detail: '' }] } : {}
  })
  t.match(became({ holds: { arms: ['ids'] } }, broken), { became: 'refuted', count: { held: 0, all: 5 } })
  t.match(became({ line: { arm: 'ids', part: 'fixedPercent' } }), { became: 'not measured', why: /too few levels/ }, 'two levels are no line')
  t.match(became({ why: 'no machine' }), { became: 'not measured', why: 'no machine' })
  t.throws(() => became({ of: { arm: 'nobody' }, against, value: 1 }), { code: 'RESULT_INVALID' })
})

t.test('the size is inside if the interval contains all that was published, of a line, too', async (t) => {
  const rates = { a: { settings: { rate: 10_000 } }, b: { settings: { rate: 20_000 } }, c: { settings: { rate: 40_000 } } }
  const line = resultOf({ plan: planOf({ levels: rates, published: null }), costs: COSTS })
  const { figure } = became({ line: { arm: 'ids', part: 'marginalMicrosPerItem' } }, line)
  const [low, high] = [Number(figure?.low), Number(figure?.high)]
  const sizeOf = (/** @type {number[]} */ ...between) =>
    became({ line: { arm: 'ids', part: 'marginalMicrosPerItem' }, between }, line).isSizeInside
  t.equal(sizeOf(low, high), true)
  t.equal(sizeOf(low - 1, high), false, 'it overlaps')
  t.equal(sizeOf(high + 1, high + 2), false)
})

t.test('a difference no larger than that of the A/A pair decides nothing', async (t) => {
  const noisy = resultOf({
    plan: planOf({ published: null }),
    costs: { ...COSTS, values: 5 },
    change: ({ arm, nodes }) => arm === 'ids (A/A)'
      ? { nodes: nodes.map((/** @type {any} */ node) => ({ ...node, cpuMicrosPerItem: node.cpuMicrosPerItem * 1.5 })) }
      : {}
  })
  t.match(became({ of, against, value: 1.2 }, noisy), { became: 'no measurable difference', ratio: { withinNoise: true } })
})

t.test('time-outs give no ratio, whatever their number', async (t) => {
  const orders = (/** @type {number} */ timeOuts) => ({ timeOuts, tracked: 100, polledMs: { p50: 200, p95: 10_000 }, kills: 0 })
  const cut = resultOf({
    plan: planOf({ measures: ['polledMsP95', 'polledMsP50'], published: null }),
    costs: COSTS,
    change: ({ arm, round }) => ({ orders: orders(arm === 'values' && round === 1 ? 6 : 4) })
  })
  const { comparisons, further } = analyse(cut)
  t.match(comparisons.find(({ arm }) => arm === 'values'),
    { ratio: null, verdict: 'unknown', sentence: /time-outs in 1 of 5 samples of `values`/ })
  t.match(further.find(({ arm }) => arm === 'values'), { measure: 'polledMsP50', ratio: 1 }, 'the median is no time-out')
  t.equal(figureWithInterval({ median: 10_000, low: 9_000, high: 10_000, isCut: true }), '>= 10,000', 'they may be longer')
  t.match(became({ of, against, value: 2 }, cut), { became: 'not measured', why: /time-outs/ })
})

t.test('no title is about samples in which the load was at its limit', async (t) => {
  const about = { arm: 'values', against: 'ids', level: 'high', says: 'Values cost {} of ids' }
  const plan = planOf({ levels, published: null, chart: { about } })
  const titleOf = (/** @type {any} */ change) => headlineOf(analyse(resultOf({ plan, costs: COSTS, change })), plan)
  t.match(titleOf(() => {}), /^Values cost 0\.\d+ x of ids$/)
  const isBound = (/** @type {any} */ { arm, level }) => level === 'high' && arm === 'values' ? { marks: ['generator-bound'] } : {}
  t.match(titleOf(isBound), /^Values: 60 %.*ids$/)
  t.equal(titleOf(() => ({ marks: ['generator-bound'] })), 'No finding: the load was at its limit')
  const ofReplicas = { ...about, measure: 'replicaCpuMicrosPerItem', says: 'Replicas: {}' }
  const further = planOf({ levels, published: null, chart: { about: ofReplicas } })
  t.match(headlineOf(analyse(resultOf({ plan: further, costs: COSTS })), further), /^Replicas: |no measurable difference$/i)
})

t.test('a ratio of ratios with one of each is the ratio of medians', async (t) => {
  const [a, b] = [[1, 2, 3, 4, 5], [2, 3, 4, 5, 6]]
  t.same(ratioOfRatios([a], [b]), ratioOfMedians(a, b))
  t.equal(ratioOfRatios([a, b], [b, a]).ratio, 1)
  t.same(ratioOfRatios([a, []], [b, a]), { ratio: null, low: null, high: null })
})

t.test('pages: statements stand on the page if they fit, else beside it, and are counted on the page of all', async (t) => {
  const judged = [{ ...base, of, against, value: 0.605, from: '26 / 43' }, { ...base, why: 'no machine' }]
    .map((statement) => ({ statement, outcome: outcomeOf(/** @type {any} */ (statement), result) }))
  const [one] = judged
  const alone = statementsOf([one], 'a study')
  t.match(alone.page, /\| values cost less<br>\*`values` \/ `ids`, .* \| 0\.605 x \(26 \/ 43\) \| 0\.6\d x \[.*\] \| inside \| confirmed \|/)
  t.equal(alone.beside, '')
  const long = `# A page\n\n${'word '.repeat(MOST_WORDS - 20)}\n\n## Published statements\n\nRun it.\n`
  const both = statementsOf(judged, 'a study', long)
  t.match(both.page, /\[Statements: 1 confirmed, 0 refuted, 0 without measurable difference, 1 not measured\]\(statements\.md\)/)
  t.match(both.beside, /\| values cost less \| - \| no machine \| +\| not measured \|/)
  t.equal(withStatements(`a\n\n${both.page}\n\nb`, alone.page), `a\n\n${alone.page}\n\nb`)
  t.equal(withStatements('nothing', alone.page), 'nothing')
  t.equal(withStatements('# A\n\n## Arms\n', both.beside), `# A\n\n${both.beside}\n\n## Arms\n`)
  t.equal(withStatements(`# A\n\n${both.beside}\n\n## Arms\n`, ''), '# A\n\n## Arms\n')
  const withLink = withStatements(long, both.page)
  t.match(withLink, `## Published statements\n\n${both.page}\n\nRun it.`)
  t.same(statementsOf(judged, 'a study', withLink), both, 'whatever stands there already')
  t.equal(withCounts('# All\n### Feeds: many\n\n**Statements: none.**\n', judged),
    `# All\n### Feeds: many\n\n**${countsText(judged.map(({ outcome }) => outcome))}**\n`)
  t.same(statementsOf([], 'a study'), { page: '', beside: '' })
})
