/** What a report says for a result and against it: accounts of items, what was verified, marks, counters. */
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { MARKS } from '../../lab/analysis/marks.js'
import { cellsOf, reportsOf } from './reports.js'
import { resultOf } from './results.js'

const COSTS = { ids: 2.6, values: 1.5, reference: 4.3, blob: 0.21 }
const good = reportsOf(resultOf({ costs: COSTS }))

t.test('planned, sent, answered, missing, unsent and lost items are printed, for all and for each arm (L3)', async (t) => {
  t.match(good.table, /items: planned 7,500,000, sent 7,500,000, acknowledged 7,500,000, missing 0, unsent 0, lost 0/)
  t.same(cellsOf(good.markdown, 'values | 1,'), ['values', '1,500,000', '1,500,000', '1,500,000', '0', '0', '0'])
  const fast = reportsOf(resultOf({ costs: COSTS, change: () => ({ planned: null }) }))
  t.match(fast.table, /items: sent 7,500,000/)
  t.match(fast.markdown, /\| as fast as possible \|/)
})

t.test('what limits is counted on the first lines (L13), outcomes by code (L4), and what was not sent is not counted ' +
  'as sent', async (t) => {
  const { table, markdown } = reportsOf(resultOf({
    costs: COSTS,
    change: ({ arm, items }) =>
      arm === 'values' ? { items: items - 1010, refused: { too_old: 1000, full: 2 }, dropped: 5, failed: 3, retried: 1 } : undefined
  }))
  t.match(table.split('\n').slice(0, 3), ['not everything was accepted: 5,000 items refused (too_old)',
    'not everything was accepted: 10 items refused (full)', 'not everything was accepted: 25 items dropped'])
  t.match(table, /items: planned 7,500,000, sent 7,494,965, acknowledged 7,494,950, missing 15, unsent 5,035, lost 0$/m)
  t.same(cellsOf(markdown, 'values | 1,'), ['values', '1,500,000', '1,494,965', '1,494,950', '15', '5,035', '0'])
  t.match(markdown, /\n\*\*Not everything was accepted\*\*: 5,000 items refused \(too_old\)\./)
  t.match(markdown, /- `values`: 15 items without a reply\n- `values`: 5 items retried/)
  t.match(good.markdown, /No item was refused, dropped, retried or left without a reply\./)
})

t.test('requests over HTTP have the same account (L3)', async (t) => {
  const serving = {
    requests: { planned: 1000, sent: 990, answered: 985, missing: 5, errors: 2, timeouts: 3, byStatus: { 200: 985 } },
    client: { loopUse: 0.1 }
  }
  const { table, markdown } = reportsOf(resultOf({ costs: COSTS, change: ({ arm }) => arm === 'values' ? { serving } : undefined }))
  t.match(table, /^requests: planned 5,000, sent 4,950, responses 4,925, missing 25 \(10 errors, 15 timeouts\)$/m)
  t.same(cellsOf(markdown, 'values | 5,'), ['values', '5,000', '4,950', '4,925', '10', '15'])
  t.notMatch(good.table, /requests/)
  t.notMatch(good.markdown, /over HTTP/)
})

t.test('the page says what was verified, and what cannot be seen by it (L5)', async (t) => {
  t.match(good.markdown,
    /- `ids` at 50 k items\/s, round 1: newest versions of 400,000 acknowledged: 100,000 verified on each of 3 nodes\n/)
  t.match(good.markdown, /This cannot detect a lost version whose item was written again later/)
  const change = ({ arm, round, ledger, nodes }) => ({
    ...(arm === 'ids' && round === 1 ? { valid: false } : {}),
    ledger: { ...ledger, verified: arm === 'ids' ? 99_000 : 400_000, versions: arm === 'ids' ? 100_000 : 400_000 },
    nodes: nodes.slice(0, 1)
  })
  const { markdown } = reportsOf(resultOf({ costs: COSTS, change }))
  t.match(markdown,
    /- `ids` at 50 k items\/s, round 2: newest versions of 400,000 acknowledged: 99,000 verified on the one node\n- `values` at 50 k items\/s, round 1: every version of 400,000 acknowledged: 400,000 verified on the one node\n/)
})

t.test('L17, L18: the page says from when lateness counts, and has the counters that a cause is claimed with', async (t) => {
  t.match(good.markdown, /Lateness counts from the intended time of each flush/)
  t.match(good.markdown, /a cause is claimed only with a counter that shows it/)
  t.same(cellsOf(good.markdown, 'level | arm | Commands'), ['level', 'arm', 'Commands per item', 'Bytes to the primary per item'],
    'those that the servers reported')
  t.same(cellsOf(good.markdown, '50 k items/s | values'), ['50 k items/s', 'values', '0.00200', '168'])
})

t.test('marks are reported where they are, with what they mean (L7)', async (t) => {
  const { table, markdown, drawing } = reportsOf(resultOf({
    costs: COSTS, change: ({ arm, round }) => arm === 'reference' && round < 3 ? { marks: ['generator-bound'] } : undefined
  }))
  t.match(table, /^reference .*\n {4}generator-bound in 2 of 5 rounds$/m)
  t.match(markdown, /- generator-bound: 2 measurements \(the load was near its own limit/)
  t.match(drawing.notes.join('\n'), /^Generator-bound in some rounds: reference$/m)
})

t.test('every mark is explained, on the page and in docs/measuring.md', async (t) => {
  const docs = await readFile(new URL('../../docs/measuring.md', import.meta.url), 'utf8')
  t.same([...docs.matchAll(/^\| `([a-z -]+)` \| /gm)].map(([, mark]) => mark).filter((mark) => Object.hasOwn(MARKS, mark)).sort(),
    Object.keys(MARKS).sort())
  const { markdown } = reportsOf(resultOf({ costs: COSTS, change: () => ({ marks: Object.keys(MARKS) }) }))
  for (const [mark, meaning] of Object.entries(MARKS)) t.ok(markdown.includes(`- ${mark}: 25 measurements (${meaning})\n`), mark)
})
