/**
 * A run: the measurements of the schedule, one after the other, each saved before the next begins. An interrupted run resumes
 * if nothing that affects its figures has changed.
 *
 * @typedef {import('../analysis/index.js').Result} Result
 * @typedef {import('./sample.js').Sample} Sample
 * @typedef {import('../plan/schedule.js').Cell} Cell
 */
import { isToRepeat } from '../analysis/marks.js'
import { measureBlocks } from '../aws/blocks.js'
import { FreshetError } from '../errors.js'
import { measure } from './measurement.js'
import { commitOf, machineFacts } from './machine.js'
import { RESULT_FORMAT, writeResult } from './result.js'
import { partsAt } from '../plan/cells.js'
import { remaining } from '../plan/schedule.js'
import { sourceDigest } from './source.js'
import { resume } from './unfinished.js'

/** of one measurement */
const MOST_REPEATS = 2

/**
 * @typedef {object} Options
 * @property {number} seconds of each window
 * @property {number} warmUpSeconds
 * @property {number} rounds
 * @property {boolean} quick
 * @property {number} rttMs
 * @property {string | null} target host and path, without secrets
 * @property {{ name: string, nodeType: string }} [aws] the replication group of the target; absent = none
 * @property {string[]} engines of the lab's servers, with their versions
 * @property {string[]} arms
 * @property {number} measurements
 */

/** @typedef {Record<string, any>} Settings of the writer, by name */

/**
 * @param {{ plan: import('../plan/index.js').Plan, schedule: Cell[], options: Options, unfinished: string, root: string,
 *   settle: (settings: Settings) => Settings,
 *   openServers: (engine: string | null, shape: string | null) => () => Promise<import('../servers/own.js').LabServers>,
 *   onProgress: (at: { cell: Cell, done: number, of: number, sample?: Sample }) => void, report: (line: string) => void,
 *   signal: AbortSignal, writerCommand: (settings: Settings) => string[],
 *   readerCommand: (settings: Settings) => string[], gatewayCommand: (settings: Settings) => string[],
 *   env: Record<string, string | undefined>, percentages: Parameters<typeof measureBlocks>[0]['percentages'] | null }} run
 *   `unfinished`: the file of the run until it is complete; `settle` fills in the defaults of settings; `openServers` of
 *   an engine, once for each measurement; `percentages` of CloudWatch; null = no blocks for it
 * @returns {Promise<Result>} complete, and written to `unfinished`
 * @throws {FreshetError} LAB_STOPPED, LAB_SOURCE_CHANGED, LAB_NOT_EMPTY, RESULT_UNWRITABLE, ENGINE_MISSING, SERVERS_FAILED, AWS_UNUSABLE,
 *   AWS_FAILED
 */
export async function runExperiment ({
  plan, schedule, options, unfinished, root, settle, openServers, onProgress, report, signal, writerCommand, readerCommand, gatewayCommand,
  env, percentages
}) {
  const fresh = await newRun({ plan, schedule, options, root, settle })
  const result = await resume(unfinished, fresh, report)
  const left = remaining(schedule, result.samples)
  let done = schedule.length - left.length

  /** @param {Cell & { isBlock?: boolean }} cell @param {number} seconds */
  async function measureCell (cell, seconds) {
    if (await sourceDigest(root) !== fresh.source) {
      throw new FreshetError('LAB_SOURCE_CHANGED',
        'the code changed during the run; completed measurements are kept, and the next run starts again')
    }
    const settings = { ...fresh.effective?.[cell.level][cell.aaOf ?? cell.arm], warmUp: cell.warmUpSeconds, duration: seconds }
    const { engine, servers, ...parts } = partsAt(plan, { level: cell.level, arm: cell.aaOf ?? cell.arm })
    return measure({ ...cell, ...parts, settings }, {
      openServers: openServers(engine, servers),
      rttMs: options.rttMs,
      signal,
      writerCommand,
      readerCommand,
      gatewayCommand,
      env
    })
  }

  for (const cell of left) {
    onProgress({ cell, done, of: schedule.length })
    /** @type {Error | null} */
    let leftover = null
    const once = () => measureCell(cell, options.seconds).catch((error) => {
      if (!error.sample || signal.aborted) throw error
      leftover = error
      return error.sample
    })
    const sample = options.quick ? await once() : await undisturbed(once)
    result.samples.push(sample)
    result.notes = notesOf(result)
    result.engine = enginesOf(result.samples)
    await writeResult(unfinished, result)
    onProgress({ cell, done: ++done, of: schedule.length, sample })
    if (leftover) throw leftover
  }
  if (percentages) {
    const blocks = result.blocks ??= []
    await measureBlocks({ schedule, blocks, measure: measureCell, percentages, save: () => writeResult(unfinished, result), report })
  }
  result.finishedAt = new Date().toISOString()
  await writeResult(unfinished, result)
  return result
}

/**
 * Measures again while too much time was stolen, a few times: what remains then is marked.
 * @param {() => Promise<Sample>} measureOnce @returns {Promise<Sample>} `repeated`: how often
 */
export async function undisturbed (measureOnce) {
  let sample = await measureOnce()
  for (let repeated = 1; repeated <= MOST_REPEATS && isToRepeat(sample); repeated++) sample = { ...await measureOnce(), repeated }
  return sample
}

/**
 * A result without samples: the conditions of a run that begins now.
 * @param {{ plan: import('../plan/index.js').Plan, schedule: Cell[], options: Options, root: string,
 *   settle: (settings: Settings) => Settings }} run
 * @returns {Promise<Result>}
 */
export async function newRun ({ plan, schedule, options, root, settle }) {
  return {
    format: RESULT_FORMAT,
    experiment: plan.name,
    ...await commitOf(root),
    source: await sourceDigest(root),
    engine: '',
    ...machineFacts(),
    startedAt: new Date().toISOString(),
    finishedAt: null,
    settings: options,
    plan,
    effective: effectiveSettings(plan, schedule, settle),
    samples: []
  }
}

/** @param {Sample[]} samples @returns {string} engines and versions */
const enginesOf = (samples) => [...new Set(samples.flatMap(({ nodes }) => nodes.map(({ engine }) => engine)))].sort().reverse().join(', ')

/**
 * All settings of every cell, including defaults, which may change in later versions.
 * @param {import('../plan/index.js').Plan} plan @param {Cell[]} schedule @param {(settings: Settings) => Settings} settle
 */
function effectiveSettings ({ arms, levels, fixed }, schedule, settle) {
  /** @type {Record<string, Record<string, Settings>>} */
  const effective = {}
  for (const { level, arm, aaOf } of schedule) {
    if (!aaOf) (effective[level] ??= {})[arm] = settle({ ...fixed, ...levels[level].settings, ...arms[arm].settings })
  }
  return effective
}

/** Notes for the reader of this run. @param {Result} result */
const notesOf = ({ samples, takenUp = [] }) => [...new Set([
  ...samples.flatMap(({ notes = [] }) => notes),
  ...takenUp.map(({ at, samples }) =>
    `the run was interrupted after ${samples} measurements and resumed at ${at}; arms before and after that gap are not interleaved`)
])]
