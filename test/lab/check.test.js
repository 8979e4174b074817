/**
 * What a sample and a result file must hold to be believed (L3, L5, L6), and that a tampered file is found.
 */
import t from 'tap'
import { checkResult, invariantsOf } from '../../lab/analysis/check.js'
import { percentilesInOrder } from '../../lab/analysis/percentiles.js'

const node = (/** @type {string} */ role, /** @type {number} */ cpuSeconds, more = {}) => ({
  role,
  address: '127.0.0.1:7001',
  engine: 'valkey 9.1.2',
  cpuSeconds,
  cpuMicrosPerItem: cpuSeconds * 1e6 / 250_000,
  cpuPercent: cpuSeconds / 5 * 100,
  ...more
})

const sample = (more = {}) => /** @type {any} */ ({
  arm: 'ids',
  level: '50 k',
  round: 1,
  seconds: 5,
  planned: 250_000,
  offered: 250_000,
  items: 250_000,
  refused: {},
  dropped: 0,
  failed: 0,
  retried: 0,
  batches: 250,
  bytes: 32_000_000,
  itemsAcknowledged: 350_000,
  itemsPresent: 350_000,
  ledger: { acknowledged: 350_000, versions: 100_000, missing: 0, foreign: 0, misplaced: 0, detail: [], nodesEqual: true },
  behindMs: { p50: 1, p95: 2, p99: 3, max: 9 },
  generator: { processes: 1, cpuSeconds: 2, loopUse: 0.4 },
  nodes: [node('primary', 0.5), node('replica', 0.3)],
  machine: { loadAverage: 1, stealPercent: 0.1, otherCores: 0.02 },
  invariants: [],
  marks: [],
  valid: true,
  error: null,
  ...more
})

const result = (/** @type {any[]} */ samples, more = {}) => /** @type {any} */ ({
  format: 1,
  experiment: '001-load',
  engine: 'valkey 9.1.2',
  plan: { baseline: 'list' },
  samples,
  settings: { measurements: samples.length, seconds: 5 },
  finishedAt: '2026-11-21T00:00:00Z',
  ...more
})
const broken = (/** @type {any} */ of) => invariantsOf(of).filter(({ ok }) => !ok).map(({ name }) => name)

t.test('a sample whose sums and contents agree is believed', async (t) => {
  t.same(broken(sample()), [])
  t.same(checkResult(result([sample(), sample({ round: 2 })])), { faults: [], samples: 2, invalid: 0, ended: 0 })
})

t.test('L5: items that were acknowledged and are not there make a sample INVALID', async (t) => {
  t.same(broken(sample({ itemsPresent: 349_999, ledger: { missing: 1, foreign: 0, misplaced: 0, nodesEqual: true } })),
    ['items acknowledged are present'])
  const foreign = { missing: 0, foreign: 3, misplaced: 0, nodesEqual: true }
  t.same(broken(sample({ ledger: foreign })), ['nothing is present that was not acknowledged'])
  t.same(broken(sample({ ledger: foreign, offered: 250_003, failed: 3 })), ['nothing is present that was not acknowledged'],
    'whatever had no answer')
  t.same(broken(sample({ ledger: { missing: 0, foreign: 0, misplaced: 2, nodesEqual: true } })), ['items are in order'])
  t.same(broken(sample({ ledger: { missing: 0, foreign: 0, misplaced: 0, nodesEqual: false } })), ['replicas hold the same as the primary'])
})

t.test('L3: every offered item has one outcome', async (t) => {
  t.same(broken(sample({ offered: 250_001 })), ['offered items add up'])
  t.same(broken(sample({ offered: 250_003, refused: { full: 2 }, dropped: 1 })), [])
  t.same(broken(sample({ items: 400_000, offered: 400_000 })), ['items of the window are among those acknowledged'])
  t.same(broken(sample({ items: 0, offered: 0 })), ['items were acknowledged'])
})

t.test('L6: percentiles are read by name and must be in order', async (t) => {
  t.ok(percentilesInOrder({ p50: 1, p95: 1, p99: 1, max: 1 }))
  t.ok(percentilesInOrder(null))
  t.notOk(percentilesInOrder({ p50: 3, p95: 2, p99: 1, max: 9 }))
  t.notOk(percentilesInOrder({ p50: 1, p95: 2, p99: 3, max: 2 }))
  t.notOk(percentilesInOrder(/** @type {any} */ ({ p50: 1, p99: 3, max: 9 })))
  t.same(broken(sample({ behindMs: { p50: 3, p95: 2, p99: 1, max: 9 } })), ['percentiles are in order'])
  t.same(broken(sample({ flushMs: { p50: 3, p95: 2, p99: 1, max: 9 } })), ['percentiles are in order'])
})

t.test('a file that was edited afterwards is found', async (t) => {
  const faultsOf = (/** @type {any[]} */ ...samples) => checkResult(result(samples)).faults
  t.match(faultsOf(sample({ itemsPresent: 349_000 })),
    [/sample 1 \(ids, 50 k, round 1\): items acknowledged are present: no \(350000 acknowledged, 349000 present/])
  t.match(faultsOf(sample({ itemsAcknowledged: 360_000 })), [/items acknowledged are present/])
  t.match(faultsOf(sample({ behindMs: { p50: 5, p95: 2, p99: 3, max: 9 } })), [/percentiles/])
  t.match(faultsOf(sample({ invariants: [{ name: 'x', ok: false, detail: '' }] })), [/is marked valid/])
  t.match(faultsOf(sample({ error: { code: 'SERVER_LOST', message: 'gone' } })), [/ended by SERVER_LOST, but is marked valid/])
  t.match(faultsOf(sample({ itemsPresent: undefined })), [/lacks itemsPresent/])
  t.match(faultsOf(sample(), sample()), [/duplicates/])
  t.match(checkResult(result([sample()], { settings: { measurements: 2 } })).faults, [/1 samples; expected 2/])
})

t.test('what a sample lacks is a fault, not the end of the check', async (t) => {
  const faultsOf = (/** @type {any} */ of) => checkResult(result([of], { engine: '' })).faults
  for (const name of ['ledger', 'behindMs', 'generator', 'machine', 'refused', 'nodes', 'marks', 'invariants', 'items', 'seconds',
    'level']) {
    for (const gone of [undefined, null, 'text']) {
      if (name === 'level' && gone === 'text') continue
      t.match(faultsOf(sample({ [name]: gone })), [new RegExp(`^sample 1 \\(.*\\): lacks ${name}`)], `${name}: ${gone}`)
    }
  }
  t.match(faultsOf(sample({ ledger: {} })), [/lacks ledger\.acknowledged, ledger\.missing, ledger\.foreign, ledger\.misplaced$/])
  t.match(faultsOf(sample({ behindMs: { p50: 1, p99: 3, max: 9 } })), [/lacks behindMs\.p95$/])
  t.match(faultsOf(sample({ flushMs: { p50: 1, p99: 3, max: 9 } })), [/lacks flushMs\.p95$/])
  t.match(faultsOf(sample({ nodes: [null], invariants: ['x'] })), [/lacks nodes\[0\], invariants\[0\]$/])
  t.match(faultsOf(null), ['sample 1: null; expected a sample'])
  t.match(faultsOf(sample({ nodes: null, valid: false })), [/lacks nodes/], 'of one that is INVALID, too')
})

t.test('L6: what can be calculated again is, and reported when it differs', async (t) => {
  const faultsOf = (/** @type {any} */ more, /** @type {any} */ top = {}) => checkResult(result([sample(more)], top)).faults
  const [primary, replica] = sample().nodes
  t.match(faultsOf({ nodes: [{ ...primary, cpuMicrosPerItem: 1.9 }, replica] }),
    [/primary 127\.0\.0\.1:7001: cpuMicrosPerItem 1\.9; expected 2$/])
  t.match(faultsOf({ nodes: [primary, { ...replica, cpuSeconds: 0.31 }] }),
    [/replica 127\.0\.0\.1:7001: cpuMicrosPerItem 1\.2; expected 1\.24$/])
  t.match(faultsOf({ nodes: [{ ...primary, cpuMicrosPerItem: null }, replica] }), [/cpuMicrosPerItem null; expected 2$/])
  t.same(faultsOf({ nodes: [{ ...primary, cpuMicrosPerItem: 2 * (1 + 5e-7) }, replica] }), [], 'the last digits may differ')
  t.match(faultsOf({ windowSeconds: 5, nodes: [{ ...primary, cpuPercent: 9 }, replica] }), [/cpuPercent 9; expected 10$/])
  t.match(faultsOf({ itemsAcknowledged: 350_001, itemsPresent: 350_001 }), [/itemsAcknowledged 350001; the ledger has 350000$/])
  t.match(faultsOf({ ledger: { ...sample().ledger, verified: 99_999 } }), [/99999 versions verified; expected 100000$/])
  t.same(faultsOf({ windowSeconds: 5, ledger: { ...sample().ledger, verified: 100_000 } }), [])
  t.same(faultsOf({}), [], 'written before there were windowSeconds and verified')
  const effective = { '50 k': { ids: { rate: 50_000, writers: 1 } } }
  t.same(faultsOf({}, { effective }), [])
  t.match(faultsOf({ planned: 250_001 }, { effective }), [/planned 250001; expected 250000 by its settings$/])
  t.match(faultsOf({ planned: null }, { effective }), [/planned null; expected 250000/])
  t.same(faultsOf({ planned: null }, { effective: { '50 k': { ids: { rate: 0 } } } }), [])
})

t.test('L7: marks are those that the figures give', async (t) => {
  const faultsOf = (/** @type {any} */ more) => checkResult(result([sample(more)])).faults
  const [primary, replica] = sample().nodes
  const generator = sample().generator
  const machine = sample().machine
  for (const [mark, more] of /** @type {[string, any][]} */ ([
    ['generator-bound', { generator: { ...generator, loopUse: 0.81 } }],
    ['generator-bound', { generator: { ...generator, cpuSeconds: 4.1 } }],
    ['noisy', { machine: { ...machine, otherCores: 0.2 } }],
    ['stolen', { machine: { ...machine, stealPercent: 3 } }],
    ['behind', { planned: 300_000 }],
    ['full copy', { nodes: [{ ...primary, fullSyncs: 1 }, replica] }],
    ['evicted', { nodes: [primary, { ...replica, evictedKeys: 2 }] }]
  ])) {
    t.match(faultsOf(more), [new RegExp(`: lacks the mark ${mark}, which its figures require$`)], JSON.stringify(more))
    t.same(faultsOf({ ...more, marks: [mark] }), [])
    t.match(faultsOf({ marks: [mark] }), [new RegExp(`: has the mark ${mark}, which its figures do not justify$`)])
  }
  t.same(faultsOf({ marks: ['relay-bound'] }), [], 'what the relay did stands in no sample')
  t.same(faultsOf({ machine: { ...machine, stealPercent: 3 }, marks: ['noisy'] }), [], 'results from before stolen time had its own mark')
})

t.test('figures of serving are held to each other', async (t) => {
  const serving = {
    seconds: 4,
    requests: { planned: null, sent: 800, answered: 800, missing: 0, errors: 0, timeouts: 0, byStatus: { 200: 800 } },
    requestsPerSecond: 200,
    latencyMs: { p50: 1, p95: 2, p99: 3, max: 4 },
    cpuSeconds: 0.4,
    cpuMicrosPerRequest: 500,
    answers: { looked: 80, wrong: 0, detail: null },
    client: { cpuSeconds: 1, loopUse: 0.3, connectionsLost: 0 }
  }
  const freshness = { p50: 4, p95: 6, p99: 8, max: 30, due: 1000, seen: 1000, wentBack: 0, betweenMs: { p50: 1, p95: 1.5, p99: 2, max: 5 } }
  const everything = { startUpMs: 500, dueItems: 10, mostItems: 10, liveItems: 10, firstMs: [1], lastMs: [10], delayMs: [1], items: [10] }
  const faultsOf = (/** @type {any} */ more) => checkResult(result([sample({ serving: { ...serving, ...more } })])).faults
  t.same(faultsOf({}), [])
  for (const [more, why] of /** @type {[any, RegExp][]} */ ([
    [{ latencyMs: { p50: 4, p95: 2, p99: 3, max: 4 } }, /percentiles of latency are in order: no/],
    [{ latencyMs: undefined }, /lacks serving\.latencyMs$/],
    [{ requests: undefined }, /lacks serving\.requests$/],
    [{ requests: { ...serving.requests, sent: 801 } }, /requests add up: no/],
    [{ answers: { looked: 80, wrong: 1, detail: 'x' } }, /responses are correct: no/],
    [{ requestsPerSecond: 210 }, /serving\.requestsPerSecond 210; expected 200$/],
    [{ cpuMicrosPerRequest: 400 }, /serving\.cpuMicrosPerRequest 400; expected 500$/],
    [{ client: { ...serving.client, loopUse: 0.9 } }, /lacks the mark generator-bound/],
    [{ answers: { ...serving.answers, newest: [1e9] } },
      /responses hold nothing that was not acknowledged: no \(the newest items in responses are number 1000000000; /],
    [{ freshness: { ...freshness, p99: undefined } }, /lacks serving\.freshness\.p99$/],
    [{ freshness: { ...freshness, betweenMs: 1 } }, /lacks serving\.freshness\.betweenMs$/],
    [{ freshness: 7 }, /lacks serving\.freshness, serving\.freshness\.betweenMs$/],
    [{ freshness: { ...freshness, seen: 900 } }, /due items became visible: no/],
    [{ freshness: { ...freshness, betweenMs: { p50: 1, p95: 2, p99: 5, max: 9 } } }, /lacks the mark generator-bound/],
    [{ everything: { ...everything, lastMs: undefined } }, /lacks serving\.everything\.lastMs$/],
    [{ everything: { ...everything, liveItems: 5 } }, /the process was ready with all items: no/]
  ])) t.match(faultsOf(more), [why])
  t.same(faultsOf({ freshness }), [])
})

t.test('what samples are together: engines, the A/A pair, their number', async (t) => {
  const faultsOf = (/** @type {any[]} */ samples, more = {}) => checkResult(result(samples, more)).faults
  t.match(faultsOf([sample()], { engine: 'valkey 9.1.3' }), ['engine "valkey 9.1.3"; the samples have valkey 9.1.2'])
  const other = sample({ round: 2, nodes: [node('primary', 0.5, { engine: 'redis 7.0.15' })] })
  t.same(faultsOf([sample(), other], { engine: 'valkey 9.1.2, redis 7.0.15' }), [])
  t.match(faultsOf([sample(), other]), ['engine "valkey 9.1.2"; the samples have redis 7.0.15, valkey 9.1.2'])
  const plan = { baseline: 'ids' }
  const again = sample({ arm: 'ids (A/A)' })
  t.same(faultsOf([sample(), again], { plan }), [])
  t.match(faultsOf([sample(), again, sample({ round: 2 })], { plan }), ['50 k: 1 samples of ids (A/A); expected as many as of ids, 2'])
  t.same(faultsOf([sample()], { plan, finishedAt: null }), [], 'a run that goes on')
  t.match(faultsOf([sample()], { settings: { measurements: 2 } }), ['1 samples; expected 2'])
  t.match(faultsOf([sample(), sample({ round: 2 })], { settings: { measurements: 1 } }), ['2 samples; expected 1'])
})

t.test('a sample that is INVALID and says so is no fault of the file', async (t) => {
  const invalid = sample({ valid: false, itemsPresent: 1, ledger: { acknowledged: 350_000, missing: 349_999, foreign: 0, misplaced: 0 } })
  const failed = sample({
    round: 2,
    valid: false,
    nodes: [],
    ledger: null,
    behindMs: null,
    generator: null,
    machine: null,
    error: { code: 'LOAD_FAILED', message: 'no' }
  })
  t.same(checkResult(result([invalid, failed])), { faults: [], samples: 2, invalid: 1, ended: 1 })
})
