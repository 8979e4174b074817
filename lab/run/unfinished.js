/**
 * The file of an unfinished run, and whether the next run can resume it: only if nothing that affects its figures has changed;
 * otherwise the file is set aside.
 *
 * @typedef {import('../analysis/index.js').Result} Result
 */
import { createHash } from 'node:crypto'
import { rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { readResult, writeResult } from './result.js'

/**
 * @param {string} file
 * @param {Result} fresh of a new run
 * @param {(line: string) => void} report
 * @returns {Promise<Result>} the one to continue
 */
export async function resume (file, fresh, report) {
  if (await stat(file).then(() => false, (error) => error.code === 'ENOENT')) return fresh
  const before = await readResult(file).catch((error) => ({ error }))
  if (!('error' in before) && before.samples.length > 0 && conditionsOf(before) === conditionsOf(fresh)) {
    report(`resuming the run of ${before.startedAt}: ${before.samples.length} of ${fresh.settings.measurements} measurements are complete`)
    before.takenUp = [...before.takenUp ?? [], { at: fresh.startedAt, samples: before.samples.length }]
    return before
  }
  const aside = file.replace(/\.json$/, `-left-${fresh.startedAt.replace(/\D/g, '').slice(0, 14)}.json`)
  await rename(file, aside)
  report('error' in before
    ? `cannot resume an earlier run: ${before.error.message}; it is kept in ${aside}`
    : `an earlier run with other conditions is unfinished; its ${before.samples.length} measurements are kept in ${aside}`)
  return fresh
}

/**
 * Digest of everything that the samples of one run must share.
 * @param {Result} result
 * @returns {string}
 */
export function conditionsOf ({ commit, source, node, machine, settings, plan, format, effective }) {
  const { memoryBytes: _memory, ...stable } = machine
  return createHash('sha1').update(JSON.stringify([format, commit, source, node, stable, settings, plan, effective])).digest('hex')
}

/**
 * Moves a finished run to its folder, which never has incomplete files.
 * @param {string} from @param {string} folder @param {string} name
 * @returns {Promise<string>} where it is now
 */
export async function putAway (from, folder, name) {
  const to = join(folder, name)
  await writeResult(to, await readResult(from))
  await rm(from, { force: true })
  return to
}
