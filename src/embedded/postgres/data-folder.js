/**
 * A PostgreSQL of our own: its data folder, and its process. PostgreSQL refuses to run as root, so as root it runs as `nobody`, with data
 * and programs where that user may go.
 *
 * Every user of the machine reaches its port. So the only role that may connect owns the database but is no superuser, which could run
 * programs, and its password is random. The superuser cannot connect: its statements run in single-user mode, before the server starts.
 *
 * @typedef {{ url: string, pid: number, exited: Promise<string>, stop: () => Promise<void> }} PostgresServer `exited`: how it ended
 */
import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { access, chown, mkdir, readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { FreshetError } from '../../errors.js'
import { freePort, isPortTaken, PORTS_TRIED } from '../server-process.js'

const run = promisify(execFile)
const READY_WITHIN_MS = 30_000
const POLL_MS = 20
const STOP_WITHIN_MS = 5000
const COMMAND_WITHIN_MS = 60_000
const LINES_KEPT = 20
const USER = 'freshet'
const DATABASE = 'postgres'
const INIT = ['-U', 'postgres', '-A', 'reject', '-E', 'UTF8', '--locale=C', '--no-sync']
/** The only line of pg_hba.conf. */
const ACCESS = `host ${DATABASE} ${USER} 127.0.0.1/32 scram-sha-256\n`
/** Error messages come without their statement, which has the password. */
const SINGLE_USER = ['-c', 'exit_on_error=true', '-c', 'log_min_error_statement=panic', DATABASE]
const FLAGS = Object.freeze({
  listen_addresses: '127.0.0.1', unix_socket_directories: '', max_connections: '200', log_min_messages: 'warning'
})

const randomPassword = () => randomBytes(18).toString('base64url')

/** @typedef {{ uid?: number, gid?: number }} Identity empty: that of this process */

/** @returns {Promise<Identity>} with which PostgreSQL runs */
export async function identity () {
  if (process.getuid?.() !== 0) return {}
  const { stdout } = await run('id', ['-u', 'nobody'], { timeout: COMMAND_WITHIN_MS })
  const { stdout: group } = await run('id', ['-g', 'nobody'], { timeout: COMMAND_WITHIN_MS })
  return { uid: Number(stdout), gid: Number(group) }
}

/**
 * Whether another user may go to a folder.
 * @param {string} folder @returns {Promise<boolean>}
 */
export async function isOpenToOthers (folder) {
  for (let ancestor = folder; ; ancestor = dirname(ancestor)) {
    const { mode } = await stat(ancestor)
    if ((mode & 0o001) === 0) return false
    if (ancestor === dirname(ancestor)) return true
  }
}

/** @param {any} error of a command */
const reasonOf = ({ stderr, killed, message }) =>
  (stderr || message).trim() + (killed ? ` (it did not end within ${COMMAND_WITHIN_MS / 1000} s; is the machine busy?)` : '')

/**
 * @param {{ programs: string, folder: string, port?: number, password?: string, flags?: Record<string, string>, signal?: AbortSignal }}
 *   options `programs`: the folder with bin; `folder`: of the data, made if it is not there; `port`: without it, a free one; `password`:
 *   without it, a random one
 * @returns {Promise<PostgresServer>}
 * @throws {FreshetError} SERVERS_FAILED
 */
export async function startPostgresServer ({ programs, folder, port: fixedPort, password = randomPassword(), flags = {}, signal }) {
  const as = await identity()
  const data = join(folder, 'data')
  await prepare({ programs, folder, data, as, password, signal }).catch((error) => {
    throw new FreshetError('SERVERS_FAILED',
      `the data folder of PostgreSQL cannot be prepared (${reasonOf(error)}); give --database-url, or set TMPDIR to another folder`)
  })
  for (let attempt = 1; ; attempt++) {
    try {
      return await startProgram({ programs, folder, data, as, password, port: fixedPort ?? await freePort(), flags, signal })
    } catch (error) {
      if (fixedPort !== undefined || attempt === PORTS_TRIED || !isPortTaken(error.message)) throw error
    }
  }
}

/**
 * Makes the data folder if it is not there; at each start, writes who may connect, and the password.
 * @param {{ programs: string, folder: string, data: string, as: Identity, password: string, signal?: AbortSignal }} options
 */
async function prepare ({ programs, folder, data, as, password, signal }) {
  // folders of PATH may be closed to that user
  const env = { ...process.env, PATH: `/usr/bin:/bin:${process.env.PATH}` }
  const limits = { ...as, env, timeout: COMMAND_WITHIN_MS, killSignal: /** @type {const} */ ('SIGKILL'), signal }
  /** @param {string} program @param {string[]} words @param {string} input @param {string} cwd */
  const feed = async (program, words, input, cwd) => {
    const running = run(program, words, { ...limits, cwd })
    running.child.stdin?.on('error', () => {}).end(input)
    await running
  }
  const isNew = !await access(join(data, 'PG_VERSION')).then(() => true, () => false)
  if (isNew) {
    await mkdir(folder, { recursive: true })
    if (as.uid !== undefined) await chown(folder, as.uid, /** @type {number} */ (as.gid))
    await run(join(programs, 'bin', 'initdb'), ['-D', data, ...INIT], { ...limits, cwd: folder })
  }
  // by the user of the folder: root would follow a link that this user made
  await feed('/bin/sh', ['-c', 'umask 077; rm -f pg_hba.conf; cat >pg_hba.conf'], ACCESS, data)
  const statements = [
    ...(isNew ? [`CREATE ROLE ${USER}`, `ALTER DATABASE ${DATABASE} OWNER TO ${USER}`] : []),
    `ALTER ROLE ${USER} LOGIN NOSUPERUSER PASSWORD '${password}'`
  ]
  await feed(join(programs, 'bin', 'postgres'), ['--single', '-D', data, ...SINGLE_USER], statements.join('\n') + '\n', folder)
}

/**
 * @param {{ programs: string, folder: string, data: string, as: Identity, password: string, port: number, flags: Record<string, string>,
 *   signal?: AbortSignal }} options
 * @returns {Promise<PostgresServer>} @throws {FreshetError} SERVERS_FAILED
 */
async function startProgram ({ programs, folder, data, as, password, port, flags, signal }) {
  const words = Object.entries({ ...FLAGS, ...flags, port: String(port) }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const options = { ...as, cwd: folder, stdio: /** @type {any} */ (['ignore', 'ignore', 'pipe']) }
  const child = spawn(join(programs, 'bin', 'postgres'), ['-D', data, ...words], options)
  /** @type {string[]} */
  const lines = []
  child.stderr?.on('data', (chunk) => {
    lines.push(...String(chunk).split('\n').filter(Boolean))
    lines.splice(0, lines.length - LINES_KEPT)
  })
  const exited = once(child, 'exit').then(([status, by]) => `${by ?? `status ${status}`}: ${lines.join(' | ')}`)

  async function stop () {
    // fast shutdown, then immediate, then SIGKILL; committed data is kept
    child.kill('SIGINT')
    const timers = [setTimeout(() => child.kill('SIGQUIT'), STOP_WITHIN_MS), setTimeout(() => child.kill('SIGKILL'), 2 * STOP_WITHIN_MS)]
    await exited
    timers.forEach(clearTimeout)
  }

  const isUp = await Promise.race([exited, untilReady(data, signal)])
  if (isUp !== true) {
    await stop()
    throw new FreshetError('SERVERS_FAILED',
      `PostgreSQL did not start (${isUp || 'no reason given'}); run the command again, or give --database-url`)
  }
  const url = `postgres://${USER}:${password}@127.0.0.1:${port}/${DATABASE}`
  return { url, pid: /** @type {number} */ (child.pid), exited, stop }
}

/** @param {string} data @param {AbortSignal} [signal] @returns {Promise<true | string>} */
async function untilReady (data, signal) {
  for (const until = Date.now() + READY_WITHIN_MS; Date.now() < until && !signal?.aborted; await sleep(POLL_MS)) {
    const lines = (await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
    if (lines[7]?.trim() === 'ready') return true
  }
  return signal?.aborted ? 'stopped' : `not ready after ${READY_WITHIN_MS / 1000} s`
}
