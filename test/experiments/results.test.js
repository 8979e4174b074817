/**
 * Committed results, the pages and charts drawn from them, and what READMEs say of them hold together.
 */
import { readFile, readdir } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { draw } from '../../charts/draw.js'
import { analyse } from '../../lab/analysis/index.js'
import { listExperiments } from '../../lab/plan/catalog.js'
import { checkResult } from '../../lab/analysis/check.js'
import { drawingOf } from '../../lab/report/drawing.js'
import { countedPageOf, markdownOf } from '../../lab/report/markdown.js'
import { overTimeOf } from '../../lab/report/over-time.js'
import { presented } from '../../lab/report/presented.js'
import { withStatements } from '../../lab/report/statements.js'
import { newestCounts, newestResult, readResult } from '../../lab/run/result.js'
import { countedText, ratioWithInterval, textsOf } from '../../lab/analysis/verdict.js'
import { nightly, scoped, wholeTest } from '../scope.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const CHARTS = join(ROOT, 'charts')
/** such as 0.58 x [0.55-0.61], unless it is of another experiment, to which a link follows */
const RATIO = /\d+\.\d+ x \[\d+\.\d+-\d+\.\d+\](?! \(\[\d{3}\])/g
/** without an interval, unless it is a budget or a prediction */
const BARE = /(?<![\d.])(?<!budgets? |budget of |target |at most |predicted |to )(\d[\d,]*\.\d+) x(?! \[)/g
/** with or without */
const ANY = /(?<![\d.])(\d[\d,]*\.\d+) x/g
/** of another experiment, a budget, or a prediction */
const ELSEWHERE = /\]\(\.\.\/|budget|predicted/i
/** pixels: a chart fits on a screen */
const HIGHEST = 900
const experiments = await listExperiments(join(ROOT, 'experiments'))
/** A result changes rarely, and its statistic takes a third of a second: by day those that were measured last. */
const measured = (await Promise.all(experiments.map(async (one) => ({ ...one, file: await newestResult(one.folder) }))))
  .flatMap(({ file, ...one }) => file === null ? [] : [{ ...one, file }])
  .sort((one, other) => basename(one.file) < basename(other.file) ? -1 : 1)
const looked = nightly(measured, measured.slice(-scoped(5, 3)))
const answers = await readFile(join(ROOT, 'experiments', 'README.md'), 'utf8')

for (const { name, number, folder, file, plan: current } of looked) {
  const raw = await readResult(file)
  const result = presented(raw, current, await newestCounts(folder))
  const analysis = analyse(result)
  const readme = await readFile(join(folder, 'README.md'), 'utf8')
  const results = readme.slice(readme.indexOf('## Results'), readme.indexOf('\n## Caveats'))
  const answer = readme.slice(readme.indexOf('**Answer.**'), readme.indexOf('![finding]'))

  t.test(`${name}: its newest result is whole, of committed code, and without contradictions`, async (t) => {
    t.same(checkResult(raw).faults, [])
    t.equal(result.experiment, name)
    t.equal(result.dirty, false)
    t.ok(result.finishedAt)
    t.equal(result.settings.quick, false)
    t.ok(result.settings.rounds >= 5)
  })

  t.test(`${name}: its chart has a short title, and names of arms that leave room for bars`, async (t) => {
    const { title, rows } = drawingOf(analysis, result, result.plan)
    t.ok(title.length <= 70 && !title.endsWith('...'), title)
    for (const { arm } of rows) t.ok(arm.length <= 32, arm)
  })

  wholeTest(`${name}: page and chart are drawn from it (npm run charts)`, async (t) => {
    const { plan } = result
    t.equal(await readFile(join(CHARTS, `${name}.md`), 'utf8'),
      markdownOf(analysis, result, plan, relative(CHARTS, file), `${name}.svg`))
    t.equal(await readFile(join(CHARTS, `${name}.svg`), 'utf8'), await draw(drawingOf(analysis, result, plan)))
    const overTime = overTimeOf(result, plan)
    if (overTime) t.equal(await readFile(join(CHARTS, `${name}-over-time.svg`), 'utf8'), await draw(overTime))
  })

  t.test(`${name}: its README gives the verdict of that result`, async (t) => {
    const { comparisons, further, across, noise, budgets } = analysis
    const found = [...comparisons, ...further, ...across, ...noise,
      ...budgets.map(({ figure, low, high }) => ({ ratio: figure, low, high }))].map(ratioWithInterval)
    t.match(results, basename(file))
    const ratios = `${answer}${results}`.match(RATIO) ?? []
    t.ok(ratios.length > 0, 'with an interval')
    for (const ratio of ratios) t.ok(found.includes(ratio), ratio)
    for (const { ratio, arms } of ratiosOfArms(results, Object.keys(result.plan.arms))) {
      const those = [...comparisons, ...further, ...across].filter((one) => arms.includes(one.arm) || arms.includes(Object(one).against))
      t.ok(those.some((one) => textsOfRatio(one).includes(ratio)), `${ratio} x is of ${arms.join(', ')}`)
    }
    t.match(readme, /^\*\*Noise\.\*\* .*A\/A/m)
    const row = answers.split('\n').find((line) => line.startsWith(`| [${number}]`)) ?? ''
    t.notMatch(row, /not measured/i)
  })
}

// the statements of a page are compared as a whole (statements.test.js)
t.test('numbers of answers, and ratios in pages, are those of the figures that are drawn from samples (npm run charts)', async (t) => {
  for (const { name, number, folder } of measured) {
    const figures = await readFile(join(CHARTS, `${name}.md`), 'utf8')
    const beside = await readFile(join(folder, 'statements.md'), 'utf8')
    const readme = await readFile(join(folder, 'README.md'), 'utf8')
    const said = withStatements(readme.slice(0, readme.indexOf('### What would')) + readme.slice(readme.indexOf('\n## Method')), '')
    for (const ratio of said.match(RATIO) ?? []) t.ok(isIn(ratio, figures), `${name}: ${ratio}`)
    const row = answers.split('\n').find((line) => line.startsWith(`| [${number}]`)) ?? ''
    const answer = readme.slice(readme.indexOf('**Answer.**'), readme.indexOf('![finding]')).replace(/`[^`]*`/g, '')
    const [value] = answer.match(/\d[\d,]*(\.\d+)?/) ?? []
    t.ok(isIn(String(value), figures), `${name}: ${value}`)
    for (const [decimal] of row.matchAll(/\d[\d,]*\.\d+/g)) t.ok(isIn(decimal, figures), `experiments/README.md, ${number}: ${decimal}`)
    for (const [, ratio] of said.matchAll(BARE)) t.ok(isIn(`${ratio} x`, figures + beside), `${name}: ${ratio} x`)
    for (const [, ratio] of row.matchAll(BARE)) t.ok(isIn(`${ratio} x`, said + beside), `experiments/README.md, ${number}: ${ratio} x`)
  }
})

t.test('an experiment that was counted and has no windows has a page of its counts, with the ratios of its README', async (t) => {
  for (const { name, folder, plan } of experiments) {
    const counts = await newestCounts(folder)
    if (counts === null || await newestResult(folder)) continue
    const page = await readFile(join(CHARTS, `${name}.md`), 'utf8')
    t.equal(page, countedPageOf(counts, plan))
    t.same([counts.dirty, counts.finishedAt !== null, counts.experiment], [false, true, name])
    const readme = await readFile(join(folder, 'README.md'), 'utf8')
    const said = withStatements(readme.slice(0, readme.indexOf('### What would')), '')
    for (const [, ratio] of said.matchAll(BARE)) t.ok(isIn(`${ratio} x`, page), `${name}: ${ratio} x`)
  }
})

t.test('numbers of docs/choosing.md are those of the experiments that its part or line links', async (t) => {
  const text = await readFile(join(ROOT, 'docs', 'choosing.md'), 'utf8')
  const pagesOf = async (/** @type {string} */ part, withFigures = false) => {
    const names = new Set([...part.matchAll(/experiments\/(\d{3}-[a-z0-9-]+)\/README\.md/g)].map(([, name]) => name))
    const files = [...names].flatMap((name) =>
      [`experiments/${name}/README.md`, `experiments/${name}/statements.md`, ...(withFigures ? [`charts/${name}.md`] : [])])
    return (await Promise.all(files.map((file) => readFile(join(ROOT, file), 'utf8')))).join('\n')
  }
  for (const part of text.split('\n## ')) {
    const pages = await pagesOf(part)
    for (const [, ratio] of part.matchAll(BARE)) t.ok(isIn(`${ratio} x`, pages), `${part.slice(0, 30)}: ${ratio} x`)
  }
  for (const line of text.split('\n').filter((line) => line.startsWith('| ') && line.includes('experiments/'))) {
    const figures = await pagesOf(line, true)
    const because = String(line.split(' | ').at(-1)).replace(/\]\([^)]*\)|\[\d{3}|`[^`]*`/g, '')
    for (const [number] of because.matchAll(/(?<![\w.,])\d+(,\d{3})*(\.\d+)?/g)) t.ok(isIn(number, figures), `${number}: ${line}`)
  }
  t.notMatch(text, /not shown|\bis shown\b/)
})

t.test('no title is about samples in which the load was at its own limit', async (t) => {
  for (const { name, file, plan } of measured) {
    const about = plan.chart?.about
    if (!about) continue
    const { samples, plan: { levels } } = presented(await readResult(file), plan)
    const named = about.level ? [about.level] : Object.keys(levels).slice(0, about.against ? undefined : 1)
    t.notOk(samples.some(({ arm, level, marks }) => [about.arm, about.against].includes(arm) && named.includes(level) &&
      marks?.includes('generator-bound')), name)
  }
})

/**
 * Ratios of parts of a page that name arms: such a ratio is of one of these, and not another one that is equal by accident.
 * @param {string} text @param {string[]} all arms of the plan
 */
function ratiosOfArms (text, all) {
  return text.split(/\n(?=[-|\n])/).flatMap((part) => {
    const arms = all.filter((arm) => part.includes(`\`${arm}\``))
    return arms.length === 0 || ELSEWHERE.test(part) ? [] : [...part.matchAll(ANY)].map(([, ratio]) => ({ ratio, arms }))
  })
}

/** @param {{ ratio: number | null, low: number | null, high: number | null, counted?: number | null }} of @returns {string[]} */
function textsOfRatio ({ ratio, low, high, counted = null }) {
  return [ratioWithInterval({ ratio, low, high }).split(' ')[0], ...(ratio === null ? [] : textsOf([ratio])), countedText(counted)]
}

/** As a number of its own. @param {string} text @param {string} figures */
const isIn = (text, figures) => new RegExp(`(?<![\\d.,])${text.replaceAll(/[.[\]]/g, '\\$&')}(?![\\d.])`).test(figures)

t.test('no chart is higher than a screen', async (t) => {
  for (const file of (await readdir(CHARTS)).filter((name) => name.endsWith('.svg'))) {
    const [, height] = /<svg [^>]*height="([\d.]+)"/.exec(await readFile(join(CHARTS, file), 'utf8')) ?? []
    t.ok(Number(height) <= HIGHEST, `${file}: ${height}`)
  }
})
