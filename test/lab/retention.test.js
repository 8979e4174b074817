/**
 * A plan whose feed would let go of what the ledger looks for is refused: that would look like loss (L5).
 */
import t from 'tap'
import { readPlan } from '../../lab/plan/index.js'
import { scheduleOf } from '../../lab/plan/schedule.js'

const KNOWN = { checkSettings: () => [] }
const NAME = '013-my-question'
const LOST = 'and items that the feed drops would count as lost'
const levels = { one: { settings: { rate: 10_000 } } }
/** without one that keeps every version */
const newest = { ids: { settings: { layout: 'ids' } }, more: { settings: { batchMs: 7 } }, blob: { load: 'blob' } }

/** A run of 5 s. @param {object} fixed @param {object} [more] @returns {any} */
const raw = (fixed, more = {}) => ({
  title: 'A or B?',
  question: 'Does B cost less than A?',
  baseline: 'ids',
  ceiling: 'blob',
  arms: { ids: { settings: { layout: 'ids' } }, values: { settings: { layout: 'values' } }, blob: { load: 'blob' } },
  levels,
  fixed,
  seconds: 4,
  warmUpSeconds: 1,
  rounds: 5,
  measures: ['primaryCpuMicrosPerItem'],
  ...more
})

/** @param {Parameters<typeof raw>} given @returns {string[]} */
function faultsOf (...given) {
  try {
    readPlan(NAME, raw(...given), KNOWN)
  } catch (error) {
    if (error.code !== 'PLAN_INVALID') throw error
    return error.faults
  }
  return []
}

t.test('maxItems holds every id, and twice as many versions where each is kept: the ledger knows what it lets go of', async (t) => {
  t.same(faultsOf({ ids: 1000, maxItems: 2000 }), [])
  t.same(faultsOf({ ids: 1000, maxItems: 0 }), [])
  t.same(faultsOf({ ids: 1000, maxItems: 1999 }), ['fixed.maxItems: 1,999; expected 0 = no limit, or at least 2,000: arms.values at ' +
    `levels.one keeps every version, including the newest of each id, ${LOST}`])
  t.same(faultsOf({ ids: 1000, maxItems: 1000 }, { arms: newest }), [])
  t.same(faultsOf({ ids: 1000, maxItems: 999 }, { arms: newest }),
    [`fixed.maxItems: 999; expected 0 = no limit, or at least 1,000: arms.ids at levels.one keeps one version of each id, ${LOST}`])
  t.same(faultsOf({ ids: 1_000_000, maxItems: 50_000 }), [], 'not all ids are written')
  t.match(faultsOf({}, { arms: { ...raw({}).arms, ids: { settings: { layout: 'ids', maxItems: 10_000 } } } }),
    [/^arms\.ids\.settings\.maxItems: 10,000; expected 0 = no limit, or at least 50,000: arms\.ids/])
})

t.test('as fast as possible all ids are counted as written', async (t) => {
  const flat = { levels: { flat: { settings: { rate: 0 } } } }
  t.same(faultsOf({}, flat), [])
  t.match(faultsOf({ maxItems: 199_999 }, flat), [/^fixed\.maxItems: 199,999; expected 0 = no limit, or at least 200,000: arms\.values/])
})

t.test('windowMs is longer than a run, or than a round of all ids where one version of each is kept', async (t) => {
  t.same(faultsOf({ ids: 1000, windowMs: 15_000 }), [])
  t.same(faultsOf({ ids: 1000, windowMs: 14_999 }), ['fixed.windowMs: 14,999; expected at least 15,000, or a shorter run: arms.values at ' +
    `levels.one has versions 5 s old at its end, and is read for up to 10 s after it, ${LOST}`])
  t.match(faultsOf({ ids: 1000, maxItems: 0 }, { seconds: 60 }),
    [/^windowMs by default: 60,000; expected at least 71,000, or a shorter run: arms\.values/])
  t.same(faultsOf({ ids: 1000 }, { arms: newest, seconds: 3600 }), [], 'each id is written again within the window')
  t.match(faultsOf({ ids: 600_000 }, { arms: newest, seconds: 3600 }), [/^windowMs by default: 60,000; expected at least 70,000/])
})

t.test('loads of the lab do not trim, and the published values are kept for ever', async (t) => {
  const arms = { ids: { load: 'reference' }, values: { load: 'published-values' }, blob: { load: 'blob' } }
  t.same(faultsOf({ maxItems: 5 }, { arms }), [])
  t.match(faultsOf({ windowMs: 10_000 }, { arms }).join(), /^fixed\.windowMs: 10,000; expected at least 15,000.*: arms\.ids/)
})

t.test('a run that is longer than its plan is held to the same', async (t) => {
  const plan = readPlan(NAME, raw({ ids: 50_000, maxItems: 0 }), KNOWN)
  t.equal(scheduleOf(plan, { seconds: 40 }).seconds, 40)
  t.throws(() => scheduleOf(plan, { seconds: 50 }),
    { code: 'PLAN_INVALID', message: /^013-my-question, 50 s a measurement: windowMs by default: 60,000; expected at least 65,000/ },
    'its warm-up is 5 s')
  t.equal(scheduleOf(plan, { seconds: 50, arms: ['ids'] }).seconds, 50, 'of the arms that are measured')
})
