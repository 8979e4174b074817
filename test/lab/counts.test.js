/** Counts beside the windows of a result: what makes one INVALID, ratios, and arms that have no counted load. Nothing is counted here. */
import t from 'tap'
import { countedArm, windowOf } from '../../lab/counting/arms.js'
import { contradictions, differencesOf, isScripted, ratioOf } from '../../lab/counting/compare.js'
import { sectionOfCounts, textOfCounts } from '../../lab/counting/report.js'

const node = (/** @type {number} */ instructions, /** @type {Record<string, number>} */ calls = { zadd: 0.004 }) => /** @type {any} */ ({
  role: 'primary', instructions, commands: 0.05, bytesIn: 200, bytesOut: 5, replicatedBytes: 210, calls
})
const sample = (/** @type {Record<string, number>} */ calls, more = {}) =>
  /** @type {any} */ ({ items: 10_000, batches: 40, nodes: [{ commands: 500, calls }], ...more })
const cell = (/** @type {string} */ arm, /** @type {number} */ instructions, more = {}) => /** @type {any} */ ({
  level: 'l',
  arm,
  unit: 'item',
  batchUnits: 250,
  units: 1000,
  nodes: [node(instructions)],
  window: null,
  ratio: null,
  invalid: [],
  error: null,
  ...more
})
const CELLS = [
  cell('a', 10_000), cell('b', 5_000, { ratio: { ratio: 0.56, low: 0.42, high: 0.71 } }),
  cell('c', 20_000, { ratio: { ratio: 1.2, low: 1.1, high: 1.4 } }),
  cell('d', 0, { nodes: [], error: { code: 'COUNT_FAILED', message: 'is not counted: so' } })
]

t.test('a window says how large batches were, and what each item was sent with', async (t) => {
  t.match(windowOf([sample({ zadd: 40, set: 10_000 })], 'item'),
    { itemsPerBatch: 250, commandsPerUnit: 0.05, callsPerUnit: { zadd: 0.004, set: 1 } })
  t.match(windowOf([sample({ zadd: 20, set: 10_000 })], 'item', 'gateway'), { itemsPerBatch: 500 }, 'not of a request')
  const nodes = [{ role: 'primary', commands: 5, calls: {} }, { role: 'primary', commands: 500, calls: { zadd: 40 } }]
  t.match(windowOf([sample({}, { nodes })], 'item'), { commandsPerUnit: 0.0505, callsPerUnit: { zadd: 0.004 } }, 'of all primaries')
  t.match(windowOf([sample({ evalsha: 625, set: 10_000 })], 'decision'), { itemsPerBatch: 16 }, 'of decisions a batch is a call')
  t.equal(windowOf([], 'item'), null)
  t.equal(windowOf([sample({}, { nodes: [{ commands: 1 }] })], 'item'), null, 'results before calls were kept')
})

t.test('another size of batches or another share of a form makes a count INVALID', async (t) => {
  const counted = (/** @type {Record<string, number>} */ calls, itemsPerBatch = 250) =>
    ({ node: node(1, calls), unit: 'item', itemsPerBatch })
  const window = { itemsPerBatch: 251, commandsPerUnit: 0.05, callsPerUnit: { zadd: 0.0039, exec: 0.0039, set: 0.00005 } }
  t.same(differencesOf(counted({ zadd: 0.004, exec: 0.004 }), null), [])
  t.same(differencesOf(counted({ zadd: 0.004, exec: 0.004 }), window), [], 'counters that begin a little later than those of the load')
  t.match(differencesOf(counted({ zadd: 0.01, exec: 0.01 }, 100), window), [/^100 items a batch, 251 in the window/])
  t.match(differencesOf(counted({ zadd: 0.004, evalsha: 0.004 }), window),
    [/^exec 0 times a batch, 1 in the window/, /^evalsha 1 times a batch, 0/])
  const upkeep = { itemsPerBatch: 1000, commandsPerUnit: 0.005, callsPerUnit: { zadd: 0.001, exec: 0.001, set: 0.000025, sadd: 0.000025 } }
  t.same(differencesOf(counted({ zadd: 0.001, exec: 0.001 }, 1000), upkeep), [], 'what is done once a second is no form')
})

t.test('windows from before the log of arrivals have no transaction where ZADD was all of a batch', async (t) => {
  const window = { itemsPerBatch: 250, commandsPerUnit: 0.004, callsPerUnit: { zadd: 0.004, set: 0.00001 } }
  const of = (/** @type {Record<string, number>} */ more) =>
    differencesOf({ node: node(1, { zadd: 0.004, exec: 0.004, xadd: 0.004, ...more }), unit: 'item', itemsPerBatch: 250 }, window)
  t.same(of({}), [])
  t.match(of({ msetex: 0.004 }), [/^exec 1 times a batch, 0/, /^msetex 1 times a batch, 0/])
})

t.test('nor one of script and entry; an attempt now and then to do without the script is upkeep', async (t) => {
  const scripted = { evalsha: 0.004, zadd: 0.004, msetex: 0.004 }
  const window = { itemsPerBatch: 250, commandsPerUnit: 0.05, callsPerUnit: { ...scripted, watch: 0.0001, exec: 0.0001 } }
  const of = (/** @type {Record<string, number>} */ calls) =>
    differencesOf({ node: node(1, calls), unit: 'item', itemsPerBatch: 250 }, window)
  t.same(of({ ...scripted, exec: 0.004, xadd: 0.004 }), [])
  t.match(of({ zadd: 0.004, msetex: 0.004, watch: 0.004, exec: 0.004 }),
    [/^evalsha 0 times a batch, 1 in/, /^watch 1 times a batch, 0\.025 in/])
})

t.test('marks of late items are no form of ids, but entries are one of segments', async (t) => {
  const window = { itemsPerBatch: 250, commandsPerUnit: 0.05, callsPerUnit: { zadd: 0.004, exec: 0.004, xadd: 0.002 } }
  t.same(differencesOf({ node: node(1, { zadd: 0.004, exec: 0.004 }), unit: 'item', itemsPerBatch: 250 }, window), [])
  const log = { itemsPerBatch: 250, commandsPerUnit: 0.05, callsPerUnit: { evalsha: 0.004, xadd: 0.002 } }
  t.match(differencesOf({ node: node(1, { evalsha: 0.004, xadd: 0.004 }), unit: 'item', itemsPerBatch: 250 }, log), [/^xadd 1 times a batch, 0\.5/])
})

t.test('batches that all went through the script do so in the count', async (t) => {
  const window = (/** @type {number} */ watch) => ({ itemsPerBatch: 250, commandsPerUnit: 0.05, callsPerUnit: { evalsha: 0.004, watch } })
  t.ok(isScripted(window(0.0001)), 'one attempt in 40 batches')
  t.notOk(isScripted(window(0.0002)))
  t.notOk(isScripted(window(0.004)))
  t.notOk(isScripted({ ...window(0), callsPerUnit: { zadd: 0.004 } }))
  t.notOk(isScripted(null))
})

t.test('replies of a reader share reads, those of the handler do not', async (t) => {
  const window = { itemsPerBatch: 1000, commandsPerUnit: 0.14, callsPerUnit: { zrevrange: 0.07, xrevrange: 0.07, mget: 0 } }
  const of = (/** @type {Record<string, number>} */ calls, isShared = true) =>
    differencesOf({ node: node(1, calls), unit: 'reply', itemsPerBatch: 1, isShared }, window)
  t.same(of({ zrevrange: 3, xrevrange: 3, get: 0.2 }), [])
  t.match(of({ zrevrange: 2, xrevrange: 3 }), [/^zrevrange 2 times a batch, 2\.5 in/, /^xrevrange 3 /])
  t.match(of({ zrevrange: 1, xrevrange: 1 }, false), [/^zrevrange 1 times a batch, 0\.07 in/, /^xrevrange 1 /])
})

t.test('what every batch sends says how many there were', async (t) => {
  const counted = { node: node(1, { zadd: 0.01, exec: 0.01, watch: 0.01 }), unit: 'item', itemsPerBatch: 100 }
  const window = { itemsPerBatch: 100, commandsPerUnit: 0.05, callsPerUnit: { zadd: 0.0098, exec: 0.0049, watch: 0.0049, evalsha: 0.0049 } }
  t.match(differencesOf(counted, window), [/^exec 1 times a batch, 0\.5 in/, /^evalsha 0 times a batch, 0\.5 in/, /^watch 1 times a batch, 0\.5 in/])
  const twoSets = { node: node(1, { zadd: 0.02, setex: 1 }), unit: 'item', itemsPerBatch: 100 }
  const of = (/** @type {number} */ zadd) => ({ itemsPerBatch: 100, commandsPerUnit: 1, callsPerUnit: { zadd, setex: 0.96 } })
  t.same(differencesOf(twoSets, of(0.0192)), [], 'two of them in each: counters that begin later')
  t.match(differencesOf(twoSets, of(0.0096)), [/^setex 100 times a batch, 200 in/])
})

t.test('a ratio outside of the interval of the window is explained', async (t) => {
  t.equal(ratioOf(CELLS, CELLS[1], 'a', 0), 0.5)
  t.equal(ratioOf(CELLS, CELLS[3], 'a', 0), null)
  t.equal(ratioOf([CELLS[0], cell('b', 5_000, { invalid: ['so'] })], cell('b', 5_000, { invalid: ['so'] }), 'a', 0), null)
  t.match(contradictions(CELLS, 'a'), [/^c at l: 2\.00 x by count, 1\.20 x \[1\.10-1\.40\] of CPU time .* less of what a count does not see/])
})

t.test('text and page have a line for each node, and outcomes instead of figures', async (t) => {
  const key = { arch: 'x64', libc: 'glibc 2.36', binary: 'abc', valgrind: '3.19.0' }
  const counts = /** @type {any} */ ({
    experiment: 'e', commit: '12345678', startedAt: 'then', window: 'r.json', baseline: 'a', keys: { 'valkey 9.1.2': key }, cells: CELLS
  })
  for (const text of [textOfCounts(counts), sectionOfCounts(counts)]) {
    t.match(text, /b[ |]+primary[ |]+5,000[ |]+0\.50/)
    t.match(text, 'is not counted: so')
    t.match(text, 'does not see the kernel')
    t.match(text, 'valkey 9.1.2 (abc), x64, glibc 2.36, valgrind 3.19.0')
  }
})

t.test('a flush becomes a batch for each connection of each partition, and those that share a WAIT', async (t) => {
  const settings = { ids: 1000, layout: 'ids', valueBytes: 128 }
  const plan = /** @type {any} */ ({
    fixed: {}, arms: { a: {}, b: { servers: 'cluster' } }, levels: { l: { settings: {}, without: [] } }
  })
  const window = (/** @type {Record<string, number>} */ callsPerUnit) => ({ itemsPerBatch: 25, commandsPerUnit: 1, callsPerUnit })
  const of = (/** @type {any} */ more, calls = {}) =>
    countedArm(plan, { level: 'l', arm: 'a' }, { ...settings, ...more }, window(calls))
  t.match(of({}), { batches: 1, load: { form: 'primary', batchUnits: 25 } }, 'a plan with clusters is counted without replicas')
  t.match(of({ partitions: 10 }), { batches: 10, load: { batchUnits: 250 } })
  t.match(countedArm(plan, { level: 'l', arm: 'a' }, { ...settings, partitions: 10 }, { ...window({}), itemsPerBatch: 10.24 }),
    { load: { batchUnits: 102 } })
  t.match(of({ ack: 'replica' }, { wait: 0.04 }), { batches: 4, load: { batchUnits: 100 } })
  t.match(of({ ack: 'replica' }, { wait: 0.004 }), { batches: 40, load: { batchUnits: 1000 } })
  t.throws(() => countedArm(plan, { level: 'l', arm: 'b' }, { ...settings, partitions: 3 }, window({})), { code: 'COUNT_FAILED' })
})

t.test('what depends on who is faster is not counted', async (t) => {
  const levels = { l: { settings: {}, without: [] } }
  const plan = (/** @type {any} */ arm) => /** @type {any} */ ({ fixed: {}, arms: { a: { settings: {}, ...arm } }, levels })
  const settings = { ids: 1000, layout: 'ids', valueBytes: 128 }
  const of = (/** @type {any} */ arm) => countedArm(plan(arm), { level: 'l', arm: 'a' }, settings, null)
  t.match(of({ load: 'writer' }), { unit: 'item', node: 'primary', load: { form: 'pair', batchUnits: 1000 } })
  t.match(of({ contention: { technique: 'max', driver: 'own' } }), { unit: 'decision', load: { batchUnits: 1 } })
  const pages = { by: 'reader', asks: 'pages', path: '/v1/feeds/lab/items?limit=100', settings: { views: 'none' } }
  t.match(of({ serving: pages }), { unit: 'reply', node: 'replica' })
  const push = { serving: { ...pages, asks: 'push' } }
  t.match(of({ load: 'gateway' }), { unit: 'item', load: { form: 'pair', batchUnits: 1000 } }, 'its batches are those of the library')
  t.match(of({ servers: 'cluster' }), { load: { form: 'cluster' } })
  const others = [{ contention: { technique: 'watch' } }, { servers: 'cluster-one' }, push]
  for (const arm of others) {
    t.throws(() => of(arm), { code: 'COUNT_FAILED', message: /^is not counted: / })
  }
})
