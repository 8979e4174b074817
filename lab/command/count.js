/**
 * `npm run experiment -- ... --count`: counts the arms of plans. Counts of an experiment stand beside the windows of its newest result; ad
 * hoc, beside those of the run before.
 */
import { mkdir, rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { FreshetError } from '../errors.js'
import { textOfCounts } from '../counting/report.js'
import { countPlan } from '../counting/run.js'
import { expectValgrind } from '../counting/valgrind.js'
import { presented } from '../report/presented.js'
import { newestResult, readResult, resultName, writeWhole } from '../run/result.js'
import { findEngine } from '../servers/engines.js'
import { defaultCacheDir, ROOT } from '../../src/embedded/index.js'
import { LAB } from './places.js'

/** @typedef {import('../plan/index.js').Plan} Plan */

/**
 * Before anything is measured.
 * @param {import('./run.js').Parts} parts @throws {FreshetError} VALGRIND_MISSING, PLAN_INVALID
 */
export async function expectCountable ({ settings, env }) {
  if (settings.target) throw new FreshetError('PLAN_INVALID', '--count starts servers of its own; remove --target')
  await expectValgrind(env)
}

/**
 * @param {import('./run.js').Parts} parts @param {Plan} plan @param {string | null} folder of the experiment; null = ad hoc
 * @param {{ arms: string[], others: string[], result: string | null, report: (line: string) => void }} of `result`: a file with windows;
 *   null = the newest of the experiment
 * @returns {Promise<number>} exit status: 1 when a count is INVALID
 */
export async function countOne ({ settings, env, signal }, plan, folder, { arms, others, result: given, report }) {
  if (plan.counted?.levels?.length === 0) throw new FreshetError('PLAN_INVALID', `${plan.name} is not counted: ${plan.counted.why}`)
  const resultFile = given ?? (folder && await newestResult(folder))
  const place = { env, cacheDir: settings.cacheDir ?? defaultCacheDir(ROOT), report, signal, others }
  const work = join(LAB, 'counting')
  await rm(work, { recursive: true, force: true })
  await mkdir(work, { recursive: true })
  const counts = await countPlan({
    plan,
    arms,
    result: resultFile ? presented(await readResult(resultFile), plan) : null,
    resultFile,
    root: ROOT,
    folder: work,
    engineOf: (wanted) => findEngine(wanted ?? others[0] ?? settings.server, place),
    report,
    signal
  })
  process.stdout.write(`${textOfCounts(counts)}\n`)
  const isWhole = folder !== null && arms.length === 0 && counts.dirty === false && counts.finishedAt !== null
  if (folder !== null && !isWhole) report('a count of some arms, of changed code or cut short does not go to experiments/')
  const file = join(isWhole ? join(folder, 'counts') : join(LAB, 'counts', plan.name), resultName(counts.startedAt))
  await writeWhole(file, JSON.stringify(counts, null, 1) + '\n')
  process.stdout.write(`\ncounts       ${relative(process.cwd(), file)}\n`)
  return counts.cells.some(({ invalid }) => invalid.length > 0) ? 1 : 0
}
