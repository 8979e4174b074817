/**
 * The result file of a run: conditions first, then the raw samples, one for each measurement. It is replaced atomically after
 * each measurement, so that a crash or a full disk leaves the last complete file.
 *
 * @typedef {import('./sample.js').Sample} Sample
 * @typedef {import('../analysis/index.js').Result} Result
 */
import { randomBytes } from 'node:crypto'
import { mkdir, open, readFile, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { FreshetError } from '../errors.js'

/** Files with another format are refused. */
export const RESULT_FORMAT = 1
/** suffix of the temporary file */
const PART = '.part'

const NEEDED = ['experiment', 'engine', 'node', 'machine', 'startedAt', 'settings', 'plan', 'samples']

/**
 * @param {string} file
 * @param {Result} result
 * @throws {FreshetError} RESULT_UNWRITABLE: the previous file is unchanged
 */
export const writeResult = (file, result) => writeWhole(file, textOf(result))

/**
 * Writes a file atomically.
 * @param {string} file @param {string} text
 * @throws {FreshetError} RESULT_UNWRITABLE: the previous file is unchanged
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
    throw new FreshetError('RESULT_UNWRITABLE', `cannot write the result to ${file} (${error.code ?? error.message}); the previous file ` +
      'is complete. Free disk space and run it again: it resumes there', { cause: error })
  }
}

/** One sample a line, for readable diffs. @param {Result} result */
function textOf ({ samples, ...top }) {
  const head = JSON.stringify(top, null, 2).slice(0, -2)
  return `${head},\n  "samples": [${samples.map((sample) => `\n    ${JSON.stringify(sample)}`).join(',')}\n  ]\n}\n`
}

/**
 * @param {string} file
 * @returns {Promise<Result>}
 * @throws {FreshetError} RESULT_INVALID: missing, not JSON, of another format, or incomplete
 */
export async function readResult (file) {
  const invalid = (/** @type {string} */ why) => new FreshetError('RESULT_INVALID', `${file} ${why}`)
  const text = await readFile(file, 'utf8')
    .catch((error) => { throw invalid(`cannot be read (${error.code}); expected a file of experiments/NNN-name/results`) })
  /** @type {any} */
  let result
  try {
    result = JSON.parse(text)
  } catch (error) {
    throw invalid(`is not JSON (${error.message}); expected a file that the lab wrote`)
  }
  if (result === null || typeof result !== 'object' || !('format' in result)) {
    throw invalid('is not a result of the lab: it has no format field')
  }
  if (result.format !== RESULT_FORMAT) {
    throw invalid(`has format ${JSON.stringify(result.format)}; this version reads ${RESULT_FORMAT}. Use the version that wrote it ` +
      `(commit ${result.commit ?? 'unknown'}), or run the experiment again`)
  }
  const missing = NEEDED.filter((name) => result[name] === undefined || result[name] === null)
  if (missing.length || !Array.isArray(result.samples)) {
    throw invalid(`lacks ${missing.join(', ') || 'samples'}; expected a file that the lab wrote`)
  }
  return result
}

/**
 * @param {string} folder of one experiment
 * @returns {Promise<import('../counting/report.js').Counts | null>} its newest count; null = it was not counted
 */
export async function newestCounts (folder) {
  const counts = join(folder, 'counts')
  const names = await readdir(counts).catch(() => [])
  const newest = names.filter((name) => name.endsWith('.json')).sort().at(-1)
  return newest === undefined ? null : JSON.parse(await readFile(join(counts, newest), 'utf8'))
}

/** @param {string} startedAt ISO time @returns {string} name of a file, sortable by time */
export const resultName = (startedAt) => `${startedAt.replace(/\.\d+Z$/, 'Z').replaceAll(':', '-')}.json`

/** @param {string} folder of one experiment @returns {Promise<string | null>} its newest result */
export async function newestResult (folder) {
  const results = join(folder, 'results')
  const names = await readdir(results).catch(() => [])
  const newest = names.filter((name) => name.endsWith('.json')).sort().at(-1)
  return newest === undefined ? null : join(results, newest)
}
