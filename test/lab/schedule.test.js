import t from 'tap'
import { OVERHEAD_SECONDS, readPlan } from '../../lab/plan/index.js'
import { minutesOf, remaining, scheduleOf } from '../../lab/plan/schedule.js'

const KNOWN = { checkSettings: () => [] }
const LEVELS = { slow: { settings: { rate: 1000 } }, fast: { settings: { rate: 9000 }, without: ['list'] } }

const withIds = (/** @type {number} */ ids) => readPlan('013-my-question', {
  title: 'A or B?',
  question: 'Does B cost less than A?',
  baseline: 'ids',
  ceiling: 'blob',
  arms: {
    values: { settings: { layout: 'values' } },
    ids: {},
    list: { settings: { batchMs: 1 } },
    blob: { load: 'blob' },
    set: { settings: { batchMs: 2000, writers: 2 } }
  },
  levels: LEVELS,
  fixed: { ids },
  seconds: 6,
  warmUpSeconds: 2,
  rounds: 5,
  measures: ['primaryCpuMicrosPerItem']
}, KNOWN)

const plan = withIds(1000)
const nameOf = (/** @type {import('../../lab/plan/schedule.js').Cell} */ { level, arm }) => `${level} ${arm}`

t.test('L10: rounds are interleaved, every other one backwards, and every arm has the same number of them', async (t) => {
  const { cells, dropped } = scheduleOf(plan)
  const round = (/** @type {number} */ n) => cells.filter((cell) => cell.round === n).map(nameOf)
  t.same(cells.map(({ round }) => round), cells.map(({ round }) => round).toSorted((a, b) => a - b), 'one round after the other')
  t.same(round(1), ['slow values', 'slow ids', 'slow list', 'slow blob', 'slow set', 'slow ids (A/A)', 'fast values', 'fast ids',
    'fast blob', 'fast set', 'fast ids (A/A)'])
  t.same(round(2), round(1).toReversed())
  t.same([round(3), round(4), round(5)], [round(1), round(2), round(1)])
  t.same(dropped, [])
  for (const name of round(1)) t.equal(cells.filter((cell) => nameOf(cell) === name).length, 5, name)
})

t.test('L10: at every level the baseline is measured twice', async (t) => {
  const { cells } = scheduleOf(plan)
  for (const level of Object.keys(LEVELS)) {
    const pair = cells.filter((cell) => cell.level === level && cell.aaOf)
    t.equal(pair.length, 5)
    t.ok(pair.every(({ arm, aaOf }) => arm === 'ids (A/A)' && aaOf === 'ids'))
  }
  t.ok(cells.filter(({ arm }) => arm !== 'ids (A/A)').every((cell) => !('aaOf' in cell)))
})

t.test('L11: the baseline and the ceiling stay, whichever arms are asked for', async (t) => {
  const { cells, dropped } = scheduleOf(plan, { arms: ['set'], rounds: 1 })
  t.same(cells.map(nameOf), ['slow ids', 'slow blob', 'slow set', 'slow ids (A/A)', 'fast ids', 'fast blob', 'fast set', 'fast ids (A/A)'])
  t.same(dropped, ['arms left out: values, list', '1 of 5 rounds: intervals are wider'])
  t.throws(() => scheduleOf(plan, { arms: ['sets'] }),
    { code: 'PLAN_INVALID', message: '--arms: "sets" is no arm of 013-my-question; did you mean set?' })
})

t.test('the window is that of the plan, or a longer one; never shorter than L9 allows', async (t) => {
  t.match(scheduleOf(plan), { seconds: 6, warmUpSeconds: 2 })
  t.match(scheduleOf(plan, { seconds: 9, rounds: 6 }), { seconds: 9, warmUpSeconds: 2, dropped: { length: 0 } })
  t.throws(() => scheduleOf(plan, { seconds: 3 }), { code: 'PLAN_INVALID', message: /^--seconds: 3; expected at least 4/ })
})

t.test('a quick run takes less than half a minute and says what it leaves out', async (t) => {
  const { cells, seconds, warmUpSeconds, dropped } = scheduleOf(plan, { quick: true })
  t.same(cells.map(nameOf), ['slow values', 'slow ids', 'slow blob', 'slow ids (A/A)'])
  t.ok(cells.every(({ round }) => round === 1))
  t.equal(seconds, 2)
  t.ok(cells.length * (seconds + warmUpSeconds + OVERHEAD_SECONDS) < 30)
  t.same(dropped, ['quick, not a result: one round with 2 s for each measurement', 'levels left out: fast', 'arms left out: list, set'])
  t.same(scheduleOf(plan, { quick: true, arms: ['list'] }).cells.map(nameOf), ['slow ids', 'slow list', 'slow blob', 'slow ids (A/A)'])
  t.same(scheduleOf(plan, { quick: true, rounds: 7, seconds: 60 }).cells.length, 4)
})

t.test('what remains is what no sample is there of, faults included', async (t) => {
  const { cells } = scheduleOf(plan)
  t.same(remaining(cells, []), cells)
  t.same(remaining(cells, cells.slice(0, 17).map(({ level, arm, round }) => ({ level, arm, round, valid: false }))), cells.slice(17))
  t.same(remaining(cells, [cells[3], cells[3], cells[20]]), cells.filter((_, i) => i !== 3 && i !== 20))
  t.same(remaining(cells, cells), [])
})

t.test('a warm-up writes every id once, where that is not too long', async (t) => {
  const cells = scheduleOf(withIds(30_000)).cells
  const warmUpOf = (/** @type {string} */ level, /** @type {string} */ arm) =>
    cells.find((cell) => cell.level === level && cell.arm === arm)?.warmUpSeconds
  t.equal(warmUpOf('fast', 'ids'), 3.4, '30,000 ids at 9,000 a second')
  t.equal(warmUpOf('fast', 'ids (A/A)'), 3.4)
  t.equal(warmUpOf('fast', 'set'), 2, 'that of the plan is longer than two writers need')
  t.equal(warmUpOf('slow', 'ids'), 2, 'half a minute is too long: its ids are new ones')
  t.ok(scheduleOf(withIds(30_000), { quick: true }).cells.every(({ warmUpSeconds }) => warmUpSeconds === 0.5))
})

t.test('minutes are warm-up, window and what stands around them', async (t) => {
  t.equal(minutesOf(scheduleOf(plan)), Math.ceil(11 * 5 * (6 + 2 + OVERHEAD_SECONDS) / 60))
})
