/**
 * A PostgreSQL of our own: its data folder, and its process. PostgreSQL refuses to run as root, so as root it runs as `nobody`, with data
 * and programs where that user may go.
 *
 * @typedef {{ url: string, pid: number, exited: Promise<string>, stop: () => Promise<void> }} Cluster `exited`: how it ended
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, chown, mkdir, readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { FreshetError } from '../../../errors.js'
import { freePort, isPortTaken, PORTS_TRIED } from '../free-port.js'

const run = promisify(execFile)
const READY_WITHIN_MS = 30_000
const POLL_MS = 20
const STOP_WITHIN_MS = 5000
const LINES_KEPT = 20
const USER = 'freshet'
const INIT = ['-U', USER, '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
const FLAGS = Object.freeze({
  listen_addresses: '127.0.0.1', unix_socket_directories: '', max_connections: '200', log_min_messages: 'warning'
})

/** @typedef {{ uid?: number, gid?: number }} Identity empty: that of this process */

/** @returns {Promise<Identity>} with which PostgreSQL runs */
export async function identity () {
  if (process.getuid?.() !== 0) return {}
  const { stdout } = await run('id', ['-u', 'nobody'])
  const { stdout: group } = await run('id', ['-g', 'nobody'])
  return { uid: Number(stdout), gid: Number(group) }
}

/**
 * Whether another user may go to a folder.
 * @param {string} folder @returns {Promise<boolean>}
 */
export async function isOpenToOthers (folder) {
  for (let one = folder; ; one = dirname(one)) {
    const { mode } = await stat(one)
    if ((mode & 0o001) === 0) return false
    if (one === dirname(one)) return true
  }
}

/**
 * @param {{ programs: string, folder: string, port?: number, flags?: Record<string, string> }} options `programs`: the folder with bin;
 *   `folder`: of the data, made if it is not there; `port`: without it, a free one
 * @returns {Promise<Cluster>}
 * @throws {FreshetError} SERVERS_FAILED
 */
export async function startCluster ({ programs, folder, port: wanted, flags = {} }) {
  const as = await identity()
  const data = join(folder, 'data')
  if (!await access(join(data, 'PG_VERSION')).then(() => true, () => false)) {
    await mkdir(folder, { recursive: true })
    if (as.uid !== undefined) await chown(folder, as.uid, /** @type {number} */ (as.gid))
    await run(join(programs, 'bin', 'initdb'), ['-D', data, ...INIT], { ...as, cwd: folder })
  }
  for (let attempt = 1; ; attempt++) {
    try {
      return await startProgram({ programs, folder, data, as, port: wanted ?? await freePort(), flags })
    } catch (error) {
      if (wanted !== undefined || attempt === PORTS_TRIED || !isPortTaken(error.message)) throw error
    }
  }
}

/**
 * @param {{ programs: string, folder: string, data: string, as: Identity, port: number, flags: Record<string, string> }} options
 * @returns {Promise<Cluster>} @throws {FreshetError} SERVERS_FAILED
 */
async function startProgram ({ programs, folder, data, as, port, flags }) {
  const words = Object.entries({ ...FLAGS, ...flags, port: String(port) }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const options = { ...as, cwd: folder, stdio: /** @type {any} */ (['ignore', 'ignore', 'pipe']) }
  const child = spawn(join(programs, 'bin', 'postgres'), ['-D', data, ...words], options)
  /** @type {string[]} */
  const lines = []
  child.stderr?.on('data', (chunk) => {
    lines.push(...String(chunk).split('\n').filter(Boolean))
    lines.splice(0, lines.length - LINES_KEPT)
  })
  const exited = once(child, 'exit').then(([status, signal]) => `${signal ?? `status ${status}`}: ${lines.join(' | ')}`)
  const url = `postgres://${USER}@127.0.0.1:${port}/postgres`
  const isUp = await Promise.race([exited, untilReady(data)])
  if (isUp !== true) throw new FreshetError('SERVERS_FAILED', `PostgreSQL did not start: ${isUp || 'no reason given'}`)
  return {
    url,
    pid: /** @type {number} */ (child.pid),
    exited,
    async stop () {
      // fast shutdown: connections are cut off, what is committed stays
      child.kill('SIGINT')
      const timer = setTimeout(() => child.kill('SIGQUIT'), STOP_WITHIN_MS)
      await exited
      clearTimeout(timer)
    }
  }
}

/** @param {string} data @returns {Promise<true | string>} */
async function untilReady (data) {
  for (const until = Date.now() + READY_WITHIN_MS; Date.now() < until; await sleep(POLL_MS)) {
    const lines = (await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
    if (lines[7]?.trim() === 'ready') return true
  }
  return `not ready after ${READY_WITHIN_MS / 1000} s`
}
