/**
 * Every committed plan can be run, keeps to its time, and says what it must; its README and the list of all agree.
 */
import t from 'tap'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { checkSettings } from '../../settings.js'
import { listExperiments } from '../../lab/plan/catalog.js'
import { readPlan } from '../../lab/plan/index.js'
import { readStudies } from '../../lab/plan/published.js'
import { minutesOf, scheduleOf, secondsOf } from '../../lab/plan/schedule.js'
import { MOST_WORDS, wordsOf } from '../../lab/report/statements.js'
import { layoutNames } from '../../src/layouts/index.js'
import { ackNames } from '../../src/pipeline/acks.js'
import { ROOT } from '../architecture/source.js'
import { exampleOf } from '../docs/examples.js'

const FOLDER = join(ROOT, 'experiments')
const KNOWN = {
  checkSettings: (/** @type {any} */ settings, /** @type {'writer' | 'reader' | undefined} */ command) =>
    checkSettings(settings, { layouts: layoutNames(), acks: ackNames() }, command)
}
const MOST_MINUTES = 15
/** of a system, such as auctions: an experiment ends within three hours */
const MOST_MINUTES_OF_SYSTEM = 180
const MOST_MINUTES_OF_ALL = 210
const PUBLISHED = 'README of luciopaiva/redis-nodejs-test, experiments/sorted-set-of-byte-arrays (2021)'
/** The questions of the published experiment; later ones are ours, and may have nothing published beside them. */
const LAST_PUBLISHED = '012'
/** items/s of which a run is more than memory should hold */
const FAST = 200_000
const ANSWER_WORDS = 25
/** lines of A4 paper, with tables of two columns */
const INDEX_LINES = 100

const experiments = await listExperiments(FOLDER, KNOWN)
/** @typedef {import('../../lab/plan/index.js').Plan} Plan */
const isOfSystem = (/** @type {Plan} */ { arms }) => Object.values(arms).some(({ contention }) => contention)
const ofFeeds = experiments.filter(({ plan }) => !isOfSystem(plan))
const index = await readFile(join(FOLDER, 'README.md'), 'utf8')

t.test('the experiments are there, and every plan can be run', async (t) => {
  t.same(experiments.map(({ number }) => number),
    ['001', '002', '003', '004', '005', '006', '007', '008', '009', '010', '011', '012', '013', '014', '015', '016', '018', '019', '020',
      '021', '022', '023', '024', '025', '026', '027', '028', '029', '030', '031', '032', '033', '034', '035', '036', '037', '038', '039'])
})

t.test('every experiment keeps to its time, and all of them to theirs', async (t) => {
  let all = 0
  for (const { name, plan } of experiments) {
    const schedule = scheduleOf(plan)
    const minutes = minutesOf(schedule)
    t.ok(minutes <= (isOfSystem(plan) ? MOST_MINUTES_OF_SYSTEM : MOST_MINUTES), `${name} takes ${minutes} minutes`)
    if (!isOfSystem(plan)) all += secondsOf(schedule) / 60
  }
  t.ok(all <= MOST_MINUTES_OF_ALL, `all take ${all} minutes`)
})

t.test('nothing is trimmed during a run that does not say so', async (t) => {
  for (const { name, plan } of ofFeeds) {
    t.match(plan.fixed, { maxItems: 0, windowMs: 60_000 }, name)
    const trimming = Object.entries(plan.levels).filter(([, { settings }]) => settings.maxItems)
    t.same(trimming.filter(([, { settings }]) => settings.rate !== 0 && Number(settings.rate) < FAST), [],
      `${name}: only as fast as possible memory would not hold it`)
    if (trimming.length) t.match(plan.differs.join(), /trim/, name)
    t.ok(plan.seconds + plan.warmUpSeconds < 30, name)
  }
})

t.test('every plan has a prediction for its arms, what differs, what it does not control, and published figures', async (t) => {
  for (const { name, number, plan: { arms, baseline, expected, differs, notControlled, published } } of experiments) {
    const predicted = new Set(expected.map(({ arm }) => arm))
    t.same(Object.keys(arms).filter((arm) => arm !== baseline && !predicted.has(arm)), [], name)
    t.ok(differs.length > 0 && notControlled.length > 0, name)
    if (number > LAST_PUBLISHED && (!published || Object.values(arms).some(({ contention }) => contention))) continue
    t.equal(published?.source, PUBLISHED, name)
    t.ok(published && published.figures.length > 0, name)
    t.match(published?.unit, /50 = one core|^ms an answer$|^shards removed/, name)
  }
})

t.test('every experiment has a README, and its arms beside it', async (t) => {
  for (const { name, number, folder, plan } of experiments) {
    const [page, beside] = await Promise.all(['README.md', 'statements.md'].map((one) => readFile(join(folder, one), 'utf8')))
    const arms = beside.slice(beside.indexOf('\n## Arms\n'))
    t.ok(page.startsWith(`# ${number}: ${plan.title}\n\n**Answer.** `), name)
    t.ok(page.includes(`\`npm run experiment -- ${number}`), `${name}: how to run it`)
    for (const arm of Object.keys(plan.arms)) t.ok(arms.includes(`\`${arm}\``), `${name} speaks of ${arm}`)
  }
})

t.test('every README begins with a short answer, has the chart, and fits on a page', async (t) => {
  for (const { name, folder } of experiments) {
    const page = await readFile(join(folder, 'README.md'), 'utf8')
    const isMeasured = existsSync(join(folder, 'results'))
    t.equal(page.includes(`![finding](../../charts/${name}.svg)`), isMeasured, `${name}: the chart`)
    t.ok(wordsOf(page) <= MOST_WORDS, name)
    const [, answer] = /^\*\*Answer\.\*\* (.*)\n\n/m.exec(page) ?? []
    t.ok(answer.split(/\s+/).length <= ANSWER_WORDS, `${name}: ${answer}`)
  }
})

t.test('experiments/README.md is a page, has a verdict on each published study, and each experiment once, with its title', async (t) => {
  t.ok(index.split('\n').length <= INDEX_LINES)
  const { studies } = await readStudies(FOLDER)
  for (const study of Object.keys(studies)) t.match(index, new RegExp(`\n### ${study}: .+\n\n\\*\\*.+`))
  t.notMatch(index, /^#.*\b00\d\b/m, 'studies have names, not the numbers of experiments')
  const rows = [...index.matchAll(/^\| \[(\d{3})\]\((.+)\/README\.md\) \| (.+?) \| (.+) \|$/gm)]
    .map(([, number, name, title, answer]) => ({ number, name, title, answer }))
  t.same(rows.map(({ number, name, title }) => ({ number, name, title })).sort((a, b) => Number(a.number) - Number(b.number)),
    experiments.map(({ number, name, plan: { title } }) => ({ number, name, title })))
  t.ok(rows.every(({ answer }) => answer.length > 5))
})

t.test('the plan that docs/measuring.md shows can be run', async (t) => {
  const [code] = await exampleOf('docs/measuring.md', 'plan')
  const { default: raw } = await import(`data:text/javascript,${encodeURIComponent(code)}`)
  t.match(readPlan('013-longer-batches', raw, KNOWN), { number: '013', baseline: '5 ms' })
})
