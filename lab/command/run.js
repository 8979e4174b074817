/**
 * Runs experiments: plan, schedule, servers, progress, report, and where the result goes.
 *
 * A run of the whole plan goes to experiments/NNN-name/results, with its chart in charts/. A part of it (quick, some of the
 * arms, fewer rounds) or anything else (ad-hoc, scaled time, other servers) stays in .freshet/lab with its chart.
 */
import { rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { FreshetError } from '../errors.js'
import { analyse } from '../analysis/index.js'
import { findExperiment, listExperiments } from '../plan/catalog.js'
import { claimLab } from '../run/claim.js'
import { adHocPlan } from '../plan/ad-hoc.js'
import { readPlan } from '../plan/index.js'
import { enginesOf, needsShapes } from '../plan/plan-changes.js'
import { tableOf } from '../report/table.js'
import { newestResult, readResult, resultName } from '../run/result.js'
import { newRun, runExperiment } from '../run/index.js'
import { scheduleOf } from '../plan/schedule.js'
import { conditionsOf, putAway } from '../run/unfinished.js'
import { defaultCacheDir, ROOT } from '../../src/embedded/index.js'
import { openGroup } from './aws.js'
import { countOne, expectCountable } from './count.js'
import { drawResult } from './look.js'
import { enginesHere, opener, withEngines } from './servers.js'
import { CHARTS, EXPERIMENTS, FRESHET, LAB } from './places.js'
import { createProgress } from './progress.js'

/**
 * @typedef {import('../plan/index.js').Plan} Plan
 * @typedef {{ settings: any, env: Record<string, string | undefined>, signal: AbortSignal, table: Table }} Parts
 * @typedef {object} Table functions of settings.js
 * @property {(settings: Record<string, unknown>) => string[]} checkSettings
 * @property {(text: string, origin: string) => Record<string, any>} settingsOfFlags
 * @property {(settings: Record<string, unknown>) => Record<string, any>} settledSettings
 * @property {(settings: Record<string, unknown>) => string[]} flagsOf
 */

const report = (/** @type {string} */ line) => process.stderr.write(`experiment: ${line}\n`)
const shown = (/** @type {string} */ file) => relative(process.cwd(), file) || file

/** @param {Parts} parts @param {string[]} names @returns {Promise<number>} */
export async function runNamed (parts, names) {
  const experiments = []
  // find all of them before the first one runs
  for (const name of names) experiments.push(await findExperiment(EXPERIMENTS, name, parts.table))
  return runThese(parts, experiments.map(({ plan, folder }) => ({ plan, folder })))
}

/** @param {Parts} parts @param {string[]} _rest @returns {Promise<number>} */
export async function runAll (parts, _rest) {
  const all = await listExperiments(EXPERIMENTS, parts.table)
  const fit = parts.settings.target ? all.filter(({ plan }) => enginesOf(plan).length === 0 && !needsShapes(plan)) : all
  if (fit.length < all.length) {
    report('skipped, because they need their own servers: ' +
      `${all.filter((one) => !fit.includes(one)).map(({ name }) => name).join(', ')}`)
  }
  return runThese(parts, fit, { skipDone: true })
}

/** @param {Parts} parts @param {string[]} _rest @returns {Promise<number>} */
export function runAdHoc (parts, _rest) {
  const { settings: { a, b, rate, seconds }, table } = parts
  if (a === null || b === null) {
    throw new FreshetError('PLAN_INVALID',
      'ad-hoc compares two settings; expected --a "--layout ids" --b "--layout values", and --rate unless as fast as possible')
  }
  const [ofA, ofB] = [table.settingsOfFlags(a, '--a'), table.settingsOfFlags(b, '--b')]
  const raw = adHocPlan({ a: ofA, b: ofB, aText: a, bText: b, rate: rate ?? 0, ...(seconds && { seconds }) })
  return runThese(parts, [{ plan: readPlan('ad-hoc', raw, table), folder: null }])
}

/**
 * @param {Parts} parts @param {{ plan: Plan, folder: string | null }[]} experiments
 * @param {{ skipDone?: boolean }} [how] skip experiments that have a result under the same conditions, or whose engines are
 *   missing
 */
async function runThese (parts, experiments, { skipDone = false } = {}) {
  // report invalid options before the first one runs
  if (parts.settings.count) await expectCountable(parts)
  for (const { plan } of experiments) scheduleFor(parts, plan)
  const release = await claimLab(LAB)
  /** @type {import('./aws.js').OpenGroup | null} */
  let group = null
  try {
    // left by a run that was killed
    await rm(join(LAB, 'servers'), { recursive: true, force: true })
    if (parts.settings.awsReplicationGroup) group = await openGroup(parts.settings, parts.signal)
    let status = 0
    for (const { plan, folder } of experiments) {
      const run = runOne({ ...parts, group }, plan, folder, skipDone)
      status = Math.max(status, await run.catch((error) => {
        if (!skipDone || error.code !== 'ENGINE_MISSING') throw error
        report(error.message)
        return 1
      }))
    }
    return status
  } finally {
    group?.close()
    await release()
  }
}

/**
 * @param {Parts & { group: import('./aws.js').OpenGroup | null }} parts @param {Plan} written
 * @param {string | null} folder null = ad hoc @param {boolean} skipDone
 */
async function runOne (parts, written, folder, skipDone) {
  const { settings, env, signal, table, group } = parts
  const others = namesIn(settings.engine)
  const counting = { arms: namesIn(settings.arms), others, report }
  // an experiment has its windows already
  if (settings.count && folder !== null) return countOne(parts, written, folder, { ...counting, result: null })
  const place = { env, cacheDir: settings.cacheDir ?? defaultCacheDir(ROOT), report, signal, others }
  const { plan, cells, seconds, warmUpSeconds, dropped } = scheduleFor(parts, await withEngines(written, place))
  for (const line of dropped) report(line)
  const isAsPlanned = plan === written && !settings.target && settings.rttMs === 0 && (others.length === 0 || enginesOf(plan).length > 0)
  const options = {
    seconds,
    warmUpSeconds,
    rounds: Math.max(...cells.map(({ round }) => round)),
    quick: settings.quick,
    rttMs: settings.rttMs,
    target: settings.target ? new URL(settings.target).host + new URL(settings.target).pathname.replace(/^\/0?$/, '') : null,
    ...(group && { aws: group.group }),
    engines: settings.target ? [] : await enginesHere(plan, place, settings),
    arms: [...new Set(cells.map(({ arm }) => arm))],
    measurements: cells.length
  }
  const progress = createProgress({ title: plan.name, seconds: seconds + warmUpSeconds })
  const unfinished = join(LAB, 'unfinished', `${settings.quick ? 'quick-' : ''}${plan.name}.json`)
  const run = {
    plan,
    schedule: cells,
    options,
    unfinished,
    root: ROOT,
    settle: table.settledSettings,
    openServers: (/** @type {string | null} */ engine, /** @type {string | null} */ shape) => opener(parts, { engine, shape }, place),
    percentages: group && !settings.quick ? group.percentages : null,
    onProgress: progress.update,
    report,
    signal,
    env,
    writerCommand: (/** @type {Record<string, unknown>} */ of) => [FRESHET, 'writer', ...table.flagsOf(of), '--log-level', 'warn'],
    readerCommand: (/** @type {Record<string, unknown>} */ of) => [FRESHET, 'reader', ...table.flagsOf(of), '--log-level', 'error'],
    gatewayCommand: (/** @type {Record<string, unknown>} */ of) => [FRESHET, 'gateway', ...table.flagsOf(of), '--log-level', 'error']
  }
  if (skipDone && folder !== null && await isDone(folder, run)) return 0
  const result = await runExperiment(run).finally(progress.close)
  const analysis = analyse(result)
  process.stdout.write(tableOf(analysis, result, plan) + '\n')
  const isFull = folder !== null && isAsPlanned && !settings.quick && settings.arms === null && options.rounds >= written.rounds &&
    seconds >= written.seconds
  if (isFull && result.dirty) report('the code has uncommitted changes, so the result does not go to experiments/')
  const file = await keep({ unfinished, result, folder, isWhole: isFull && !result.dirty, quick: settings.quick })
  const status = analysis.invalid.length + analysis.ended.length > 0 ? 1 : 0
  return settings.count ? Math.max(status, await countOne(parts, plan, folder, { ...counting, result: file })) : status
}

/**
 * @param {Parts} parts @param {Plan} written
 * @throws {FreshetError} PLAN_INVALID: arms, seconds or a target that do not fit the plan
 */
function scheduleFor ({ settings: { rounds, arms, quick, seconds, target, rttMs } }, written) {
  if (target && enginesOf(written).length > 0) {
    throw new FreshetError('PLAN_INVALID', `${written.name} compares engines and needs its own servers; remove --target`)
  }
  if ((target || rttMs > 0) && needsShapes(written)) {
    throw new FreshetError('PLAN_INVALID', `${written.name} starts clusters or Sentinels of its own; remove --target and --rtt-ms`)
  }
  return { plan: written, ...scheduleOf(written, { rounds, arms: namesIn(arms), quick, seconds }) }
}

/** @param {string} folder @param {Parameters<typeof runExperiment>[0]} run whether its newest result is of these very conditions */
async function isDone (folder, run) {
  const newest = await newestResult(folder)
  const before = newest === null ? null : await readResult(newest).catch(() => null)
  if (!before?.finishedAt || conditionsOf(before) !== conditionsOf(await newRun(run))) return false
  report(`${run.plan.name} has a result under these conditions, ${shown(/** @type {string} */ (newest))}; measure it again by its number`)
  return true
}

/** @param {string | null} text names, separated by commas */
const namesIn = (text) => text?.split(',').map((one) => one.trim()).filter(Boolean) ?? []

/**
 * @param {{ unfinished: string, result: import('../analysis/index.js').Result, folder: string | null,
 *   isWhole: boolean, quick: boolean }} run
 */
async function keep ({ unfinished, result, folder, isWhole, quick }) {
  const to = isWhole && folder ? join(folder, 'results') : join(LAB, 'results', result.experiment)
  const file = await putAway(unfinished, to, resultName(result.startedAt))
  process.stdout.write(`\nraw samples  ${shown(file)}\n`)
  if (quick) return file
  const drawn = await drawResult(file, isWhole ? CHARTS : to,
    isWhole ? result.experiment : resultName(result.startedAt).replace(/\.json$/, ''), result.plan)
  process.stdout.write(`chart        ${shown(drawn[0])}\nreport       ${shown(drawn[1])}\n`)
  return file
}
