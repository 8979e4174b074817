import t from 'tap'
import { findExperiment, listExperiments } from '../../lab/plan/catalog.js'
import { OVERHEAD_SECONDS } from '../../lab/plan/index.js'

const plan = (/** @type {string} */ question, more = '') => `export default {
  title: 'T', question: ${JSON.stringify(question)}, baseline: 'ids', ceiling: 'blob', arms: { ids: {}, blob: { load: 'blob' } },
  levels: { one: {} }, seconds: 4, warmUpSeconds: 2, rounds: 5, measures: ['itemsPerSecond'] ${more}
}\n`

/** @param {import('tap').Test} t @param {object} [more] folders */
const folderOf = (t, more = {}) => t.testdir({
  'README.md': 'what they are',
  notes: {},
  '007-reference-or-value': { 'plan.js': plan('Reference?'), results: {} },
  '001-load': { 'plan.js': plan('Load?') },
  '012-reshard': { 'plan.js': plan('Reshard?', ', fixed: { rate: -1 }') },
  ...more
})

t.test('experiments are listed by number, with question, arms and minutes', async (t) => {
  const folder = folderOf(t)
  const list = await listExperiments(folder)
  t.same(list.map(({ name }) => name), ['001-load', '007-reference-or-value', '012-reshard'])
  // 15 measurements; at the default rate it takes 10 s until every id was written once
  t.match(list[1], {
    number: '007',
    question: 'Reference?',
    arms: ['ids', 'blob'],
    minutes: Math.ceil(15 * (list[1].plan.seconds + 10 + OVERHEAD_SECONDS) / 60),
    folder: /007-reference-or-value$/,
    plan: { name: '007-reference-or-value' }
  })
})

t.test('an experiment is found by number and by name', async (t) => {
  const folder = folderOf(t)
  for (const text of ['007', '7', '07', 'reference-or-value', 'Reference-Or-Value', '007-reference-or-value']) {
    t.equal((await findExperiment(folder, text)).name, '007-reference-or-value', text)
  }
})

t.test('the message about an unknown experiment lists those with a similar name', async (t) => {
  const folder = folderOf(t)
  const unknown = (/** @type {string} */ text) =>
    findExperiment(folder, text).then(() => '', (error) => `${error.code} ${error.exitStatus} ${error.message}`)
  t.match(await unknown('reference-or-vlaue'),
    /^EXPERIMENT_UNKNOWN 2 there is no experiment "reference-or-vlaue"; did you mean 007-reference-or-value\? \(/)
  t.match(await unknown('reshrad'), /expected one of: .*012-reshard/)
  t.match(await unknown('002'), /expected one of: .*(001-load|012-reshard)/)
  t.match(await unknown('what'), /expected one of: 001-load, 007-reference-or-value, 012-reshard \(/)
  t.match(await unknown(''), /EXPERIMENT_UNKNOWN/)
  await t.rejects(listExperiments(`${folder}/nowhere`),
    { code: 'EXPERIMENT_UNKNOWN', message: /cannot read the folder of experiments, .*nowhere \(ENOENT\)/ })
})

t.test('a number that two folders have is not guessed', async (t) => {
  const folder = folderOf(t, { '007-another': { 'plan.js': plan('Another?') } })
  await t.rejects(findExperiment(folder, '7'),
    { code: 'EXPERIMENT_UNKNOWN', message: '7 is the number of 007-another and 007-reference-or-value; use the name' })
  t.equal((await findExperiment(folder, 'another')).question, 'Another?')
})

t.test('a plan that cannot be used says why, and does not keep others from being found', async (t) => {
  const checkSettings = (/** @type {any} */ { rate }) => rate < 0 ? ['rate: -1; expected more'] : []
  const folder = folderOf(t, {
    '020-empty': {},
    '021-typo': { 'plan.js': 'export default {' },
    '022-nothing': { 'plan.js': 'export const plan = {}\n' },
    '023-throws': { 'plan.js': 'throw new Error("broken")\n' }
  })
  const rejected = (/** @type {string} */ text, /** @type {RegExp} */ message) =>
    t.rejects(findExperiment(folder, text, { checkSettings }), { code: 'PLAN_INVALID', exitStatus: 2, message })
  await rejected('12', /^plan 012-reshard: fixed: rate: -1; expected more$/)
  await rejected('20', /020-empty: its folder has no plan\.js/)
  await rejected('21', /021-typo: plan\.js cannot be loaded: /)
  await rejected('22', /022-nothing: plan\.js exports nothing; expected export default/)
  await rejected('23', /023-throws: plan\.js cannot be loaded: broken/)
  t.equal((await findExperiment(folder, '1', { checkSettings })).name, '001-load')
})

t.test('what was published is in one file beside the experiments, and in no plan', async (t) => {
  const statements = [
    { study: '001', experiment: '007', says: 'less', of: { arm: 'ids' }, against: { arm: 'blob' }, value: 0.5, from: '1 / 2' },
    { study: '001', experiment: '007', says: 'another', of: { arm: 'ids', measure: 'flushMsP99' }, against: { arm: 'blob' }, value: 2 },
    { study: '001', experiment: '007', says: 'alone', of: { arm: 'ids' }, value: 3 }
  ]
  const figures = { '007': { source: 's', conditions: 'c', unit: 'u', figures: [{ label: 'ids', value: 1, arm: 'ids' }] } }
  const folder = folderOf(t, { 'published.json': JSON.stringify({ studies: {}, figures, statements }) })
  t.match((await findExperiment(folder, '007')).plan.published, {
    ...figures['007'], ratios: [{ arm: 'ids', against: 'blob', value: 0.5, label: 'less: 1 / 2', level: 'one' }]
  })
  t.equal((await findExperiment(folder, '001')).plan.published, null)
  const own = folderOf(t, { '002-own': { 'plan.js': plan('Own?', ", published: { source: 's' }") } })
  await t.rejects(findExperiment(own, '002'), { code: 'PLAN_INVALID', message: /in published\.json/ })
})
