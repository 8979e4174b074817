/**
 * Runs experiments: plan, schedule, servers, progress, report, and where the result is put.
 *
 * A run that is the plan's whole goes to experiments/NNN-name/results and is drawn into charts/. Anything less (quick,
 * some of the arms, fewer rounds) or other than the plan (ad-hoc, scaled time, other servers) stays in .freshet/lab with its
 * chart.
 */
import { rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { FreshetError } from '../../src/errors.js'
import { analyse } from '../../src/lab/analysis.js'
import { findExperiment, listExperiments } from '../../src/lab/catalog.js'
import { claimLab } from '../../src/lab/claim.js'
import { adHocPlan, readPlan, timeScaled } from '../../src/lab/plan.js'
import { enginesOf, withoutEngines } from '../../src/lab/plan-engines.js'
import { tableOf } from '../../src/lab/report/table.js'
import { resultName } from '../../src/lab/result.js'
import { putAway, runExperiment } from '../../src/lab/runner.js'
import { scheduleOf } from '../../src/lab/schedule.js'
import { findEngine } from '../../src/lab/servers/engines.js'
import { openOwnServers } from '../../src/lab/servers/own.js'
import { openTarget } from '../../src/lab/servers/target.js'
import { ROOT } from '../../src/store/target.js'
import { defaultCacheDir } from '../../src/store/embedded/client.js'
import { drawResult } from './look.js'
import { CHARTS, EXPERIMENTS, FRESHET, LAB } from './places.js'
import { createProgress } from './progress.js'

/**
 * @typedef {{ settings: any, env: Record<string, string | undefined>, signal: AbortSignal, table: Table }} Parts
 * @typedef {object} Table the functions of settings.js that the lab is handed
 * @property {(settings: Record<string, unknown>) => string[]} checkSettings
 * @property {(text: string, origin: string) => Record<string, any>} settingsOfFlags
 * @property {(settings: Record<string, unknown>) => string[]} flagsOf
 */

const report = (/** @type {string} */ line) => process.stderr.write(`experiment: ${line}\n`)
const shown = (/** @type {string} */ file) => relative(process.cwd(), file) || file

/** @param {Parts} parts @param {string[]} names @returns {Promise<number>} */
export async function runNamed (parts, names) {
  const experiments = []
  // all of them are found before the first takes its minutes
  for (const name of names) experiments.push(await findExperiment(EXPERIMENTS, name, parts.table))
  return runThese(parts, experiments.map(({ plan, folder }) => ({ plan, folder })))
}

/** @param {Parts} parts @param {string[]} _rest @returns {Promise<number>} */
export const runAll = async (parts, _rest) => runThese(parts, await listExperiments(EXPERIMENTS, parts.table))

/** @param {Parts} parts @param {string[]} _rest @returns {Promise<number>} */
export function runAdHoc (parts, _rest) {
  const { settings: { a, b, rate, seconds }, table } = parts
  if (a === null || b === null) throw new FreshetError('PLAN_INVALID', 'ad-hoc compares two settings; expected --a "--layout ids" --b "--layout values", and --rate if it is not to go flat out')
  const raw = adHocPlan({ a: table.settingsOfFlags(a, '--a'), b: table.settingsOfFlags(b, '--b'), aText: a, bText: b, rate: rate ?? 0, ...(seconds && { seconds }) })
  return runThese(parts, [{ plan: readPlan('ad-hoc', raw, table), folder: null }])
}

/** @param {Parts} parts @param {{ plan: import('../../src/lab/plan.js').Plan, folder: string | null }[]} experiments */
async function runThese (parts, experiments) {
  const release = await claimLab(LAB)
  try {
    // what a run left that was killed
    await rm(join(LAB, 'servers'), { recursive: true, force: true })
    let status = 0
    for (const { plan, folder } of experiments) status = Math.max(status, await runOne(parts, plan, folder))
    return status
  } finally {
    await release()
  }
}

/** @param {Parts} parts @param {import('../../src/lab/plan.js').Plan} written @param {string | null} folder null = ad hoc */
async function runOne (parts, written, folder) {
  const { settings, env, signal, table } = parts
  const place = { env, cacheDir: settings.cacheDir ?? defaultCacheDir(ROOT), report, signal, others: settings.engine?.split(',').map((/** @type {string} */ one) => one.trim()) ?? [] }
  const scaled = settings.timeScale === 1 ? written : timeScaled(written, settings.timeScale)
  const plan = await withEngines(scaled, place, settings)
  const { cells, seconds, warmUpSeconds, dropped } = scheduleOf(plan, { rounds: settings.rounds, arms: settings.arms?.split(',').map((/** @type {string} */ one) => one.trim()), quick: settings.quick, seconds: settings.seconds })
  for (const line of dropped) report(line)
  const options = {
    seconds,
    warmUpSeconds,
    rounds: Math.max(...cells.map(({ round }) => round)),
    quick: settings.quick,
    timeScale: settings.timeScale,
    rttMs: settings.rttMs,
    target: settings.target ? new URL(settings.target).host : null,
    engines: place.others,
    arms: [...new Set(cells.map(({ arm }) => arm))],
    measurements: cells.length
  }
  const progress = createProgress({ title: plan.name, seconds: seconds + warmUpSeconds })
  const unfinished = join(LAB, 'unfinished', `${settings.quick ? 'quick-' : ''}${plan.name}.json`)
  const result = await runExperiment({
    plan,
    schedule: cells,
    options,
    unfinished,
    root: ROOT,
    openServers: (engine) => opener(parts, engine, place),
    onProgress: progress.update,
    report,
    signal,
    env,
    writerCommand: (of) => [FRESHET, 'writer', ...table.flagsOf(of), '--log-level', 'warn'],
    readerCommand: (of) => [FRESHET, 'reader', ...table.flagsOf(of), '--log-level', 'error']
  }).finally(progress.close)
  const analysis = analyse(result)
  process.stdout.write(tableOf(analysis, result, plan) + '\n')
  const isAsPlanned = plan === written && !settings.target && settings.rttMs === 0 && (settings.engine === null || enginesOf(plan).length > 0)
  const isWhole = folder !== null && isAsPlanned && !settings.quick && settings.arms === null && options.rounds >= written.rounds && seconds >= written.seconds
  await keep({ unfinished, result, folder, isWhole, quick: settings.quick })
  return analysis.invalid.length ? 1 : 0
}

/**
 * @param {{ unfinished: string, result: import('../../src/lab/analysis.js').Result, folder: string | null, isWhole: boolean, quick: boolean }} run
 */
async function keep ({ unfinished, result, folder, isWhole, quick }) {
  const to = isWhole && folder ? join(folder, 'results') : join(LAB, 'results', result.experiment)
  const file = await putAway(unfinished, to, resultName(result.startedAt))
  process.stdout.write(`\nraw samples  ${shown(file)}\n`)
  if (quick) return
  const drawn = await drawResult(file, isWhole ? CHARTS : to, isWhole ? result.experiment : resultName(result.startedAt).replace(/\.json$/, ''))
  process.stdout.write(`chart        ${shown(drawn[0])}\nreport       ${shown(drawn[1])}\n`)
}

/**
 * Leaves out arms and levels whose engine is not here, and says so.
 * @param {import('../../src/lab/plan.js').Plan} plan @param {Parameters<typeof findEngine>[1]} place @param {any} settings
 */
async function withEngines (plan, place, { target }) {
  const engines = enginesOf(plan)
  if (engines.length > 0 && target) throw new FreshetError('PLAN_INVALID', `${plan.name} compares engines, so it needs servers of its own; expected no --target`)
  /** @type {string[]} */
  const absent = []
  for (const engine of engines) {
    await findEngine(engine, place).catch((error) => {
      if (error.code !== 'ENGINE_MISSING') throw error
      absent.push(engine)
    })
  }
  if (absent.length > 0) report(`left out, no such engine here: ${absent.join(', ')}; name its program with --engine`)
  return withoutEngines(plan, absent)
}

/** @param {Parts} parts @param {string | null} engine @param {Parameters<typeof findEngine>[1]} place */
function opener ({ settings, signal }, engine, place) {
  if (settings.target) return () => openTarget({ url: settings.target, replicaUrls: settings.replicaUrl, deadlineMs: settings.deadlineMs ?? 5000 })
  return async () => openOwnServers({ program: (await findEngine(engine ?? place.others?.[0] ?? null, place)).program, replicas: 2, folder: join(LAB, 'servers'), signal, report })
}
