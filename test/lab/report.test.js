import t from 'tap'
import { count, figure, figureWithInterval, ratio, ratioWithInterval } from '../../lab/report/numbers.js'
import { partsSections } from '../../lab/report/parts.js'
import { RAW, cellsOf, reportsOf } from './reports.js'
import { ended, lossy, planOf, resultOf } from './results.js'

const COSTS = { ids: 2.6, values: 1.5, reference: 4.3, blob: 0.21 }

const good = reportsOf(resultOf({ costs: COSTS }))

t.test('the verdict comes first, in words and with its interval; page and chart have it in a few plain words', async (t) => {
  const [first] = good.table.split('\n')
  t.match(first, /^`values` costs 0\.5\d x `ids` \[0\.5\d-0\.\d\d\]$/)
  t.match(good.drawing.title, /^Values: 5\d % of the CPU of ids$/)
  t.equal(good.markdown.split('\n')[0], `# ${good.drawing.title}`)
  t.match(good.drawing.axis, /\(lower is better\)$/)
})

t.test('of a comparison of two settings, the table begins with them', async (t) => {
  const title = 'A: --layout ids / B: --layout values --batch-ms 20'
  const { table } = reportsOf(resultOf({ costs: COSTS, plan: planOf({ name: 'ad-hoc', title }) }))
  t.match(table.split('\n').slice(0, 3), [title, '', /^`values` costs /])
})

t.test('published ratios and figures stand beside ours, with the direction and the interval', async (t) => {
  t.match(good.table, /^values +1\.\d\d \[1\.\d\d-1\.\d\d\] +0\.5\d x \[0\.5\d-0\.\d\d\] +0\.605 x +yes/m)
  t.match(good.table, /same direction as published: 1 of 1/)
  t.match(cellsOf(good.markdown, '`values` against `ids`: 26 / 43'),
    [/r5\.large/, '50 k items/s', '0.605 x', /^0\.5\d x \[0\.5\d-0\.\d\d\]$/, 'yes'])
  t.match(cellsOf(good.markdown, 'r5.large, actual value'), [/actual/, '`values`', '26.0', /^\d\.\d\d$/])
  t.match(cellsOf(good.markdown, 'r6g.large, script'), [/script/, 'none', '48.0', '-'], 'what has no counterpart is not left out')
  const [values] = good.drawing.rows.filter(({ arm }) => arm === 'values')
  const [ids] = good.drawing.rows.filter(({ arm }) => arm === 'ids')
  t.equal(values.published, 0.605 * (ids.mid ?? NaN))
})

t.test('published figures stand below their arm in the terminal, too', async (t) => {
  t.match(good.table, /^values .*\n {4}published: 26 \(primary CPU percent of the node \(50 = one core\)\)$/m)
  t.match(good.table, /^ids .*\n {4}published: 43 \(primary/m)
  t.match(good.table, /^published for what was not measured here: 48 \(primary/m)
  const figures = [11, 36, 9.5].map((value, i) => ({ label: `${i}`, arm: 'ids', value, ...(i === 2 ? { level: 'high' } : {}) }))
  const { table } = reportsOf(resultOf({
    plan: planOf({ levels: { low: {}, high: {} }, published: { ...planOf().published, figures, ratios: [] } }), costs: COSTS
  }))
  t.same(table.match(/published: [^(]*/g), ['published: 11, 36 ', 'published: 9.5 '], 'at their level, or at the first')
})

t.test('a direction that differs, or that cannot be determined, is reported', async (t) => {
  const other = reportsOf(resultOf({ costs: { ...COSTS, values: 3.9 } }))
  t.match(other.table, /^values .* 0\.605 x +no /m)
  t.match(other.table, /same direction as published: 0 of 1$/m)
  t.match(cellsOf(other.markdown, '`values` against `ids`: 26 / 43')?.[4], '**no**')
  t.match(other.markdown, /- `values` less than `ids`: \*\*refuted\*\*/)
  const same = reportsOf(resultOf({ costs: { ...COSTS, values: COSTS.ids } }))
  t.match(same.table, /no measurable difference \[0\.\d\d-1\.\d\d\]/)
  t.match(same.table, /same direction as published: 0 of 1, 1 without measurable difference, or unknown/)
  t.match(same.table, /^values .* 0\.605 x +no difference/m)
  t.match(same.markdown, /- `values` less than `ids`: no measurable difference/)
})

t.test('a published ratio to another arm than the baseline has its place too', async (t) => {
  const plan = planOf({ published: { ...planOf().published, ratios: [{ arm: 'values', against: 'reference', value: 0.7, label: 'x' }] } })
  const { table, markdown, drawing } = reportsOf(resultOf({ plan, costs: COSTS }))
  t.match(table, /^ {4}against reference: 0\.3\d x \[.*\]; published 0\.7 x \(x\), same direction: yes$/m)
  t.match(cellsOf(markdown, '`values` against `reference`: x')?.[2], '0.7 x')
  const mid = (arm) => drawing.rows.find((row) => row.arm === arm)?.mid ?? NaN
  t.equal(drawing.rows.find(({ arm }) => arm === 'values')?.published, 0.7 * mid('reference'))
})

t.test('the A/A pair and the ceiling are reported', async (t) => {
  for (const text of [good.table, good.markdown]) {
    t.match(text, /`ids` measured twice \(A\/A\): [01]\.\d\d x \[0\.\d\d-1\.\d\d\]/)
    t.match(text, /ceiling: `blob` \(the same bytes without our code\) against `ids`: 0\.0\d+ x \[/)
    t.match(text, /ids \(A\/A\)/)
  }
  t.same(good.drawing.rows.map(({ arm, role }) => [arm, role]),
    [['ids', 'baseline'], ['values', 'arm'], ['reference', 'arm'], ['blob (limit)', 'ceiling'], ['ids (again)', 'repeat']])
})

t.test('INVALID samples and their reason are in all three, and so is, in its own words, what ended with an error (L5, L14)', async (t) => {
  const { table, markdown, drawing } = reportsOf(resultOf({
    costs: COSTS,
    change: (sample) => sample.arm === 'values' && sample.round > 3 ? lossy(sample) : sample.arm === 'reference' ? ended(sample) : undefined
  }))
  t.match(table, /INVALID in 2 of 5 rounds: items acknowledged are present: no \(\d+ acknowledged, \d+ present, 12\s+missing\)/)
  t.match(table, /ended by SERVER_LOST in 5 of 5 rounds: a server ended during the measurement: killed by\s+SIGKILL/)
  t.notMatch(table, /INVALID[^\n]*SERVER_LOST/)
  t.match(table, /measurements: 18 of 25 valid, 2 INVALID, 5 ended by an error/)
  t.match(table, /unsent 0, lost 24$/m)
  t.match(table, /5 measurements ended by SERVER_LOST/)
  t.match(markdown,
    /18 of 25 measurements are valid; the others are not in the figures: 2 INVALID because they contradict themselves; 5 ended by an error of the arm, which is an outcome\./)
  t.match(markdown, /\*INVALID in 2 of 5 rounds/)
  t.match(markdown, /\*ended by SERVER_LOST in 5 of 5 rounds: a server ended/)
  t.match(markdown,
    /Measurements that ended with an error:\n\n- `reference` at 50 k items\/s: ended by SERVER_LOST in 5 of 5 rounds: a server ended during the measurement: killed by SIGKILL\n\nINVALID measurements:\n\n- `values` at 50 k items\/s, round 4: items acknowledged are present: no/)
  t.match(markdown, /`reference`: 5 measurements ended by SERVER_LOST/)
  t.match(cellsOf(markdown, 'items acknowledged are present'), [/./, '18 of 20', '**no**'])
  const marks = Object.fromEntries(drawing.rows.map(({ arm, mid, mark }) => [arm, { mid, mark }]))
  t.match(marks.values, { mid: Number, mark: 'failed in 2 of 5 rounds' })
  t.same(drawing.notes, ['INVALID in some rounds: values'], 'below the plot')
  t.match(marks.reference, { mid: null, mark: /^ended by SERVER_LOST in 5 of 5 rounds: a server ended/ })
})

t.test('a difference within the noise is no finding, has no direction, and is reported as noise', async (t) => {
  const uneven = (sample) => ({
    nodes: sample.nodes.map((node) => node.role === 'primary'
      ? { ...node, cpuMicrosPerItem: { 'ids (A/A)': 3, values: 2.9 }[sample.arm] * (1 + sample.round / 1000) }
      : node)
  })
  const change = (sample) => sample.arm === 'ids (A/A)' || sample.arm === 'values' ? uneven(sample) : undefined
  const { table, markdown, drawing } = reportsOf(resultOf({ costs: COSTS, change }))
  const sentence = /`values` against `ids`: no difference beyond the noise of this machine \(1\.1\d x \[1\.0\d-1\.1\d\]; `ids` against itself 1\.1\d x \[1\.\d\d-1\.\d\d\]\)/
  t.match(table.replaceAll(/\n */g, ' '), sentence)
  t.match(markdown, sentence)
  t.equal(drawing.title, 'Values against ids: no measurable difference')
  t.match(table, /^values .* 0\.605 x +no difference/m)
  t.match(table, /same direction as published: 0 of 1, 1 without measurable difference, or unknown/)
  t.match(table, /^ {4}against ids: within the noise of this machine$/m)
  t.match(table, /warning: the A\/A pair differs at 50 k items\/s: 1\.1\d x \[/)
  t.match(markdown, /- `values` less than `ids`: no measurable difference, within the noise of this machine/)
  t.match(markdown, /\*\*Warning\*\*: the A\/A pair differs/)
  t.same(drawing.notes, ['Against ids: within the noise of this machine: values'])
  const levels = { few: {}, many: {} }
  const both = reportsOf(resultOf({
    plan: planOf({ levels, published: null }), costs: COSTS, change: (sample) => sample.level === 'few' ? change(sample) : undefined
  }))
  t.match(both.table, /`values` against `ids`: less at many \(0\.5\d x\), no difference beyond the noise of this machine at few/)
})

t.test('"the same" is reported to be so only of a narrow interval', async (t) => {
  const plan = planOf({ expected: [{ arm: 'values', against: 'ids', direction: 'same' }], published: null })
  const said = (change) => reportsOf(resultOf({ plan, costs: { ...COSTS, values: COSTS.ids }, change })).markdown
  t.match(said(() => {}), /- `values` the same as `ids`: confirmed: between 0\.90 and 1\.10 x/)
  t.match(said(({ arm, round, nodes }) => arm === 'values'
    ? { nodes: nodes.map((node) => ({ ...node, cpuMicrosPerItem: node.cpuMicrosPerItem * (0.6 + round / 7) })) }
    : undefined), /- `values` the same as `ids`: no measurable difference/)
})

t.test('without any valid measurement there is no answer, and nothing breaks', async (t) => {
  const { table, markdown, drawing } = reportsOf(resultOf({ costs: COSTS, change: ended }))
  t.match(table, /`values` against `ids`: unknown/)
  t.match(markdown, /^# .*unknown/)
  t.ok(drawing.rows.every(({ mid, mark }) => mid === null && mark.startsWith('ended by SERVER_LOST in 5 of 5')))
  const alone = reportsOf(resultOf({ plan: planOf({ arms: { ids: {} }, expected: [], published: null }), costs: COSTS, change: ended }))
  t.match(alone.table, /^No finding: the baseline has no valid measurement/)
})

t.test('conditions: engine, version, machine, commit, value size, date, rounds', async (t) => {
  const caption = good.drawing.caption.join('\n')
  for (const text of ['valkey 9.1.2', 'AMD EPYC 7763', '2 cores', 'Node.js 20.20.2', 'commit 68121d0c2a', '128-byte values', '2026-07-30',
    '5 rounds of 6 s']) {
    t.ok(caption.includes(text), text)
    t.ok(good.table.replaceAll(/\s+/g, ' ').includes(text), text)
  }
  t.notMatch(caption, /not committed/)
  const result = resultOf({
    plan: planOf({
      fixed: { valueBytes: 128 }, arms: { ids: {}, long: { settings: { valueBytes: 1024 } } }, expected: [], published: null
    }),
    costs: { ids: 1, long: 2 }
  })
  const { drawing, markdown } =
    reportsOf({ ...result, dirty: true, settings: { ...result.settings, rttMs: 1, target: 'db.example:6379' } })
  const other = drawing.caption.join('\n')
  for (const text of ['128 or 1,024-byte values', 'with uncommitted changes', '1 ms between client and server', 'server db.example:6379']) {
    t.ok(other.includes(text), text)
  }
  t.match(markdown, /\| Server \| db\.example:6379, not the lab's; 1 primary, 2 replicas \|/)
})

t.test('the page has every measure, the arms, what differs (L12), what was not controlled, and the raw result', async (t) => {
  const { markdown } = good
  for (const head of ['Primary CPU time per item, µs', 'Replica CPU time per item, µs', 'Primary CPU, % of a core',
    'Flushes behind, 99th percentile, ms', 'Items acknowledged per second, items/s']) t.ok(markdown.includes(head), head)
  t.match(markdown, /\| reference \| reference \| - \|/)
  t.match(markdown, /- values keeps every version of an item/)
  t.match(markdown, /## Not controlled\n\n- load and servers share two processor cores/)
  t.ok(markdown.includes(`](${RAW})`))
  t.match(markdown, /!\[Values: [^\]]*\]\(007-reference-or-value\.svg\)/)
})

t.test('tables of parts have no column that no round fills', async (t) => {
  const plan = planOf()
  const [[level], [arm]] = [Object.keys(plan.levels), Object.keys(plan.arms)]
  const byTier = (/** @type {object} */ more) => {
    const sample = { arm, level, valid: true, prices: { tiers: { hot: { answered: 90, perSecond: 9, ...more } } } }
    return partsSections(/** @type {any} */ ({ samples: [sample] }), plan)[0].body
  }
  t.match(byTier({ latencyMs: { p50: 2 } }), /part \| answers of all rounds \| per second \| median \|\n.*\n.* hot \| 90 \| 9\.00 \| 2\.00 \|/)
  t.match(byTier({ missing: 10, latencyMs: { min: 1, p50: 2, p90: 3 } }),
    /\| without a price, % \| per second \| shortest, ms \| median \| 90 % \|\n.*\n.* 10\.0 \| 9\.00 \| 1\.00 \| 2\.00 \| 3\.00 \|/)
})

t.test('a quick run begins with "not a result"', async (t) => {
  const { table, markdown, drawing } = reportsOf(resultOf({ costs: COSTS, rounds: 1, quick: true }))
  t.match(table, /^not a result/)
  t.match(markdown, /\*\*Not a result\*\*/)
  t.match(drawing.title, /^Not a result: /)
  t.same(drawing.notes, ['Too few rounds for an interval: all arms'])
  t.notMatch(good.table, /not a result/)
})

const overLoad = planOf({
  levels: Object.fromEntries([10_000, 30_000, 60_000].map((rate) => [`${rate / 1000} k items/s`, { settings: { rate }, x: rate }])),
  fixedAndMarginal: true
})
const costOf = (each, second) => (level) => each + second / Number(/^\d+/.exec(level)?.[0])
const load = reportsOf(resultOf({
  plan: overLoad, costs: { ids: costOf(2, 12), values: costOf(1.2, 6), reference: costOf(3.9, 6), blob: costOf(0.15, 1) }
}))

t.test('levels with a place on an axis: lines, fixed and marginal cost, one sentence an arm over all levels', async (t) => {
  t.equal(load.drawing.kind, 'lines')
  t.same([...new Set(load.drawing.rows.map(({ x }) => x))], [10_000, 30_000, 60_000])
  t.notOk(load.drawing.rows.some(({ role }) => role === 'repeat'), 'the A/A pair would lie over the baseline')
  t.match(load.table,
    /^`ids`: 3\.\d+ µs at 10 k items\/s, 2\.\d+ at 60 k items\/s\n`values` costs 0\.\d\d to 0\.\d\d x `ids` at all 3 levels\n/)
  t.match(load.table, /fixed and marginal CPU time of the primary\n {4}`ids`: 1\.\d+ % of a core \[.*\] and [12]\.\d+ µs per item/)
  t.match(cellsOf(load.markdown, 'values | 0.'),
    ['values', /^0\.\d+ \[.*\]$/, /^1\.\d+ \[.*\]$/, /%$/, '10 k items/s, 30 k items/s, 60 k items/s'])
  t.equal(good.drawing.kind, 'bars')
})

t.test('levels that do not agree are reported apart', async (t) => {
  const plan = planOf({ levels: { few: {}, many: {}, all: { without: ['reference'] } }, expected: [], published: null })
  const { table } = reportsOf(resultOf({
    plan, costs: { ...COSTS, values: (level) => level === 'few' ? COSTS.ids : 1.5, reference: (level) => level === 'few' ? 1 : 4.3 }
  }))
  t.match(table, /`values` against `ids`: less at 2 of 3 levels \(0\.\d\d.* x\), no measurable difference at few/)
  t.match(table, /`reference` against `ids`: less at few \(0\.\d\d x\), more at many \(1\.\d\d x\)/)
})

t.test('the finding names the arms of which something was expected, in that order', async (t) => {
  const plan =
    planOf({ expected: [{ arm: 'reference', against: 'ids', direction: 'more' }, { arm: 'values', against: 'ids', direction: 'less' }] })
  t.match(reportsOf(resultOf({ plan, costs: COSTS })).table, /^`reference` costs .*\n`values` costs /)
  const alike = reportsOf(resultOf({
    plan: planOf({ arms: { ids: {}, values: {}, reference: {}, blob: {} } }), costs: { ids: 2, values: 2.001, reference: 1.999, blob: 0.2 }
  }))
  t.match(alike.markdown, /^# Values against ids: no measurable difference\n/)
})

t.test('the table has no line wider than 110 characters, whatever names are', async (t) => {
  const name = 'one SETEX promise per item and one ZADD per 1,000, auto-pip.'
  const plan = planOf({
    arms: { ids: {}, [name]: {}, blob: {} },
    expected: [],
    published: { ...planOf().published, figures: [], ratios: [{ arm: name, against: 'ids', value: 1.234, label: 'published' }] }
  })
  const { table, drawing } = reportsOf(resultOf({ plan, costs: { ids: 0.052, [name]: 79.6, blob: 0.0001 } }))
  for (const line of [...table.split('\n'), ...good.table.split('\n'), ...load.table.split('\n')]) t.ok(line.length <= 110, line)
  t.match(table, new RegExp(`^${name}\n +\\d\\d\\.\\d \\[`, 'm'), 'its figures stand on the line below')
  t.ok(drawing.title.length <= 70, drawing.title)
})

t.test('names cannot break a table of the page', async (t) => {
  const plan = planOf({ arms: { ids: {}, 'a|b': { note: 'two\nlines | bar' }, blob: {} }, expected: [], published: null })
  const { markdown } = reportsOf(resultOf({ plan, costs: { ids: 2, 'a|b': 1, blob: 0.2 } }))
  t.match(markdown, /\| a\\\|b \| writer \| - \| two<br>lines \\\| bar \|/)
})

t.test('the same result gives the same words', async (t) => {
  t.same(reportsOf(resultOf({ costs: COSTS })), good)
})

t.test('numbers: three digits, the same everywhere', async (t) => {
  t.same([0.05123, 2.6, 26.04, 99.96, 100.4, 49_987.3, 1.5e6, 0, null, Number.NaN].map(figure),
    ['0.0512', '2.60', '26.0', '100', '100', '49,987', '1,500,000', '0', '-', '-'])
  t.same([1234.5, null].map(count), ['1,235', '-'])
  t.same([0.58, 12.44, 0.0483, 1, null].map(ratio), ['0.58', '12.4', '0.0483', '1.00', '-'])
  t.equal(ratioWithInterval({ ratio: 0.578, low: 0.551, high: 0.612 }), '0.58 x [0.55-0.61]')
  t.equal(ratioWithInterval({ ratio: 0.998, low: 0.996, high: 0.9991 }), '0.998 x [0.996-0.999]', 'a difference does not become 1.00')
  t.equal(ratioWithInterval({ ratio: 0.578, low: null, high: null }), '0.58 x')
  t.equal(figureWithInterval({ median: 2.6, low: 2.55, high: 2.66 }), '2.60 [2.55-2.66]')
  t.equal(figureWithInterval({ median: 168, low: 168, high: 168 }), '168')
  t.equal(figureWithInterval({ median: null, low: null, high: null }), '-')
})
