/**
 * Actions on plans and results that measure nothing: list, check, draw.
 */
import { readFile } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { draw as drawSvg } from '../../charts/draw.js'
import { FreshetError } from '../errors.js'
import { analyse } from '../analysis/index.js'
import { outcomeOf } from '../analysis/statements.js'
import { readStudies, sourceOf } from '../plan/published.js'
import { statementsOf, withCounts, withStatements } from '../report/statements.js'
import { findExperiment, listExperiments } from '../plan/catalog.js'
import { checkResult } from '../analysis/check.js'
import { checkHistory, readHistory } from '../systems/auctions/history.js'
import { checkSale } from '../systems/sales/history.js'
import { checkOrders } from '../systems/orders/history.js'
import { checkPrices, readPrices } from '../systems/prices/history.js'
import { isExcused } from '../systems/prices/load.js'
import { drawingOf } from '../report/drawing.js'
import { countedPageOf, markdownOf } from '../report/markdown.js'
import { overTimeOf } from '../report/over-time.js'
import { presented } from '../report/presented.js'
import { newestCounts, newestResult, readResult, writeWhole } from '../run/result.js'
import { CHARTS, EXPERIMENTS } from './places.js'

/** @typedef {import('./run.js').Parts} Parts */

const print = (/** @type {string} */ text) => process.stdout.write(text + '\n')
const shown = (/** @type {string} */ file) => relative(process.cwd(), file) || file

/** @param {Parts} parts @returns {Promise<number>} */
export async function list ({ table }) {
  const experiments = await listExperiments(EXPERIMENTS, table)
  for (const { number, question, arms, minutes, folder, name } of experiments) {
    const newest = await newestResult(folder)
    print(`${number}  ${question}`)
    print(`     ${name}: ${arms.join(' | ')}`)
    print(`     about ${minutes} min${newest ? `; last run ${basename(newest, '.json')}, charts/${name}.md` : '; not run yet'}`)
  }
  print('\nRun one: npm run experiment -- NUMBER [--quick]. Compare any two settings: npm run experiment -- ad-hoc --a "--layout ids" ' +
    '--b "--layout values" --rate 50000')
  return 0
}

/** @param {Parts} _parts @param {string[]} files @returns {Promise<number>} 1 when one has contradictions */
export async function check (_parts, files) {
  const wanted = files.length ? await Promise.all(files.map(fileOf)) : await newestFiles()
  if (wanted.length === 0) print('no experiment has a result yet')
  let status = 0
  for (const file of wanted) {
    if (file.endsWith('.ndjson')) {
      status = Math.max(status, await checkAdmitted(file))
      continue
    }
    const { faults, samples, invalid, ended } = checkResult(await readResult(file))
    print(`${shown(file)}: ${samples} samples, ${invalid} INVALID${ended ? `, ${ended} ended by an error` : ''}; ${faults.length
      ? `${faults.length} ${faults.length === 1 ? 'contradiction' : 'contradictions'}, do not use this file`
      : 'no contradictions'}`)
    for (const fault of faults) print(`  ${fault}`)
    if (faults.length) status = 1
  }
  return status
}

/** Invariants of a history of bids, of a sale, of prices, or of orders. @param {string} file @returns {Promise<number>} */
async function checkAdmitted (file) {
  const text = await readFile(file, 'utf8')
  const [, kind] = /^\{"kind":"(\w+)"/.exec(text) ?? []
  const { invariants, what } = (CHECKED[kind] ?? CHECKED.bids)(text)
  print(`${shown(file)}: ${what}`)
  for (const { name, ok, detail } of invariants) print(`  ${name}: ${ok ? 'yes' : `no (${detail})`}`)
  return invariants.every(({ ok }) => ok) ? 0 : 1
}

/**
 * By the kind of a history; without one, it is of bids.
 * @type {Readonly<Record<string, (text: string) => { invariants: import('../systems/invariants.js').Invariant[], what: string }>>}
 */
const CHECKED = Object.freeze({
  bids (text) {
    const history = readHistory(text)
    return { invariants: checkHistory(history), what: `${history.bids.length} bids, ${history.events.length} events` }
  },
  sale (text) {
    const sale = JSON.parse(text)
    return { invariants: checkSale(sale), what: `${sale.people.length} people, ${sale.stored.rows.length} sold` }
  },
  orders (text) {
    const history = JSON.parse(text)
    return { invariants: checkOrders(history), what: `${history.placed.length} orders of ${history.technique}` }
  },
  prices (text) {
    const history = readPrices(text)
    const invariants = checkPrices(history, isExcused(history.technique))
    return { invariants, what: `${history.heard.length} replies of ${history.technique}` }
  }
})

/** @param {Parts} parts @param {string[]} names @returns {Promise<number>} */
export async function draw ({ table }, names) {
  const experiments = names.length
    ? await Promise.all(names.map((name) => findExperiment(EXPERIMENTS, name, table)))
    : await listExperiments(EXPERIMENTS, table)
  for (const { name, folder, plan } of experiments) {
    const [newest, counts] = [await newestResult(folder), await newestCounts(folder)]
    if (newest === null && counts) {
      const page = join(CHARTS, `${name}.md`)
      await writeWhole(page, countedPageOf(counts, plan))
      print(shown(page))
    } else if (newest === null) print(`${name}: not run yet`)
    else for (const file of await drawResult(newest, CHARTS, name, plan)) print(shown(file))
  }
  await writeStatements(await listExperiments(EXPERIMENTS, table))
  return 0
}

/** What became of published statements, in all pages. @param {import('../plan/catalog.js').Experiment[]} experiments */
async function writeStatements (experiments) {
  const judged = await judgedOf(EXPERIMENTS, experiments)
  const studies = await readStudies(EXPERIMENTS)
  for (const { folder, number } of experiments) {
    const those = judged.filter(({ statement }) => statement.experiment === number)
    const text = await readFile(join(folder, 'README.md'), 'utf8').catch(() => '')
    const { page, beside } = statementsOf(those, sourceOf(studies, number), text)
    await rewritten(join(folder, 'README.md'), (text) => withStatements(text, page))
    await rewritten(join(folder, 'statements.md'), (text) => withStatements(text, beside))
  }
  await rewritten(join(EXPERIMENTS, 'README.md'), (page) => withCounts(page, judged))
}

/** @param {string} file @param {(text: string) => string} change */
async function rewritten (file, change) {
  const text = await readFile(file, 'utf8').catch(() => null)
  if (text !== null && change(text) !== text) await writeWhole(file, change(text))
}

/**
 * @param {string} folder of the experiments
 * @param {import('../plan/catalog.js').Experiment[]} experiments
 * @returns {Promise<import('../report/statements.js').Judged[]>} all statements about experiments that have a result, or were counted
 */
export async function judgedOf (folder, experiments) {
  const { statements } = await readStudies(folder)
  const judged = await Promise.all(experiments.map(async ({ number, folder, plan }) => {
    const those = statements.filter(({ experiment }) => experiment === number)
    const [newest, counts] = those.length > 0 ? [await newestResult(folder), await newestCounts(folder)] : [null, null]
    if (newest === null && counts === null) return []
    const result = newest === null ? { plan, samples: [], ...(counts && { counts }) } : presented(await readResult(newest), plan, counts)
    return those.map((statement) => ({ statement, outcome: outcomeOf(statement, result) }))
  }))
  return judged.flat()
}

/**
 * @param {string} file of a result @param {string} folder @param {string} name of the charts
 * @param {import('../plan/index.js').Plan} current plan, for its words
 * @returns {Promise<string[]>} files written
 */
export async function drawResult (file, folder, name, current) {
  const result = presented(await readResult(file), current, await newestCounts(dirname(dirname(file))))
  const analysis = analyse(result)
  const { plan } = result
  const [svg, markdown] = [join(folder, `${name}.svg`), join(folder, `${name}.md`)]
  await writeWhole(svg, await drawSvg(drawingOf(analysis, result, plan)))
  await writeWhole(markdown, markdownOf(analysis, result, plan, relative(folder, file), `${name}.svg`))
  const overTime = overTimeOf(result, plan)
  if (overTime === null) return [svg, markdown]
  const second = join(folder, `${name}-over-time.svg`)
  await writeWhole(second, await drawSvg(overTime))
  return [svg, markdown, second]
}

/** @param {string} text a file, or an experiment for its newest result @returns {Promise<string>} */
async function fileOf (text) {
  if (/\.(nd)?json$/.test(text)) return text
  const { name, folder } = await findExperiment(EXPERIMENTS, text)
  const newest = await newestResult(folder)
  if (newest === null) throw new FreshetError('RESULT_INVALID', `${name} has no result yet; run it first`)
  return newest
}

/** @returns {Promise<string[]>} */
async function newestFiles () {
  const files = await Promise.all((await listExperiments(EXPERIMENTS)).map(({ folder }) => newestResult(folder)))
  return files.filter((file) => file !== null)
}
