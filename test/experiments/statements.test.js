/**
 * What became of each published statement is computed: no page says anything else, and an edited verdict, value or direction is found.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { listExperiments } from '../../lab/plan/catalog.js'
import { readStudies, sourceOf } from '../../lab/plan/published.js'
import { judgedOf } from '../../lab/command/look.js'
import { statementsOf, withCounts, withStatements } from '../../lab/report/statements.js'
import { PUBLISHED } from '../../bin/plan/model.js'
import { ROOT } from '../architecture/source.js'

const FOLDER = join(ROOT, 'experiments')
const experiments = await listExperiments(FOLDER)
const studies = await readStudies(FOLDER)
const judged = await judgedOf(FOLDER, experiments)
const index = await readFile(join(FOLDER, 'README.md'), 'utf8')
const pages = new Map(await Promise.all(experiments.map(async ({ number, folder }) =>
  /** @type {const} */ ([number, await readFile(join(folder, 'README.md'), 'utf8')]))))
const pageOf = (/** @type {string} */ number) => pages.get(number) ?? ''

t.test('every statement has its outcome in the page of its experiment, which is that of the samples (npm run charts)', async (t) => {
  t.equal(judged.length, studies.statements.length, 'each is about an experiment that has a result')
  for (const { number, folder } of experiments) {
    const those = judged.filter(({ statement }) => statement.experiment === number)
    const { page, beside } = statementsOf(those, sourceOf(studies, number), pageOf(number))
    const text = await readFile(join(folder, 'statements.md'), 'utf8')
    t.ok(pageOf(number).includes(page) && text.includes(beside), number)
    t.equal(withStatements(pageOf(number), page) + withStatements(text, beside), pageOf(number) + text, number)
  }
})

t.test('the column of directions in the page of a chart is what became of the statement', async (t) => {
  const text = { confirmed: 'yes', refuted: '**no**', 'no measurable difference': 'no difference', 'not measured': 'unknown' }
  const named = Object.fromEntries(experiments.map(({ number, name }) => [number, name]))
  const charts = new Map(await Promise.all(Object.keys(studies.figures).map(async (number) =>
    /** @type {const} */ ([number, await readFile(join(ROOT, 'charts', `${named[number]}.md`), 'utf8')]))))
  let rows = 0
  for (const { statement: { experiment, says, from }, outcome } of judged) {
    const row = (charts.get(experiment) ?? '').split('\n').find((line) => line.startsWith('| `') && line.includes(`: ${says}: ${from} |`))
    if (row === undefined) continue
    rows++
    t.equal(row.split(' | ').at(-1), `${text[outcome.became]} |`, `${experiment}: ${says}`)
  }
  t.ok(rows > 20, `${rows} rows`)
})

t.test('the page of all experiments has the numbers of each study', async (t) => {
  t.equal(withCounts(index, judged), index)
  for (const study of Object.keys(studies.studies)) t.match(index, new RegExp(`\n### ${study}: .*\n\n\\*\\*Statements: `))
})

t.test('a published ratio follows from published figures', async (t) => {
  for (const { says, value, from } of studies.statements.filter(({ from }) => from !== undefined)) {
    const [, above, below, times] = /^([\d.]+) \/ ([\d.]+)(?: x ([\d.]+))?$/.exec(String(from)) ?? []
    t.equal(value, Math.round(1000 * Number(above) / Number(below) * Number(times ?? 1)) / 1000, `${says}: ${from}`)
  }
})

t.test('npx freshet plan, which is installed without experiments, has the same published figures', async (t) => {
  const figures = Object.values(studies.figures).flatMap(({ figures }) => figures)
  for (const { node, writers, itemsPerSecond, primary } of PUBLISHED) {
    const each = (itemsPerSecond / writers).toLocaleString('en')
    const isSame = (/** @type {{ label: string, value: number }} */ { label, value }) =>
      label.startsWith(node) && value === primary && (label.includes(`${writers} writers x ${each}`) || label.includes('USD/h'))
    t.ok(figures.some(isSame), `${node}, ${writers} writers x ${each}`)
  }
})

t.test('what is not measured has a reason, which is not that it takes time', async (t) => {
  for (const { statement: { says, why }, outcome } of judged) {
    t.equal(outcome.became === 'not measured', why !== undefined, says)
    if (why !== undefined) t.ok(why.length > 20 && !/\btoo long\b|minutes|hours|no time/.test(why), `${says}: ${why}`)
  }
})

t.test('a value, a direction or a verdict that is edited in a page is found', async (t) => {
  const [{ statement, outcome }] = judged.filter(({ outcome }) => outcome.became === 'confirmed' && outcome.ratio)
  const textOf = (/** @type {object} */ edited, /** @type {object} */ became = {}) => statementsOf(
    [({ statement: { ...statement, ...edited }, outcome: { ...outcome, ...became } })], '').page
  t.not(textOf({ value: 2 * Number(statement.value) }), textOf({}))
  t.not(textOf({ value: undefined, from: undefined, direction: 'more' }), textOf({}))
  t.not(textOf({}, { became: 'refuted' }), textOf({}))
})

t.test('no plan has published figures of its own, and no page an outcome or a published number beside the computed ones', async (t) => {
  for (const { number, folder } of experiments) {
    t.notMatch(await readFile(join(folder, 'plan.js'), 'utf8'), /^ {2}published:/m, number)
    for (const text of [pageOf(number), await readFile(join(folder, 'statements.md'), 'utf8')]) {
      const [prose] = text.replace(/<!-- statements[\s\S]*?<!-- \/statements -->/, '').split('## Prediction')
      t.notMatch(prose, /\| (confirmed|refuted|no measurable difference|not measured) \||\(published [\d.]/, number)
    }
  }
  const [, ...groups] = index.replaceAll(/^\*\*Statements: .*$/gm, '').split('\n### ')
  t.notMatch(groups.join(), /\(published [\d.]|confirmed|refuted|undecided/)
})
