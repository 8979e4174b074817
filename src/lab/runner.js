/**
 * A run: every measurement of the schedule, one after the other, each written down before the next begins. A run that
 * was interrupted goes on where it was, when nothing that its figures depend on has changed.
 *
 * @typedef {import('./analysis.js').Result} Result
 * @typedef {import('./measures.js').Sample} Sample
 * @typedef {import('./schedule.js').Cell} Cell
 */
import { createHash } from 'node:crypto'
import { rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { measure } from './measurement.js'
import { commitOf, machineFacts } from './machine.js'
import { RESULT_FORMAT, readResult, writeResult } from './result.js'
import { remaining } from './schedule.js'

/** Of settings that a plan may leave out, and the ledger needs. */
const SETTINGS = { ids: 100_000, valueBytes: 128, valueChange: 'always', batchItems: 1000, layout: 'ids', windowMs: 60_000, maxItems: 0, rate: 0, writers: 1 }

/**
 * @typedef {object} Options
 * @property {number} seconds of each window
 * @property {number} warmUpSeconds
 * @property {number} rounds
 * @property {boolean} quick
 * @property {number} timeScale
 * @property {number} rttMs
 * @property {string | null} target address without secrets
 * @property {string[]} engines named ones
 * @property {string[]} arms
 * @property {number} measurements
 */

/**
 * @param {{ plan: import('./plan.js').Plan, schedule: Cell[], options: Options, unfinished: string, root: string,
 *   openServers: (engine: string | null) => () => Promise<import('./servers/own.js').LabServers>,
 *   onProgress: (at: { cell: Cell, done: number, of: number, sample?: Sample }) => void, report: (line: string) => void,
 *   signal: AbortSignal, writerCommand: (settings: Record<string, any>) => string[],
 *   readerCommand: (settings: Record<string, any>) => string[], env: Record<string, string | undefined> }} run
 *   `unfinished`: the file that holds the run until it is whole; `openServers` of an engine, once for each measurement
 * @returns {Promise<Result>} whole, and written to `unfinished`
 * @throws {FreshetError} LAB_STOPPED, RESULT_UNWRITABLE, ENGINE_MISSING, SERVERS_FAILED
 */
export async function runExperiment ({ plan, schedule, options, unfinished, root, openServers, onProgress, report, signal, writerCommand, readerCommand, env }) {
  const fresh = newResult(plan, options, await commitOf(root))
  const result = await takeUp(unfinished, fresh, report)
  const left = remaining(schedule, result.samples)
  let done = schedule.length - left.length
  for (const cell of left) {
    onProgress({ cell, done, of: schedule.length })
    const sample = await measure({ ...cell, load: loadOf(plan, cell), settings: settingsOf(plan, cell, options), serving: servingOf(plan, cell) }, {
      openServers: openServers(engineOf(plan, cell)), rttMs: options.rttMs, signal, writerCommand, readerCommand, env
    })
    result.samples.push(sample)
    result.notes = [...new Set(result.samples.flatMap(({ notes = [] }) => notes))]
    result.engine = enginesOf(result.samples)
    await writeResult(unfinished, result)
    onProgress({ cell, done: ++done, of: schedule.length, sample })
  }
  result.finishedAt = new Date().toISOString()
  await writeResult(unfinished, result)
  return result
}

/** @param {import('./plan.js').Plan} plan @param {Options} options @param {Awaited<ReturnType<typeof commitOf>>} version @returns {Result} */
const newResult = (plan, options, { commit, dirty }) => /** @type {Result} */ (/** @type {unknown} */ ({
  format: RESULT_FORMAT,
  experiment: plan.name,
  commit,
  dirty,
  engine: '',
  ...machineFacts(),
  startedAt: new Date().toISOString(),
  finishedAt: null,
  settings: options,
  plan,
  samples: []
}))

/**
 * What a run before this one has left, if it would be the same run.
 * @param {string} file @param {Result} fresh @param {(line: string) => void} report
 */
async function takeUp (file, fresh, report) {
  if (await stat(file).then(() => false, (error) => error.code === 'ENOENT')) return fresh
  const before = await readResult(file).catch((error) => ({ error }))
  if (!('error' in before) && before.samples.length > 0 && conditionsOf(before) === conditionsOf(fresh)) {
    report(`going on with the run that began at ${before.startedAt}: ${before.samples.length} of ${fresh.settings.measurements} measurements are there`)
    return before
  }
  const aside = file.replace(/\.json$/, `-left-${fresh.startedAt.replace(/\D/g, '').slice(0, 14)}.json`)
  await rename(file, aside)
  report('error' in before
    ? `what an earlier run left cannot be taken up: ${before.error.message}; it is kept in ${aside}`
    : `an earlier run with other conditions was not finished; its measurements (${before.samples.length}) are kept in ${aside}`)
  return fresh
}

/** All that figures of one run must share. @param {Result} result */
function conditionsOf ({ commit, dirty, node, machine, settings, plan, format }) {
  const { memoryBytes: _memory, ...stable } = machine
  return createHash('sha1').update(JSON.stringify([format, commit, dirty, node, stable, settings, plan])).digest('hex')
}

/** @param {Sample[]} samples @returns {string} engines and versions that were measured */
const enginesOf = (samples) => [...new Set(samples.flatMap(({ nodes }) => nodes.map(({ engine }) => engine)))].sort().reverse().join(', ')

/** @param {import('./plan.js').Plan} plan @param {Cell} cell */
const loadOf = (plan, { arm, aaOf }) => plan.arms[aaOf ?? arm].load ?? 'writer'

/** @param {import('./plan.js').Plan} plan @param {Cell} cell */
const servingOf = (plan, { arm, aaOf }) => plan.arms[aaOf ?? arm].serving

/** @param {import('./plan.js').Plan} plan @param {Cell} cell @returns {string | null} null = the default */
const engineOf = (plan, { level, arm, aaOf }) => plan.arms[aaOf ?? arm].engine ?? plan.levels[level].engine ?? null

/** @param {import('./plan.js').Plan} plan @param {Cell} cell @param {Options} options */
const settingsOf = (plan, { level, arm, aaOf, warmUpSeconds }, { seconds }) => ({
  ...SETTINGS,
  ...plan.fixed,
  ...plan.levels[level].settings,
  ...plan.arms[aaOf ?? arm].settings,
  warmUp: warmUpSeconds,
  duration: seconds
})

/**
 * Where a finished run is put: the file keeps its name until it is whole, so no half result is ever among the whole.
 * @param {string} from @param {string} folder @param {string} name
 * @returns {Promise<string>} where it is now
 */
export async function putAway (from, folder, name) {
  const to = join(folder, name)
  const result = await readResult(from)
  await writeResult(to, result)
  await rm(from, { force: true })
  return to
}
