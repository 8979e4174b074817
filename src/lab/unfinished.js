/**
 * A run that is not whole yet: its file, and whether the next run may go on with it. It may when nothing differs that its
 * figures depend on; else it is kept aside.
 *
 * @typedef {import('./analysis.js').Result} Result
 */
import { createHash } from 'node:crypto'
import { rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { readResult, writeResult } from './result.js'

/**
 * @param {string} file
 * @param {Result} fresh what a new run would begin with
 * @param {(line: string) => void} report
 * @returns {Promise<Result>} what to go on with
 */
export async function takeUp (file, fresh, report) {
  if (await stat(file).then(() => false, (error) => error.code === 'ENOENT')) return fresh
  const before = await readResult(file).catch((error) => ({ error }))
  if (!('error' in before) && before.samples.length > 0 && conditionsOf(before) === conditionsOf(fresh)) {
    report(`going on with the run that began at ${before.startedAt}: ${before.samples.length} of ${fresh.settings.measurements} measurements are there`)
    before.takenUp = [...before.takenUp ?? [], { at: fresh.startedAt, samples: before.samples.length }]
    return before
  }
  const aside = file.replace(/\.json$/, `-left-${fresh.startedAt.replace(/\D/g, '').slice(0, 14)}.json`)
  await rename(file, aside)
  report('error' in before
    ? `what an earlier run left cannot be taken up: ${before.error.message}; it is kept in ${aside}`
    : `an earlier run with other conditions was not finished; its measurements (${before.samples.length}) are kept in ${aside}`)
  return fresh
}

/**
 * All that figures of one run must share.
 * @param {Result} result
 * @returns {string}
 */
export function conditionsOf ({ commit, source, node, machine, settings, plan, format, effective }) {
  const { memoryBytes: _memory, ...stable } = machine
  return createHash('sha1').update(JSON.stringify([format, commit, source, node, stable, settings, plan, effective])).digest('hex')
}

/**
 * Where a finished run is put: the file keeps its name until it is whole, so no half result is ever among the whole.
 * @param {string} from @param {string} folder @param {string} name
 * @returns {Promise<string>} where it is now
 */
export async function putAway (from, folder, name) {
  const to = join(folder, name)
  await writeResult(to, await readResult(from))
  await rm(from, { force: true })
  return to
}
