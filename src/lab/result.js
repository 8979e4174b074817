/**
 * The file of a run: conditions on top, then the raw samples, one a measurement. It is written anew after each
 * measurement, beside the old one and then in its place, so that a crash or a full disk leaves the last whole file.
 *
 * @typedef {import('./measures.js').Sample} Sample
 * @typedef {import('./analysis.js').Result} Result
 */
import { randomBytes } from 'node:crypto'
import { mkdir, open, readFile, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { FreshetError } from '../errors.js'

/** Of what is written; a file of another one is refused. */
export const RESULT_FORMAT = 1
/** Of what is being written. */
export const PART = '.part'

const NEEDED = ['experiment', 'engine', 'node', 'machine', 'startedAt', 'settings', 'plan', 'samples']

/**
 * @param {string} file
 * @param {Result} result
 * @throws {FreshetError} RESULT_UNWRITABLE: the file that was there is whole still
 */
export const writeResult = (file, result) => writeWhole(file, textOf(result))

/**
 * All of it or nothing.
 * @param {string} file @param {string} text
 * @throws {FreshetError} RESULT_UNWRITABLE: the file that was there is whole still
 */
export async function writeWhole (file, text) {
  const beside = `${file}.${randomBytes(4).toString('hex')}${PART}`
  try {
    await mkdir(dirname(file), { recursive: true })
    const handle = await open(beside, 'w')
    try {
      await handle.writeFile(text)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(beside, file)
  } catch (error) {
    await rm(beside, { force: true }).catch(() => {})
    throw new FreshetError('RESULT_UNWRITABLE', `what the lab found cannot be written to ${file} (${error.code ?? error.message}); what was written before is whole. Make room there, and run it again: it goes on where it was`, { cause: error })
  }
}

/** A sample a line: people read them, and differences show which was added. @param {Result} result */
function textOf ({ samples, ...top }) {
  const head = JSON.stringify(top, null, 2).slice(0, -2)
  return `${head},\n  "samples": [${samples.map((sample) => `\n    ${JSON.stringify(sample)}`).join(',')}\n  ]\n}\n`
}

/**
 * @param {string} file
 * @returns {Promise<Result>}
 * @throws {FreshetError} RESULT_INVALID: not there, not JSON, of another format, or without what a result has
 */
export async function readResult (file) {
  const invalid = (/** @type {string} */ why) => new FreshetError('RESULT_INVALID', `${file} ${why}`)
  const text = await readFile(file, 'utf8').catch((error) => { throw invalid(`cannot be read (${error.code}); expected a file of experiments/NNN-name/results`) })
  /** @type {any} */
  let result
  try {
    result = JSON.parse(text)
  } catch (error) {
    throw invalid(`is not JSON (${error.message}); expected a file that the lab wrote`)
  }
  if (result === null || typeof result !== 'object' || !('format' in result)) throw invalid('is no result of the lab: it has no format; expected a file that the lab wrote')
  if (result.format !== RESULT_FORMAT) throw invalid(`is of format ${JSON.stringify(result.format)}, this version reads ${RESULT_FORMAT}; read it with the version that wrote it (its commit: ${result.commit ?? 'unknown'}), or run the experiment again`)
  const missing = NEEDED.filter((name) => result[name] === undefined || result[name] === null)
  if (missing.length || !Array.isArray(result.samples)) throw invalid(`lacks ${missing.join(', ') || 'samples'}; expected a file that the lab wrote`)
  return result
}

/** @param {string} startedAt ISO time @returns {string} name of a file, in order of time */
export const resultName = (startedAt) => `${startedAt.replace(/\.\d+Z$/, 'Z').replaceAll(':', '-')}.json`

/** @param {string} folder of one experiment @returns {Promise<string | null>} its newest result */
export async function newestResult (folder) {
  const results = join(folder, 'results')
  const names = await readdir(results).catch(() => [])
  const newest = names.filter((name) => name.endsWith('.json')).sort().at(-1)
  return newest === undefined ? null : join(results, newest)
}
