/** The embedded DynamoDB of one supervisor: a process of its own, with data in memory. */
import { execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { access, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { FreshetError } from '../../errors.js'
import { fetchOnce } from '../fetch-once.js'

const START_WITHIN_MS = 60_000
const PROCESS = fileURLToPath(new URL('dynalite-process.js', import.meta.url))

/**
 * @param {{ cacheDir: string, report: (line: string) => void, signal: AbortSignal, fail: (error: FreshetError) => void }} options
 *   `fail` is called when it ends by itself
 */
export function createDynamodb ({ cacheDir, report, signal, fail }) {
  /** @type {import('node:child_process').ChildProcess | null} */
  let child = null
  let isClosing = false

  return {
    /** @returns {Promise<{ url: string }>} @throws {FreshetError} ENGINE_MISSING, SERVERS_FAILED */
    async start () {
      const folder = await pinnedDynalite({ cacheDir, report, signal })
      signal.throwIfAborted()
      const started = child = fork(PROCESS, [folder], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
      const kill = () => { started.kill('SIGKILL') }
      const timer = setTimeout(kill, START_WITHIN_MS)
      signal.addEventListener('abort', kill)
      const ended = once(child, 'exit').then(([status, killedBy]) => `${killedBy ?? `exit status ${status}`}`)
      const up = await Promise.race([once(child, 'message'), ended])
      clearTimeout(timer)
      signal.removeEventListener('abort', kill)
      if (typeof up === 'string') throw new FreshetError('SERVERS_FAILED', `the embedded DynamoDB did not start (${up}); start it again`)
      ended.then((how) => {
        if (isClosing) return
        fail(new FreshetError('SERVERS_FAILED',
          `the embedded DynamoDB ended (${how}), and its data is lost; run the command again to start with an empty one`))
      })
      return { url: `http://127.0.0.1:${up[0].port}` }
    },

    /** To be called after `start` has settled. */
    async close () {
      isClosing = true
      if (!child || child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
  }
}

/**
 * The pinned dynalite, a DynamoDB in JavaScript: packages on npm, fetched when a command first needs it, so that
 * other users do not install them.
 * `npm ci` downloads them, because npm already knows the registry, proxy and certificates of the machine, and checks the hashes of
 * pinned-lock.json. No script of a package runs: the one that would compile is only for data on disk.
 */

const run = promisify(execFile)

export const VERSION = '4.0.0'
const FETCH_DEADLINE_MS = 120_000
const LOCK = new URL('pinned-lock.json', import.meta.url)

/**
 * @param {{ cacheDir: string, report: (line: string) => void, signal?: AbortSignal }} options
 * @returns {Promise<string>} the folder with node_modules
 * @throws {import('../../errors.js').FreshetError} ENGINE_MISSING
 */
const pinnedDynalite = ({ cacheDir, report, signal }) => fetchOnce({
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
