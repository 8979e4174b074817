/** A checkout for one test: an empty folder as root, with the engine cache of the real checkout. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openConnection } from '../../src/store/connection.js'
import { useEmbeddedServers } from '../../src/embedded/client.js'

const COMMAND = fileURLToPath(new URL('command.js', import.meta.url))
const REAL_ROOT = fileURLToPath(new URL('../..', import.meta.url))
const DEADLINE_MS = 90_000
/** it starts a process each time */
const PROCESSES_EVERY_MS = 100

export const cacheDir = process.env.FRESHET_CACHE_DIR || join(REAL_ROOT, '.freshet')

/** @param {import('tap').Test} t @param {string} [below] folders to put between */
export async function makeCheckout (t, below = '') {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'fr-')))
  t.teardown(() => rm(base, { recursive: true, force: true, maxRetries: 5 }))
  return join(base, below)
}

/** In this process, with one replica by default. @param {import('tap').Test} t @param {string} root @param {object} [options] */
export async function useServers (t, root, options = {}) {
  const servers = await useEmbeddedServers({ root, cacheDir, replicas: 1, ...options })
  t.teardown(() => servers.release())
  return servers
}

/** In its own process, leader of a process group. @param {import('tap').Test} t @param {string} root */
export async function startCommand (t, root) {
  const child = spawn(process.execPath, [COMMAND, root, cacheDir], {
    detached: true, stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, NODE_OPTIONS: '' }
  })
  t.teardown(() => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async () => JSON.parse((await lines.next()).value)
  const exited = once(child, 'exit')
  return { child, next, exited }
}

/** @param {string} url @returns {Promise<Record<string, string>>} INFO */
export async function infoOf (url) {
  const connection = await openConnection(url, { name: 'test', deadlineMs: 10_000 })
  const text = String(await connection.send('INFO'))
  connection.close()
  return Object.fromEntries(text.split('\r\n').filter((line) => line.includes(':')).map((line) => line.split(/:(.*)/)))
}

/** @param {string} url @returns {Promise<number>} */
export const pidOf = async (url) => Number((await infoOf(url)).process_id)

/** @param {{ primaryUrl: string, replicaUrls: string[] | null }} servers @returns {Promise<number[]>} the primary's first */
export const pidsOf = ({ primaryUrl, replicaUrls }) => Promise.all([primaryUrl, ...(replicaUrls ?? [])].map(pidOf))

/** @param {...number} pids @returns {Promise<boolean>} whether any of them is running; zombies are not */
export async function isRunning (...pids) {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'stat=', '-p', String(pids)]).catch((error) => error)
  return /^\s*[^Z\s]/m.test(stdout)
}

/** @param {string} root @returns {Promise<string[]>} sockets and server folders in the checkout's .freshet */
export async function leftIn (root) {
  const files = await readdir(join(root, '.freshet'))
  return files.filter((file) => file.endsWith('.sock') || file === 'servers')
}

/** @param {() => unknown} condition async or not; an error counts as false @param {number} [everyMs] */
export async function until (condition, everyMs = 20) {
  for (const end = Date.now() + DEADLINE_MS; Date.now() < end; await pause(everyMs)) {
    try {
      if (await condition()) return
    } catch {}
  }
  throw new Error(`not within ${DEADLINE_MS} ms: ${condition}`)
}

/** @param {...number} pids */
export const allGone = (...pids) => until(async () => !await isRunning(...pids), PROCESSES_EVERY_MS)
