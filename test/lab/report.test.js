import t from 'tap'
import { analyse } from '../../src/lab/analysis.js'
import { drawingOf } from '../../src/lab/report/drawing.js'
import { markdownOf } from '../../src/lab/report/markdown.js'
import { count, figure, figureWithInterval, ratio, ratioWithInterval } from '../../src/lab/report/numbers.js'
import { tableOf } from '../../src/lab/report/table.js'
import { ended, lossy, planOf, resultOf } from './results.js'

const COSTS = { ids: 2.6, values: 1.5, reference: 4.3, blob: 0.21 }
const RAW = '../experiments/007-reference-or-value/results/2026-07-30T10-00-00Z.json'

const reportsOf = (result) => {
  const analysis = analyse(result)
  const parts = [analysis, result, result.plan]
  return { analysis, table: tableOf(...parts), markdown: markdownOf(...parts, RAW), drawing: drawingOf(...parts) }
}

/** A line of a table in Markdown, by how it begins, as cells. */
const cellsOf = (markdown, start) => markdown.split('\n').find((line) => line.startsWith(`| ${start}`))?.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, ''))

const good = reportsOf(resultOf({ costs: COSTS }))

t.test('the verdict comes first, in words and with its interval, and is the finding over page and chart', async (t) => {
  const [first] = good.table.split('\n')
  t.match(first, /^`values` costs 0\.5\d x `ids` \[0\.5\d-0\.\d\d\]$/)
  t.match(good.markdown.split('\n')[0], `# ${first}`)
  t.ok(good.drawing.title.startsWith(first.replaceAll('`', '')))
})

t.test('published ratios and figures stand beside ours, with the direction and the interval', async (t) => {
  t.match(good.table, /^values +1\.\d\d \[1\.\d\d-1\.\d\d\] +0\.5\d x \[0\.5\d-0\.\d\d\] +0\.605 x +yes/m)
  t.match(good.table, /same direction as published: 1 of 1/)
  t.match(cellsOf(good.markdown, '`values` against `ids`: 26 / 43'), [/r5\.large/, '50 k items/s', '0.605 x', /^0\.5\d x \[0\.5\d-0\.\d\d\]$/, 'yes'])
  t.match(cellsOf(good.markdown, 'r5.large, actual value'), [/actual/, '`values`', '26.0', /^\d\.\d\d$/])
  t.match(cellsOf(good.markdown, 'r6g.large, script'), [/script/, 'none like it', '48.0', '-'], 'what has no counterpart is not left out')
  const [values] = good.drawing.rows.filter(({ arm }) => arm === 'values')
  const [ids] = good.drawing.rows.filter(({ arm }) => arm === 'ids')
  t.equal(values.published, 0.605 * ids.mid)
})

t.test('a direction that differs, and one that cannot be told, is said', async (t) => {
  const other = reportsOf(resultOf({ costs: { ...COSTS, values: 3.9 } }))
  t.match(other.table, /^values .* 0\.605 x +no /m)
  t.match(other.table, /same direction as published: 0 of 1$/m)
  t.match(cellsOf(other.markdown, '`values` against `ids`: 26 / 43')[4], '**no**')
  t.match(other.markdown, /- `values` less than `ids`: \*\*it is not so\*\*/)
  const same = reportsOf(resultOf({ costs: { ...COSTS, values: COSTS.ids } }))
  t.match(same.table, /no difference shown \[0\.\d\d-1\.\d\d\]/)
  t.match(same.table, /same direction as published: 0 of 1, 1 not shown or not known/)
  t.match(same.table, /^values .* 0\.605 x +not shown/m)
  t.match(same.markdown, /- `values` less than `ids`: not shown/)
})

t.test('a published ratio to another arm than the baseline has its place too', async (t) => {
  const plan = planOf({ published: { ...planOf().published, ratios: [{ arm: 'values', against: 'reference', value: 0.7, label: 'x' }] } })
  const { table, markdown, drawing } = reportsOf(resultOf({ plan, costs: COSTS }))
  t.match(table, /^ {4}against reference: 0\.3\d x \[.*\]; published 0\.7 x \(x\), same direction: yes$/m)
  t.match(cellsOf(markdown, '`values` against `reference`: x')[2], '0.7 x')
  const mid = (arm) => drawing.rows.find((row) => row.arm === arm).mid
  t.equal(drawing.rows.find(({ arm }) => arm === 'values').published, 0.7 * mid('reference'))
})

t.test('the A/A pair and the ceiling are told', async (t) => {
  for (const text of [good.table, good.markdown]) {
    t.match(text, /`ids` measured twice \(A\/A\): [01]\.\d\d x \[0\.\d\d-1\.\d\d\]/)
    t.match(text, /ceiling: `blob`, the same bytes without our code, against `ids`: 0\.0\d+ x \[/)
    t.match(text, /ids \(A\/A\)/)
  }
  t.same(good.drawing.rows.map(({ arm, role }) => [arm, role]), [['ids', 'baseline'], ['values', 'arm'], ['reference', 'arm'], ['blob (ceiling)', 'ceiling'], ['ids (A/A)', 'repeat']])
})

t.test('INVALID samples and their reason are in all three, and so is what ended by a fault (L5, L14)', async (t) => {
  const { table, markdown, drawing } = reportsOf(resultOf({
    costs: COSTS,
    change: (sample) => sample.arm === 'values' && sample.round > 3 ? lossy(sample) : sample.arm === 'reference' ? ended(sample) : undefined
  }))
  t.match(table, /INVALID in 2 of 5 rounds: items acknowledged are present: no \(\d+ acknowledged, \d+ present, 12\s+missing\)/)
  t.match(table, /INVALID in 5 of 5 rounds: SERVER_LOST: a server ended/)
  t.match(table, /measurements: 18 of 25 valid/)
  t.match(table, /missing 24$/m)
  t.match(table, /5 measurements ended by SERVER_LOST/)
  t.match(markdown, /\*INVALID in 2 of 5 rounds/)
  t.match(markdown, /- `values` at 50 k items\/s, round 4: items acknowledged are present: no/)
  t.match(markdown, /`reference`: 5 measurements ended by SERVER_LOST/)
  t.match(cellsOf(markdown, 'items acknowledged are present'), [/./, '18 of 20', '**no**'])
  const marks = Object.fromEntries(drawing.rows.map(({ arm, mid, mark }) => [arm, { mid, mark }]))
  t.match(marks.values, { mid: Number, mark: /^INVALID in 2 of 5 rounds$/ })
  t.match(marks.reference, { mid: null, mark: /^INVALID in 5 of 5 rounds: SERVER_LOST/ })
})

t.test('without any valid measurement there is no answer, and nothing breaks', async (t) => {
  const { table, markdown, drawing } = reportsOf(resultOf({ costs: COSTS, change: ended }))
  t.match(table, /`values` against `ids`: not known/)
  t.match(markdown, /^# .*not known/)
  t.ok(drawing.rows.every(({ mid, mark }) => mid === null && mark.startsWith('INVALID in 5 of 5')))
  const alone = reportsOf(resultOf({ plan: planOf({ arms: { ids: {} }, expected: [], published: null }), costs: COSTS, change: ended }))
  t.match(alone.table, /^No answer: `ids`, the baseline, has no valid measurement/)
})

t.test('planned, sent, acknowledged and missing items are printed, for all and for each arm (L3)', async (t) => {
  t.match(good.table, /items: planned 7,500,000, sent 7,500,000, acknowledged 7,500,000, missing 0/)
  t.same(cellsOf(good.markdown, 'values | 1,'), ['values', '1,500,000', '1,500,000', '1,500,000', '0'])
  const fast = reportsOf(resultOf({ costs: COSTS, change: () => ({ planned: null }) }))
  t.match(fast.table, /items: sent 7,500,000/)
  t.match(fast.markdown, /\| as fast as it goes \|/)
})

t.test('what limits is counted on the first lines (L13), outcomes by code (L4)', async (t) => {
  const { table, markdown } = reportsOf(resultOf({
    costs: COSTS,
    change: ({ arm }) => arm === 'values' ? { refused: { ITEM_TOO_OLD: 1000, SERVER_FULL: 2 }, dropped: 5, failed: 3, retried: 1 } : undefined
  }))
  t.match(table.split('\n').slice(0, 3), ['not everything was taken: 5,000 items refused (ITEM_TOO_OLD)', 'not everything was taken: 10 items refused (SERVER_FULL)', 'not everything was taken: 25 items dropped'])
  t.match(markdown, /\n\*\*Not everything was taken\*\*: 5,000 items refused \(ITEM_TOO_OLD\)\./)
  t.match(markdown, /- `values`: 15 items without an answer\n- `values`: 5 batches sent again/)
  t.match(good.markdown, /Nothing was refused, dropped, without an answer or sent again\./)
})

t.test('marks are told where they are, with what they mean (L7)', async (t) => {
  const { table, markdown, drawing } = reportsOf(resultOf({ costs: COSTS, change: ({ arm, round }) => arm === 'reference' && round < 3 ? { marks: ['generator-bound'] } : undefined }))
  t.match(table, /^reference .*\n {4}generator-bound in 2 of 5 rounds$/m)
  t.match(markdown, /- generator-bound: 2 measurements \(the load itself was near its limit/)
  t.equal(drawing.rows.find(({ arm }) => arm === 'reference').mark, 'generator-bound in 2 of 5 rounds')
})

t.test('conditions: engine, version, machine, commit, value size, date, rounds', async (t) => {
  const caption = good.drawing.caption.join('\n')
  for (const text of ['valkey 9.1.2', 'AMD EPYC 7763', '2 cores', 'Node.js 20.20.2', 'commit 68121d0c2a', '128-byte values', '2026-07-30', '5 rounds of 6 s']) {
    t.ok(caption.includes(text), text)
    t.ok(good.table.replaceAll(/\s+/g, ' ').includes(text), text)
  }
  t.notMatch(caption, /not committed/)
  const result = resultOf({ plan: planOf({ fixed: { valueBytes: 128 }, arms: { ids: {}, long: { settings: { valueBytes: 1024 } } }, expected: [], published: null }), costs: { ids: 1, long: 2 } })
  const { drawing, markdown } = reportsOf({ ...result, dirty: true, settings: { ...result.settings, rttMs: 1, target: 'db.example:6379', timeScale: 0.5 } })
  const other = drawing.caption.join('\n')
  for (const text of ['128 or 1,024-byte values', 'with changes that were not committed', '1 ms between client and server', 'server db.example:6379', 'periods x 0.5']) t.ok(other.includes(text), text)
  t.match(markdown, /\| Server \| db\.example:6379, not of the lab; 1 primary, 2 replicas \|/)
})

t.test('the page has every measure, the arms, what differs (L12), what was not controlled, and the raw result', async (t) => {
  const { markdown } = good
  for (const head of ['Primary processor time an item, µs', 'Replica processor time an item, µs', 'Primary processor time, % of a core', 'Flushes behind, 99th percentile, ms', 'Items acknowledged a second, items/s']) t.ok(markdown.includes(head), head)
  t.match(markdown, /\| reference \| reference \| - \|/)
  t.match(markdown, /- values keeps every version of an item/)
  t.match(markdown, /## Not controlled\n\n- load and servers share two processor cores/)
  t.ok(markdown.includes(`](${RAW})`))
  t.match(markdown, /!\[values costs [^\]]*\]\(007-reference-or-value\.svg\)/)
})

t.test('a quick run begins with "not a result"', async (t) => {
  const { table, markdown, drawing } = reportsOf(resultOf({ costs: COSTS, rounds: 1, quick: true }))
  t.match(table, /^not a result/)
  t.match(markdown, /\*\*Not a result\*\*/)
  t.match(drawing.title, /^Not a result: /)
  t.ok(drawing.rows.every(({ mark }) => mark === 'too few rounds for an interval'))
  t.notMatch(good.table, /not a result/)
})

const overLoad = planOf({
  levels: Object.fromEntries([10_000, 30_000, 60_000].map((rate) => [`${rate / 1000} k items/s`, { settings: { rate }, x: rate }])),
  fixedAndMarginal: true
})
const costOf = (each, second) => (level) => each + second / Number(/^\d+/.exec(level)[0])
const load = reportsOf(resultOf({ plan: overLoad, costs: { ids: costOf(2, 12), values: costOf(1.2, 6), reference: costOf(3.9, 6), blob: costOf(0.15, 1) } }))

t.test('levels with a place on an axis: lines, fixed and marginal cost, one sentence an arm over all levels', async (t) => {
  t.equal(load.drawing.kind, 'lines')
  t.same([...new Set(load.drawing.rows.map(({ x }) => x))], [10_000, 30_000, 60_000])
  t.notOk(load.drawing.rows.some(({ role }) => role === 'repeat'), 'the A/A pair would lie over the baseline')
  t.match(load.table, /^`ids`: 3\.\d+ µs at 10 k items\/s, 2\.\d+ at 60 k items\/s\n`values` costs 0\.\d\d to 0\.\d\d x `ids` at all 3 levels\n/)
  t.match(load.table, /fixed and marginal processor time of the primary\n {4}`ids`: 1\.\d+ % of a core \[.*\] and [12]\.\d+ µs an item/)
  t.match(cellsOf(load.markdown, 'values | 0.'), ['values', /^0\.\d+ \[.*\]$/, /^1\.\d+ \[.*\]$/, /%$/, '10 k items/s, 30 k items/s, 60 k items/s'])
  t.equal(good.drawing.kind, 'bars')
})

t.test('levels that do not agree are told apart', async (t) => {
  const plan = planOf({ levels: { few: {}, many: {}, all: { without: ['reference'] } }, expected: [], published: null })
  const { table } = reportsOf(resultOf({ plan, costs: { ...COSTS, values: (level) => level === 'few' ? COSTS.ids : 1.5, reference: (level) => level === 'few' ? 1 : 4.3 } }))
  t.match(table, /`values` against `ids`: less at 2 of 3 levels \(0\.\d\d.* x\), no difference shown at few/)
  t.match(table, /`reference` against `ids`: less at few \(0\.\d\d x\), more at many \(1\.\d\d x\)/)
})

t.test('the finding names the arms of which something was expected, in that order', async (t) => {
  const plan = planOf({ expected: [{ arm: 'reference', against: 'ids', direction: 'more' }, { arm: 'values', against: 'ids', direction: 'less' }] })
  t.match(reportsOf(resultOf({ plan, costs: COSTS })).table, /^`reference` costs .*\n`values` costs /)
  const alike = reportsOf(resultOf({ plan: planOf({ arms: { ids: {}, values: {}, reference: {}, blob: {} } }), costs: { ids: 2, values: 2.001, reference: 1.999, blob: 0.2 } }))
  t.match(alike.markdown, /^# `values` and `reference` against `ids`: no difference shown\n/)
})

t.test('the table has no line wider than 110 characters, whatever names are', async (t) => {
  const name = 'one SETEX promise per item and one ZADD per 1,000, auto-pip.'
  const plan = planOf({ arms: { ids: {}, [name]: {}, blob: {} }, expected: [], published: { ...planOf().published, figures: [], ratios: [{ arm: name, against: 'ids', value: 1.234, label: 'published' }] } })
  const { table, drawing } = reportsOf(resultOf({ plan, costs: { ids: 0.052, [name]: 79.6, blob: 0.0001 } }))
  for (const line of [...table.split('\n'), ...good.table.split('\n'), ...load.table.split('\n')]) t.ok(line.length <= 110, line)
  t.match(table, new RegExp(`^${name}\n +\\d\\d\\.\\d \\[`, 'm'), 'its figures stand on the line below')
  t.match(drawing.title, `\u201c${name}\u201d costs`)
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
  t.same([0.05123, 2.6, 26.04, 99.96, 100.4, 49_987.3, 1.5e6, 0, null, Number.NaN].map(figure), ['0.0512', '2.60', '26.0', '100', '100', '49,987', '1,500,000', '0', '-', '-'])
  t.same([1234.5, null].map(count), ['1,235', '-'])
  t.same([0.58, 12.44, 0.0483, 1, null].map(ratio), ['0.58', '12.4', '0.0483', '1.00', '-'])
  t.equal(ratioWithInterval({ ratio: 0.578, low: 0.551, high: 0.612 }), '0.58 x [0.55-0.61]')
  t.equal(ratioWithInterval({ ratio: 0.998, low: 0.996, high: 0.9991 }), '0.998 x [0.996-0.999]', 'a difference does not become 1.00')
  t.equal(ratioWithInterval({ ratio: 0.578, low: null, high: null }), '0.58 x')
  t.equal(figureWithInterval({ median: 2.6, low: 2.55, high: 2.66 }), '2.60 [2.55-2.66]')
  t.equal(figureWithInterval({ median: 168, low: 168, high: 168 }), '168')
  t.equal(figureWithInterval({ median: null, low: null, high: null }), '-')
})
