/** Sources of a user: what a module may export, and what becomes of a call. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { resolve } from '../../../settings.js'
import { importModule } from '../../../src/systems/inside.js'
import { aggregate, createSources, exchangesOf, loadSources } from '../../../src/systems/prices/index.js'

const PATIENT_MS = 20_000

/** @param {import('tap').Test} t @param {any} ask @param {number} [callMs] */
function sourceOf (t, ask, callMs = PATIENT_MS) {
  const logged = /** @type {any[]} */ ([])
  const log = /** @type {any} */ ({ warn: (/** @type {object} */ facts) => logged.push(facts) })
  const sources = createSources({ exchanges: [{ name: 'mine', ask }], callMs, log })
  t.teardown(sources.close)
  const tick = async (asset = 'btc-usd') => (await sources.ticks(asset))[0]
  return { sources, tick, logged, figures: () => sources.figures()[0] }
}

t.test('a price may be a text or a number; the volume may be left out', async (t) => {
  const { tick } = sourceOf(t, async (/** @type {string} */ asset) =>
    asset === 'text' ? { price: '61234.5678901234567', ts: 5 } : { price: 1.9e-8, ts: 6, volume: 3 })
  t.same(await tick('text'), { exchange: 'mine', ok: true, price: '61234.5678901234567', volume: '0', ts: 5 })
  t.same(await tick('number'), { exchange: 'mine', ok: true, price: '1.9e-8', volume: '3', ts: 6 })
})

t.test('null is an asset that the source does not list; other replies, and errors, are failures', async (t) => {
  const replies = /** @type {[any, string][]} */ ([
    [null, 'not_found'], [undefined, 'bad_reply'], [5, 'bad_reply'], [{ price: '1' }, 'bad_reply'], [{ price: '1', ts: 1.5 }, 'bad_reply'],
    [{ price: {}, ts: 1 }, 'bad_reply'], [{ price: '1'.repeat(65), ts: 1 }, 'bad_reply'], [{ price: '1', ts: 1, volume: null }, 'bad_reply']
  ])
  for (const [reply, reason] of replies) {
    const { tick, figures } = sourceOf(t, async () => reply)
    t.same(await tick(), { exchange: 'mine', ok: false, reason })
    t.match(figures(), { exchange: 'mine', breaker: 'closed', calls: 1, failures: 1, lastError: reason })
  }
  for (const ask of [() => { throw new Error('no key') }, async () => { throw new Error('no key') }]) {
    const { tick, figures, logged } = sourceOf(t, ask)
    for (let i = 0; i < 25; i++) await tick()
    t.match(figures(), { breaker: 'open', calls: 10, failures: 10, skipped: 15, lastError: 'threw' })
    t.same(logged, [{ source: 'mine', asset: 'btc-usd', reason: 'no key' }], 'the reason is logged, not for each call')
  }
})

t.test('a source that never answers gets an aborted signal at the deadline, and when the process ends', async (t) => {
  const signals = /** @type {AbortSignal[]} */ ([])
  const ask = (/** @type {string} */ _, /** @type {any} */ { signal }) => {
    signals.push(signal)
    return new Promise(() => {})
  }
  const late = sourceOf(t, ask, 20)
  t.match(await late.tick(), { ok: false, reason: 'timeout' })
  const closed = sourceOf(t, ask)
  const ticking = closed.tick()
  closed.sources.close()
  t.match(await ticking, { ok: false, reason: 'closed' })
  t.same(signals.map(({ aborted }) => aborted), [true, true])

  const rejects = sourceOf(t, async (/** @type {string} */ _, /** @type {any} */ { signal }) => {
    await sleep(PATIENT_MS, undefined, { signal })
  }, 20)
  t.match(await rejects.tick(), { ok: false, reason: 'timeout' }, 'an error after the deadline is not another failure')
  t.same(rejects.logged, [])
})

t.test('one source alone is a quorum; of two, both must agree', async (t) => {
  const tick = (/** @type {string} */ exchange, /** @type {string} */ price) =>
    /** @type {const} */ ({ exchange, ok: true, price, volume: '0', ts: 1000 })
  const options = { nowMs: 1000, last: null, candidate: null }
  t.match(aggregate([tick('mine', '5')], { ...options, quorum: 1 }), { price: '5', asOf: 1000 })
  t.match(aggregate([tick('mine', '5'), { exchange: 'alpha', ok: false, reason: 'timeout' }], options), { failure: 'no_quorum' })
})

t.test('a module exports sources by name; all its faults are reported', async (t) => {
  const folder = t.testdir({
    'mine.js': 'export const sources = { mine: async () => null, other: () => null }',
    'mine.cjs': 'module.exports = Object.freeze({ sources: { common: async () => null } })',
    'empty.js': 'export const sources = {}',
    'none.js': 'export const source = 1',
    'array.js': 'export const sources = []',
    'broken.js': 'export const sources = {\n  mine: async () => nul l\n}',
    'wrong.js': 'export const sources = { alpha: () => {}, mine: 5, "M i": () => {} }',
    'many.js': 'export const sources = Object.fromEntries(Array.from({ length: 20 }, (_, i) => ["s" + i, () => null]))'
  })
  const at = (/** @type {string[]} */ ...names) => names.map((name) => `${folder}/${name}`)
  const all = await loadSources(['local', ...at('mine.js', 'mine.cjs')], ['alpha'], importModule)
  t.same(all.map(({ name }) => name), ['mine', 'other', 'common'])
  const cases = /** @type {[string, ...RegExp[]][]} */ ([
    ['absent.js', /^exchanges: .*absent.js cannot be loaded \(.*\); expected a module that exports sources, such as \{ mine: async/],
    ['broken.js', /cannot be loaded \(.*broken.js, line 2: /],
    ['none.js', /none.js exports no sources; expected/],
    ['empty.js', /exports sources without any; expected/],
    ['array.js', /exports sources that are an array; expected/],
    ['wrong.js', /sources.alpha: the name is taken/, /sources.mine is of type number; expected a function/, /sources.M i: expected a name/],
    ['many.js', /21 sources; expected at most 16/]
  ])
  for (const [name, ...faults] of cases) {
    const error = await loadSources(at(name), ['alpha'], importModule).catch((error) => error)
    t.match(error, { code: 'SETTINGS_INVALID', faults }, name)
    t.equal(error.faults.length, faults.length)
  }
})

t.test('the setting takes paths beside exchanges, or alone', async (t) => {
  const read = (/** @type {string[]} */ ...flags) => resolve(flags, {}, { command: 'consumers', layouts: [], acks: [] })
  const names = (/** @type {string} */ given) => exchangesOf(/** @type {any} */ (read('--exchanges', given))).map(({ name }) => name)
  t.same(names('local,./mine.js'), ['alpha', 'beta', 'gamma'])
  t.same(names('./mine.js, kraken'), ['kraken'])
  t.same(names('./mine.js'), [])
  t.same(read('--exchanges', 'local,./mine.js', '--exchange-urls', 'alpha=http://127.0.0.1:9').exchangeUrls, ['alpha=http://127.0.0.1:9'])
  for (const wrong of ['./mine.js,./mine.js', 'local,kraken,./mine.js', 'mine']) t.throws(() => read('--exchanges', wrong), wrong)
})
