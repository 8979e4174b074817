/**
 * The pinned dynalite, a DynamoDB in JavaScript: packages on npm, fetched when a command first needs it, so that
 * other users do not install them.
 * `npm ci` downloads them, because npm already knows the registry, proxy and certificates of the machine, and checks the hashes of
 * pinned-lock.json. No script of a package runs: the one that would compile is only for data on disk.
 */
import { execFile } from 'node:child_process'
import { access, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { fetchOnce } from '../fetch-once.js'

const run = promisify(execFile)

export const VERSION = '4.0.0'
const FETCH_DEADLINE_MS = 120_000
const LOCK = new URL('pinned-lock.json', import.meta.url)

/**
 * @param {{ cacheDir: string, report: (line: string) => void, signal?: AbortSignal }} options
 * @returns {Promise<string>} the folder with node_modules
 * @throws {import('../../errors.js').FreshetError} ENGINE_MISSING
 */
export const pinnedDynalite = ({ cacheDir, report, signal }) => fetchOnce({
  folder: folderOf(cacheDir),
  isThere: () => hasDynalite(cacheDir),
  name: `dynalite ${VERSION}`,
  megabytes: 3,
  instead: 'use --dynamodb-endpoint with the URL of a DynamoDB of yours',
  fetch: (workshop) => install(workshop, signal),
  report,
  signal
})

/** Whether it was fetched. @param {string} cacheDir @returns {Promise<boolean>} */
export const hasDynalite = (cacheDir) =>
  access(join(folderOf(cacheDir), 'node_modules', 'dynalite')).then(() => true, () => false)

const folderOf = (/** @type {string} */ cacheDir) => join(cacheDir, 'engines', `dynalite-${VERSION}`)

/** @param {string} workshop an empty folder @param {AbortSignal} [signal] @returns {Promise<string>} */
async function install (workshop, signal) {
  const lock = await readFile(LOCK, 'utf8')
  const { name, packages: { '': { dependencies } } } = JSON.parse(lock)
  await writeFile(join(workshop, 'package.json'), JSON.stringify({ name, private: true, dependencies }))
  await writeFile(join(workshop, 'package-lock.json'), lock)
  await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error'],
    { cwd: workshop, signal, timeout: FETCH_DEADLINE_MS })
  return workshop
}
