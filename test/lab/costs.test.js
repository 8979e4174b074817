/** The table of costs: what counts as moved, on the same kind of machine and on another one. Nothing is counted here. */
import t from 'tap'
import { compareCosts, isSameKey, textOfCosts } from '../../lab/counting/table.js'
import { ANCHOR, ROWS } from '../../lab/counting/rows.js'
import { expectValgrind } from '../../lab/counting/valgrind.js'

const KEY = { arch: 'x64', libc: 'glibc 2.36', binary: 'abc', valgrind: '3.19.0' }
const cost = (/** @type {number} */ instructions, more = {}) =>
  ({ unit: 'item', instructions, commands: 1, bytesIn: 200, bytesOut: 5, replicatedBytes: 1000, ...more })
const ROWS_THERE = { anchor: cost(10_000), ids: cost(8_000), segments: cost(100, { commands: 0.008 }) }
const TABLE = { key: KEY, engine: 'valkey 9.1.2', rows: ROWS_THERE }
const faultsOf = (/** @type {any} */ counted, key = KEY) =>
  Object.fromEntries(compareCosts(TABLE, key, { anchor: cost(10_000), ...counted }, 'anchor').map(({ name, faults }) => [name, faults]))

t.test('a figure may move by 2 %, up and down', async (t) => {
  t.same(faultsOf({ ids: cost(8_075) }), { anchor: [], ids: [] })
  t.same(faultsOf({ ids: cost(8_090) }).ids, [])
  t.same(faultsOf({ ids: cost(8_170) }).ids, ['instructions 8,000 -> 8,170 (+2.1 %)'])
  t.same(faultsOf({ ids: cost(7_830) }).ids, ['instructions 8,000 -> 7,830 (-2.1 %)'])
  t.same(faultsOf({ ids: cost(8_000, { commands: 1.015 }) }).ids, [])
  t.same(faultsOf({ ids: cost(8_000, { commands: 1.03 }) }).ids, ['commands 1 -> 1.03 (+3.0 %)'])
  t.same(faultsOf({ ids: cost(8_000, { replicatedBytes: 1039 }) }).ids, ['replicated bytes 1,000 -> 1,039 (+3.9 %)'])
  t.same(faultsOf({ segments: cost(105.9, { commands: 0.008 }) }).segments, [], 'six instructions an item are chance')
  t.same(faultsOf({ segments: cost(100, { commands: 0.0082 }) }).segments, [], 'a thousandth of a command an item is chance')
  t.same(faultsOf({ other: cost(1) }).other, ['is not in the table'])
})

t.test('on another kind of machine the ratio to the anchor may move by 4 %', async (t) => {
  const other = { ...KEY, libc: 'glibc 2.41' }
  t.ok(isSameKey(KEY, { valgrind: '3.19.0', binary: 'abc', libc: 'glibc 2.36', arch: 'x64' }))
  t.notOk(isSameKey(KEY, other))
  t.same(faultsOf({ anchor: cost(12_000), ids: cost(9_900) }, other), { anchor: [], ids: [] })
  t.same(faultsOf({ anchor: cost(12_000), ids: cost(10_100) }, other).ids, ['ratio to the anchor 0.8 -> 0.842 (+5.2 %)'])
})

t.test('the table marks what has moved', async (t) => {
  const text = textOfCosts(compareCosts(TABLE, KEY, { anchor: cost(10_000), ids: cost(9_000) }, 'anchor'))
  t.match(text, /^ {2}anchor +10,000 +1\.000/m)
  t.match(text, /^x ids +9,000 +0\.900/m)
})

t.test('ten rows and the anchor are counted by day', async (t) => {
  const daily = Object.entries(ROWS).filter(([, { isDaily }]) => isDaily).map(([name]) => name)
  t.equal(daily.length, 11)
  t.equal(daily[0], ANCHOR)
})

t.test('without valgrind there is one line, with the command that installs it', async (t) => {
  await t.rejects(expectValgrind({ PATH: '/nowhere' }), {
    code: 'VALGRIND_MISSING', message: 'counting needs valgrind, which is not on PATH: sudo apt-get install valgrind'
  })
})
