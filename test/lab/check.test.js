/**
 * What a sample and a result file must hold to be believed (L3, L5, L6), and that a tampered file is found.
 */
import t from 'tap'
import { checkResult, invariantsOf, percentilesInOrder } from '../../src/lab/check.js'

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
  nodes: [],
  invariants: [],
  marks: [],
  valid: true,
  error: null,
  ...more
})

const result = (/** @type {any[]} */ samples, more = {}) => /** @type {any} */ ({ format: 1, experiment: '001-load', samples, settings: { measurements: samples.length }, finishedAt: '2026-11-21T00:00:00Z', ...more })
const broken = (/** @type {any} */ of) => invariantsOf(of).filter(({ ok }) => !ok).map(({ name }) => name)

t.test('a sample whose sums and contents agree is believed', async (t) => {
  t.same(broken(sample()), [])
  t.same(checkResult(result([sample(), sample({ round: 2 })])), { faults: [], samples: 2, invalid: 0 })
})

t.test('L5: items that were acknowledged and are not there make a sample INVALID', async (t) => {
  t.same(broken(sample({ itemsPresent: 349_999, ledger: { missing: 1, foreign: 0, misplaced: 0, nodesEqual: true } })), ['items acknowledged are present'])
  t.same(broken(sample({ ledger: { missing: 0, foreign: 3, misplaced: 0, nodesEqual: true } })), ['nothing is present that was not acknowledged'])
  t.same(broken(sample({ ledger: { missing: 0, foreign: 0, misplaced: 2, nodesEqual: true } })), ['newest first is right'])
  t.same(broken(sample({ ledger: { missing: 0, foreign: 0, misplaced: 0, nodesEqual: false } })), ['replicas hold what the primary holds'])
})

t.test('L3: every offered item has one outcome', async (t) => {
  t.same(broken(sample({ offered: 250_001 })), ['offered items add up'])
  t.same(broken(sample({ offered: 250_003, refused: { full: 2 }, dropped: 1 })), [])
  t.same(broken(sample({ items: 400_000, offered: 400_000 })), ['acknowledged in the window and before add up'])
  t.same(broken(sample({ items: 0, offered: 0 })), ['something was acknowledged'])
})

t.test('L6: percentiles are read by name and must be in order', async (t) => {
  t.ok(percentilesInOrder({ p50: 1, p95: 1, p99: 1, max: 1 }))
  t.ok(percentilesInOrder(null))
  t.notOk(percentilesInOrder({ p50: 3, p95: 2, p99: 1, max: 9 }))
  t.notOk(percentilesInOrder({ p50: 1, p95: 2, p99: 3, max: 2 }))
  t.notOk(percentilesInOrder(/** @type {any} */ ({ p50: 1, p99: 3, max: 9 })))
  t.same(broken(sample({ behindMs: { p50: 3, p95: 2, p99: 1, max: 9 } })), ['percentiles are in order'])
})

t.test('a file that was edited afterwards is found', async (t) => {
  const faultsOf = (/** @type {any[]} */ ...samples) => checkResult(result(samples)).faults
  t.match(faultsOf(sample({ itemsPresent: 349_000 })), [/sample 1 \(ids, 50 k, round 1\): items acknowledged are present: no \(350000 acknowledged, 349000 present/])
  t.match(faultsOf(sample({ itemsAcknowledged: 360_000 })), [/items acknowledged are present/])
  t.match(faultsOf(sample({ behindMs: { p50: 5, p95: 2, p99: 3, max: 9 } })), [/percentiles/])
  t.match(faultsOf(sample({ invariants: [{ name: 'x', ok: false, detail: '' }] })), [/calls itself valid/])
  t.match(faultsOf(sample({ error: { code: 'SERVER_LOST', message: 'gone' } })), [/ended by SERVER_LOST and calls itself valid/])
  t.match(faultsOf(sample({ itemsPresent: undefined })), [/lacks itemsPresent/])
  t.match(faultsOf(sample(), sample()), [/there twice/])
  t.match(checkResult(result([sample()], { settings: { measurements: 2 } })).faults, [/1 samples; expected 2/])
})

t.test('a sample that is INVALID and says so is no fault of the file', async (t) => {
  const invalid = sample({ valid: false, itemsPresent: 1, ledger: { missing: 349_999, foreign: 0, misplaced: 0 } })
  const failed = sample({ round: 2, valid: false, error: { code: 'LOAD_FAILED', message: 'no' } })
  t.same(checkResult(result([invalid, failed])), { faults: [], samples: 2, invalid: 2 })
})
