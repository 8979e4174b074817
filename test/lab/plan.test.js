/**
 * Plans are checked as a whole: every fault is reported, with its place and what is expected there.
 */
import t from 'tap'
import { SETTINGS, checkSettings } from '../../settings.js'
import { layoutNames } from '../../src/layouts/index.js'
import { WRITER_DEFAULTS } from '../../lab/plan/cells.js'
import { adHocPlan } from '../../lab/plan/ad-hoc.js'
import { readPlan } from '../../lab/plan/index.js'
import { ackNames } from '../../src/pipeline/acks.js'

const KNOWN = { checkSettings: (/** @type {any} */ settings) => checkSettings(settings, { layouts: layoutNames(), acks: ackNames() }) }
const NAME = '013-my-question'

/** @param {object} [changes] @returns {any} */
const raw = (changes = {}) => ({
  title: 'A or B?',
  question: 'Does B cost less than A?',
  baseline: 'ids',
  ceiling: 'blob',
  arms: { ids: { settings: { layout: 'ids' } }, values: { settings: { layout: 'values' } }, blob: { load: 'blob' } },
  levels: { '10 k items/s': { settings: { rate: 10_000 }, x: 10_000 }, '20 k items/s': { settings: { rate: 20_000 }, x: 20_000 } },
  seconds: 4,
  warmUpSeconds: 1,
  rounds: 5,
  measures: ['primaryCpuMicrosPerItem'],
  ...changes
})

/** @param {unknown} plan @param {string} [name] @returns {string[]} */
function faultsOf (plan, name = NAME) {
  try {
    readPlan(name, plan, KNOWN)
  } catch (error) {
    if (error.code !== 'PLAN_INVALID') throw error
    if (error.exitStatus !== 2 || !error.message.includes(name)) throw new Error(`not as errors are: ${error.message}`)
    return error.faults
  }
  return []
}

t.test('a plan has its name, number and defaults, and cannot be changed', async (t) => {
  const plan = readPlan(NAME, raw(), KNOWN)
  t.match(plan,
    {
      name: NAME,
      number: '013',
      differs: { length: 0 },
      expected: { length: 0 },
      fixed: {},
      fixedAndMarginal: false,
      published: null,
      notControlled: { length: 0 }
    })
  t.same(plan.arms.ids, { load: 'writer', settings: { layout: 'ids' } })
  t.same(plan.arms.blob, { load: 'blob', settings: {} })
  t.same(plan.levels['10 k items/s'], { settings: { rate: 10_000 }, x: 10_000, without: [] })
  t.throws(() => { plan.arms.ids.settings.layout = 'values' }, TypeError)
  t.throws(() => { plan.measures.push('itemsPerSecond') }, TypeError)
})

t.test('all faults of a plan are reported at once, each with its place and what is expected', async (t) => {
  const faults = faultsOf({
    ...raw(),
    titel: 'x',
    title: 7,
    arms: { ids: { settings: { layout: 'ids' } }, values: { laod: 'writer', settings: { layout: 'valuse' } }, blob: { load: 'blop' } },
    levels: { '10 k items/s': { settings: { rate: -1 }, without: ['valeus'], engine: 'mysql 8' } },
    rounds: 2.5,
    measures: ['primaryCpuMicrosPerItme'],
    expected: [{ arm: 'values', against: 'ids', direction: 'fewer' }],
    question: undefined
  })
  t.same(faults.toSorted(), [
    'arms.blob.load: "blop"; did you mean blob?',
    'arms.values.laod is unknown; did you mean load?',
    'arms.values.settings: layout: valuse (setting); expected ids | values | stream | segments',
    'expected[0].direction: "fewer"; expected one of: less, more, same',
    'levels["10 k items/s"].engine: "mysql 8"; expected valkey or redis, with a version if need be, such as valkey 9.1',
    'levels["10 k items/s"].settings: rate: -1 (setting); expected a number from 0 to 100,000,000',
    'levels["10 k items/s"].without[0]: "valeus" is no arm of this plan; did you mean values?',
    'measures[0]: "primaryCpuMicrosPerItme"; did you mean primaryCpuMicrosPerItem?',
    'question is missing; expected a text of 1 to 200 characters',
    'rounds: 2.5; expected an integer from 5 to 100',
    'titel is unknown; did you mean title?',
    'title: 7; expected a text of 1 to 80 characters'
  ].toSorted())
})

t.test('what is no plan at all has one clear error', async (t) => {
  for (const value of [null, 7, 'plan', [], {}]) t.ok(faultsOf(value).length > 0, JSON.stringify(value))
  t.same(faultsOf([]).slice(0, 1), ['the plan: []; expected an object'])
  t.match(faultsOf(raw({ arms: [], levels: 3, fixed: 'x', measures: 'itemsPerSecond', expected: {}, published: [] })).join('\n'),
    /^arms: \[\]; expected an object with at least 2, each under its name\nlevels: 3;/)
  t.match(faultsOf(raw({ arms: { ids: null, blob: { settings: [] } } })).join('\n'), /arms\.ids: null; expected an object/)
  t.match(faultsOf(raw({ fixed: { ids: { a: 1 } } })).join('\n'), /fixed\.ids: \{"a":1\}; expected a text, a number, true, false or null/)
  t.same(faultsOf(raw(), 'my-question'), ['folder name: my-question; expected three digits and words, such as 013-my-question'])
})

t.test('every arm and level that a plan speaks of is there', async (t) => {
  const faults = faultsOf(raw({
    baseline: 'id',
    expected: [{ arm: 'value', against: 'ids', direction: 'less' }, { arm: 'ids', against: 'ids', direction: 'same' }],
    published: {
      source: 'a',
      conditions: 'b',
      unit: 'c',
      figures: [{ label: 'd', value: 1, arm: 'nobody' }, { label: 'without an arm', value: 1 }],
      ratios: [{ label: 'e', value: 1, arm: 'values', against: 'blobs', level: '10 k item/s' }]
    }
  }))
  t.same(faults, [
    'baseline: "id" is no arm of this plan; expected one of: ids, values, blob',
    'expected[0].arm: "value" is no arm of this plan; did you mean values?',
    'expected[1].against: "ids" is the arm itself; expected another arm',
    'published.figures[0].arm: "nobody" is no arm of this plan; expected one of: ids, values, blob',
    'published.ratios[0].against: "blobs" is no arm of this plan; did you mean blob?',
    'published.ratios[0].level: "10 k item/s" is no level of this plan; did you mean 10 k items/s?'
  ])
})

t.test('L11: a plan has a baseline and a ceiling, two arms that are measured at every level', async (t) => {
  t.match(faultsOf(raw({ ceiling: undefined })).join(), /^ceiling is missing/)
  t.match(faultsOf(raw({ baseline: undefined })).join(), /^baseline is missing/)
  t.match(faultsOf(raw({ ceiling: 'ids' })).join(), /^ceiling: "ids" is the baseline; expected another arm/)
  t.same(faultsOf(raw({ levels: { one: { without: ['blob', 'ids'] } } })), [
    'levels.one.without[0]: "blob" is the ceiling, which is measured at every level',
    'levels.one.without[1]: "ids" is the baseline, which is measured at every level'
  ])
})

t.test('L11: the ceiling has none of our code: a blob, or a constant answer', async (t) => {
  const arms = { ...raw().arms, reference: { load: 'reference' }, bare: { settings: { layout: 'ids' }, serving: { by: 'bare' } } }
  for (const ceiling of ['values', 'reference']) {
    t.same(faultsOf(raw({ arms, ceiling })),
      [`ceiling: "${ceiling}" runs our code; expected an arm without it: load blob, or serving by bare`])
  }
  for (const ceiling of ['blob', 'bare']) t.same(faultsOf(raw({ arms, ceiling })), [])
})

t.test('what is known of a writer without its settings is what they say', async (t) => {
  t.same(WRITER_DEFAULTS,
    Object.fromEntries(Object.keys(WRITER_DEFAULTS).map((name) => [name, SETTINGS.find((row) => row.name === name)?.default])))
})

t.test('the reference is the published way, whatever else a plan says', async (t) => {
  const arms = { ...raw().arms, reference: { load: 'reference' } }
  t.same(faultsOf(raw({ arms, fixed: { batchItems: 10, valueBytes: 128 } })), [])
  t.same(faultsOf(raw({ arms, fixed: { valueBytes: 256 } })), ['fixed.valueBytes: 256; expected 128 for arms.reference: load reference ' +
    'reproduces the published writes, with values of that size; or leave the arm out'])
  t.same(faultsOf(raw({
    arms: { ...raw().arms, reference: { load: 'reference', settings: { valueBytes: 128 } } }, fixed: { valueBytes: 256 }
  })), [])
  t.match(faultsOf(raw({ arms: { ...raw().arms, reference: { load: 'reference-burst', settings: { valueBytes: 64 } } } })),
    [/^arms\.reference\.settings\.valueBytes: 64; expected 128 for arms\.reference: load reference-burst/])
  t.same(faultsOf(raw({
    arms: {
      ...raw().arms,
      reference: { load: 'reference', settings: { batchItems: 100 } },
      blob: { load: 'blob', settings: { valueChange: 'never' } }
    }
  })), [
    'arms.blob.settings.valueChange: never; load blob always uses always; leave it out',
    'arms.reference.settings.batchItems: 100; load reference always uses 1000; leave it out'
  ])
})

t.test('L10: five rounds at least, and no arm has the name of the A/A pair', async (t) => {
  t.same(faultsOf(raw({ rounds: 4 })), ['rounds: 4; expected an integer from 5 to 100'])
  t.match(faultsOf(raw({ arms: { ...raw().arms, 'ids (A/A)': { settings: { batchMs: 7 } } } })).join(),
    /^arms: the name: "ids \(A\/A\)"; expected 1 to 60 characters without commas and without \(A\/A\) at the end/)
})

t.test('an arm or a level that was copied and not changed is found', async (t) => {
  t.same(faultsOf(raw({ arms: { ...raw().arms, 'ids again': { load: 'writer', settings: { layout: 'ids' } } } })),
    ['arms["ids again"]: the same as arms.ids; expected a difference (the lab adds the A/A pair itself)'])
  t.same(faultsOf(raw({ levels: { a: { settings: { rate: 5, ids: 9 } }, b: { settings: { ids: 9, rate: 5 } } } })),
    ['levels.b: the same as levels.a; expected a difference (the lab adds the A/A pair itself)'])
  t.same(faultsOf(raw({ arms: { ...raw().arms, 'ids elsewhere': { engine: 'redis 7.0', settings: { layout: 'ids' } } } })), [])
})

t.test('settings are those of the writer, and a fault is reported once, where it was written', async (t) => {
  const faults = faultsOf(raw({
    fixed: { idz: 5, batchItems: 0, redisUrl: 'redis://127.0.0.1' },
    arms: {
      ids: { settings: { layout: 'ids' } },
      values: { settings: { layout: 'values', batchItems: 10 } },
      blob: { load: 'blob', settings: { duration: 3 } }
    }
  }))
  t.equal(faults.length, 4)
  const said = faults.join('\n')
  t.match(said, /^fixed: idz is unknown; did you mean ids\?$/m)
  t.match(said, /^fixed: batchItems: 0 \(setting\); expected an integer from 1 to 10,000$/m)
  t.match(said, /^fixed\.redisUrl: the lab sets it; leave it out$/m)
  t.match(said, /^arms\.blob\.settings\.duration: the lab sets it; leave it out$/m)
})

t.test('settings are judged together: those of fixed, then of the level, then of the arm', async (t) => {
  // only with the layout of the arm is it wrong to have no bound at all
  const faults = faultsOf(raw({ fixed: { windowMs: 0 }, levels: { one: { settings: { maxItems: 0 } } } }))
  t.equal(faults.length, 1)
  t.match(faults[0], /^fixed: windowMs: 0 .*layout values/)
  t.same(faultsOf(raw({ fixed: { batchItems: 0 }, levels: { one: { settings: { batchItems: 10 } } } })), [], 'overridden at every level')
})

t.test('L9: a window holds the longest period twice', async (t) => {
  const arms = (/** @type {object} */ settings) => ({ ...raw().arms, values: { settings } })
  const faults = faultsOf(raw({ arms: arms({ pace: 'burst', periodMs: 2001 }) }))
  t.equal(faults.length, 1)
  t.match(faults[0], /^seconds: 4; expected at least 4\.002: 2 times the longest period \(periodMs, batchMs/)
  t.same(faultsOf(raw({ arms: arms({ pace: 'burst', periodMs: 2000 }) })), [])
  t.match(faultsOf(raw({ fixed: { batchMs: 3000 } })).join(), /^seconds: 4; expected at least 6/)
  t.match(faultsOf(raw({ arms: { ...raw().arms, published: { load: 'reference-burst' } }, seconds: 1.5 })).join(),
    /^seconds: 1\.5; expected at least 2/, 'loads have periods too')
  t.match(faultsOf(raw({ arms: { ...raw().arms, published: { load: 'reference' } }, levels: { slow: { settings: { rate: 450 } } } })), [
    /^seconds: 4; expected at least 4\.446: 2 times the longest period \(periodMs, batchMs, everyMs, the time in which a reference fills a batch\)/
  ], 'it waits for 1,000 items')
  t.same(faultsOf(raw({ arms: arms({ pace: 'burst' }) })),
    ['arms.values.settings.pace: burst; expected a periodMs beside it, to check the window'])
})

t.test('a cost a second and an item is fitted over levels that have a place', async (t) => {
  t.same(faultsOf(raw({ fixedAndMarginal: true })), [])
  const fault = 'fixedAndMarginal: true; expected at least two levels, each with a different x'
  t.same(faultsOf(raw({ fixedAndMarginal: true, levels: { one: { x: 1 } } })), [fault])
  t.same(faultsOf(raw({ fixedAndMarginal: true, levels: { a: { settings: { rate: 5 } }, b: { x: 1 } } })), [fault])
})

t.test('two settings against each other make a plan, in which nothing is trimmed', async (t) => {
  const plan = readPlan('ad-hoc', adHocPlan({ a: { layout: 'ids' }, b: { layout: 'values', batchMs: 20 }, rate: 100_000 }), KNOWN)
  t.match(plan, { name: 'ad-hoc', number: '', title: 'A: --layout ids / B: --layout values --batch-ms 20', baseline: 'A', ceiling: 'blob' })
  t.same(Object.keys(plan.arms), ['A', 'B', 'blob'])
  t.same(plan.levels, { '100,000 items/s': { settings: { rate: 100_000 }, without: [] } })
  const texts = readPlan('ad-hoc', adHocPlan({ a: {}, b: { layout: 'values' }, aText: 'as it is', bText: '-'.repeat(300) }), KNOWN)
  t.match(texts.title, /^A: as it is \/ B: -+\.\.\.$/)
  t.same(Object.keys(texts.levels), ['as fast as possible'])
  t.same(readPlan('ad-hoc', adHocPlan({ a: { pace: 'burst', periodMs: 4000 }, b: {}, rate: 100 }), KNOWN).seconds, 8,
    'the window follows the period')
  t.same(readPlan('ad-hoc', adHocPlan({ a: { rate: 500 }, b: { rate: 900 } }), KNOWN).levels,
    { 'at the rates given': { settings: { rate: 900 }, without: [] } })
  t.same(faultsOf(adHocPlan({ a: { layout: 'ids' }, b: { layout: 'ids' } }), 'ad-hoc'),
    ['arms.B: the same as arms.A; expected a difference (the lab adds the A/A pair itself)'])
  t.match(faultsOf(adHocPlan({ a: { layout: 'ids' }, b: { layuot: 'values' } }), 'ad-hoc'), [/^arms\.B\.settings: layuot is unknown/])
  t.match(faultsOf(adHocPlan({ a: { maxItems: 10_000 }, b: {} }), 'ad-hoc'), [
    /^arms\.A\.settings\.maxItems: 10,000; expected 0 = no limit, or at least 100,000: arms\.A at levels\["as fast as possible"\] keeps one version of each id/
  ])
})

t.test('the ceiling of two settings carries the same bytes as they do', async (t) => {
  const read = (/** @type {any} */ question) => readPlan('ad-hoc', adHocPlan(question), KNOWN)
  const shared = read({ a: { layout: 'ids', valueBytes: 1000, ids: 500 }, b: { layout: 'values', valueBytes: 1000, ids: 500 }, rate: 1000 })
  t.same(shared.fixed, { maxItems: 0, valueBytes: 1000, ids: 500 })
  t.same([shared.arms.A.settings, shared.arms.B.settings, shared.arms.blob.settings], [{ layout: 'ids' }, { layout: 'values' }, {}])
  t.same(shared.differs, [])

  const different = read({ a: { valueBytes: 1000 }, b: { valueBytes: 200 }, rate: 1000 })
  t.same([different.arms.A.settings, different.arms.B.settings, different.arms.blob.settings],
    [{ valueBytes: 1000 }, { valueBytes: 200 }, { valueBytes: 1000 }])
  t.same(different.differs, ['A and B have values of different sizes; the ceiling uses those of A'])
  const ofB = read({ a: {}, b: { valueBytes: 200 }, rate: 1000 })
  t.same([ofB.arms.blob.settings, ofB.differs], [{}, different.differs], 'A has the default')
  t.same(read({ a: { valueBytes: 128 }, b: { batchMs: 7 }, rate: 1000 }).differs, [])

  const small = read({ a: { valueBytes: 4 }, b: { valueBytes: 4, layout: 'values' }, rate: 1000 })
  t.same([small.fixed.valueBytes, small.arms.blob.settings, small.differs],
    [4, { valueBytes: 12 }, ['the ceiling uses values of 12 bytes, because smaller ones do not identify items']])

  const rates = read({ a: { rate: 500 }, b: { rate: 500, layout: 'values' }, rate: 20_000 })
  t.same([rates.levels, rates.arms.A.settings, rates.arms.B.settings],
    [{ 'at the rates given': { settings: { rate: 500 }, without: [] } }, { rate: 500 }, { rate: 500, layout: 'values' }])
})
