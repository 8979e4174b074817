/**
 * Embedded servers, for a command. They belong to the checkout and run while any command uses them. A command holds a
 * connection to their supervisor, which the kernel closes however the command ends.
 */
import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { chmod, mkdir, readFile, realpath } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { FreshetError } from '../errors.js'
import { namedEngine } from './engine.js'
import { connectToHolder } from './lock.js'

/**
 * Connects to the supervisor of a checkout, and starts it if there is none.
 *
 * A supervisor that closes the connection before its servers are ready was about to end, so the command tries again. If a new
 * supervisor ends with an error at once, the error shows its last lines.
 */

const START_DEADLINE_MS = 240_000
const POLL_MS = 20
const SUPERVISOR = fileURLToPath(new URL('supervisor-process.js', import.meta.url))

/**
 * @typedef {import('node:net').Socket} Socket
 * @typedef {import('./supervisor-process.js').SupervisorEvent} SupervisorEvent
 * @typedef {Extract<SupervisorEvent, { event: 'ready' }>} Ready
 * @typedef {Extract<SupervisorEvent, { event: 'database' }>} Database
 * @typedef {Extract<SupervisorEvent, { event: 'dynamodb' }>} Dynamodb
 * @typedef {{ servers: Ready, database: Database, dynamodb: Dynamodb }} Parts what says that a part is ready
 * @typedef {import('./supervisor-process.js').Supervision} Supervision
 * @typedef {{ env: Record<string, string | undefined>, report: (line: string) => void, signal?: AbortSignal }} Caller
 */

/** @param {string} folder @returns {string} */
const logOf = (folder) => join(folder, 'supervisor.log')

/**
 * @template {keyof Parts} T
 * @param {T} part that is used
 * @param {Supervision} supervision for a supervisor that has to be started
 * @param {Caller} caller
 * @returns {Promise<{ socket: Socket, ready: Parts[T], ended: Promise<FreshetError | null> }>} to be kept open while in use
 * @throws {FreshetError} the error of the supervisor, or SERVERS_FAILED
 */
async function reachSupervisor (part, supervision, { env, report, signal }) {
  const { folder } = supervision
  const until = Date.now() + START_DEADLINE_MS
  while (Date.now() < until && !signal?.aborted) {
    const socket = await connectToHolder(folder) ?? await startSupervisor(supervision, env, until, signal)
    if (!socket) continue
    const { ready, ended } = converse(socket, part, report)
    const event = await within(ready, until - Date.now(), signal)
    if (event) return { socket, ready: /** @type {Parts[T]} */ (event), ended }
    socket.destroy()
    const failure = await ended
    if (failure) throw failure
  }
  if (signal?.aborted) {
    throw new FreshetError('SERVERS_FAILED', 'stopped before the embedded servers were ready; run the command again', { isStopped: true })
  }
  throw new FreshetError('SERVERS_FAILED', `the embedded servers were not ready within ${START_DEADLINE_MS / 1000} s; ` +
    `the log of the supervisor is ${logOf(folder)}`)
}

/**
 * @param {Socket} socket
 * @param {keyof Parts | 'look'} word
 * @param {(line: string) => void} report
 * @returns {{ ready: Promise<Parts[keyof Parts] | null>, news: SupervisorEvent[], ended: Promise<FreshetError | null> }} `ready`: that
 *   the part is; null when the connection ended before; `news`: of all parts that are ready; `ended` resolves with the error that the
 *   supervisor sent, if any
 */
function converse (socket, word, report) {
  /** @type {FreshetError | null} */
  let failure = null
  const ended = /** @type {Promise<FreshetError | null>} */ (new Promise((resolve) => {
    socket.on('error', () => {}).once('close', () => resolve(failure))
  }))
  const awaited = word === 'servers' ? 'ready' : word
  /** @type {SupervisorEvent[]} */
  const news = []
  const ready = /** @type {Promise<Parts[keyof Parts] | null>} */ (new Promise((resolve) => {
    // the reader of lines passes the socket's errors on, and its end says the same
    createInterface({ input: socket }).on('error', () => {}).on('line', (line) => {
      const event = /** @type {SupervisorEvent} */ (JSON.parse(line))
      if (event.event === 'ready' || event.event === 'database' || event.event === 'dynamodb') {
        news.push(event)
        if (event.event === awaited) resolve(event)
      } else if (event.event === 'failed') failure = new FreshetError(event.code, event.message)
      else report(event.message)
    })
    ended.then(() => resolve(null))
  }))
  socket.write(word + '\n')
  return { ready, news, ended }
}

/**
 * @param {Supervision} supervision @param {Caller['env']} env @param {number} until @param {AbortSignal} [signal]
 * @returns {Promise<Socket | null>} to the supervisor that holds the lock; null = there is none any more
 */
async function startSupervisor (supervision, env, until, signal) {
  const { folder } = supervision
  const log = openSync(logOf(folder), 'a', 0o600)
  const child = spawn(process.execPath, [SUPERVISOR, JSON.stringify(supervision)], {
    cwd: folder,
    detached: true,
    stdio: ['ignore', log, log],
    env: { ...env, NODE_OPTIONS: '' } // the inspector or loader of a command is not for the supervisor
  })
  closeSync(log)
  child.on('error', () => {}).unref()
  while (child.exitCode === null && child.signalCode === null && Date.now() < until && !signal?.aborted) {
    const socket = await connectToHolder(folder)
    if (socket) return socket
    await pause(POLL_MS)
  }
  if (!child.exitCode && !child.signalCode) return null
  const lines = (await readFile(logOf(folder), 'utf8')).trim().split('\n').slice(-10).join('\n')
  const how = child.signalCode ?? `status ${child.exitCode}`
  throw new FreshetError('SERVERS_FAILED', `the supervisor of the embedded servers ended at once (${how}). Its last lines:\n${lines}`)
}

/**
 * @template T
 * @param {Promise<T>} promise @param {number} deadlineMs @param {AbortSignal} [signal]
 * @returns {Promise<T | undefined>} undefined after the deadline or `signal`
 */
async function within (promise, deadlineMs, signal) {
  const timer = new AbortController()
  const either = signal ? AbortSignal.any([signal, timer.signal]) : timer.signal
  try {
    return await Promise.race([promise, pause(deadlineMs, undefined, { signal: either }).catch(() => undefined)])
  } finally {
    timer.abort()
  }
}

const RELEASE_DEADLINE_MS = 5_000
const LOOK_DEADLINE_MS = 2_000

/**
 * @typedef {Record<string, string | undefined>} Env
 * @typedef {{ primaryUrl: string, replicaUrls: string[] | null, primaries: string[], replicas: string[], sentinel?: string,
 *   engine: { name: string, version: string }, supervisorPid: number, release(): Promise<void> }} EmbeddedServers `primaryUrl`: of a
 *   cluster, its primaries, separated by commas, and with Sentinels `sentinel`; then `replicaUrls` is null; `release` of the last command
 *   resolves when the servers have ended
 */

/** @param {string} root the folder of this package @returns {string} the default folder of the pinned copy */
export const defaultCacheDir = (root) => join(root, '.freshet')

/**
 * @param {{ root: string, named?: string | null, replicas?: number, form?: import('./supervisor-process.js').Form, env?: Env,
 *   cacheDir?: string, signal?: AbortSignal, report?: (line: string) => void, onFailure?: (error: FreshetError) => void }} options
 *   `root`: the folder of this package, whose .freshet holds the servers; `named`: a server program; `signal` cancels the
 *   wait for servers, with an error; `form`: of servers that are started, as others use what runs; `report` gets messages for
 *   the user; `onFailure` is called at most once, when the
 *   servers end before their release
 * @returns {Promise<EmbeddedServers>} once the primary answers and the replicas are in sync
 * @throws {FreshetError} ENGINE_MISSING, SERVERS_FAILED, SERVERS_DIFFER
 */
export async function useEmbeddedServers ({ named = null, replicas = 2, form = 'replicas', ...options }) {
  const program = named ? (await namedEngine(named, options.env ?? process.env)).program : null
  const { ready, supervision, release, socket } = await use('servers', { ...options, named: program, replicas, form })
  const difference = differs(ready, supervision)
  if (difference) {
    socket.destroy()
    throw new FreshetError('SERVERS_DIFFER', `the embedded servers of this checkout already run ${difference} (supervisor: process ` +
      `${ready.pid}); stop the commands that use them (Ctrl-C), then start this one again`)
  }
  const { primaries, replicas: replicaUrls, sentinel, engine: { name, version } } = ready
  return {
    primaryUrl: sentinel ?? primaries.join(','),
    replicaUrls: ready.form === 'replicas' ? replicaUrls : null,
    primaries,
    replicas: replicaUrls,
    sentinel,
    engine: { name, version },
    supervisorPid: ready.pid,
    release
  }
}

/**
 * The embedded PostgreSQL or DynamoDB, under the same supervisor; fetched when it is used for the first time.
 * @param {'database' | 'dynamodb'} part
 * @param {Pick<Parameters<typeof useEmbeddedServers>[0], 'root' | 'env' | 'cacheDir' | 'signal' | 'report' | 'onFailure'>} options
 * @returns {Promise<{ url: string, release: () => Promise<void> }>}
 * @throws {FreshetError} ENGINE_MISSING, SERVERS_FAILED
 */
export async function useEmbeddedPart (part, options) {
  const { ready, release } = await use(part, { ...options, named: null, replicas: 2 })
  return { url: ready.url, release }
}

/**
 * @template {keyof Parts} T @param {T} part
 * @param {Parameters<typeof useEmbeddedPart>[1] & { named: string | null, replicas: number,
 *   form?: import('./supervisor-process.js').Form }} options
 */
async function use (part, {
  root, named, replicas, form = 'replicas', env = process.env, cacheDir = defaultCacheDir(root), signal, report = () => {},
  onFailure = () => {}
}) {
  const folder = await stateFolder(root)
  const supervision = { folder, cacheDir: resolve(cacheDir), named, replicas, form }
  const { socket, ready, ended } = await reachSupervisor(part, supervision, { env, report, signal }).catch((error) => {
    if (error instanceof FreshetError) throw error
    throw new FreshetError('SERVERS_FAILED', `the embedded servers cannot be started or reached (${error.message}). ` +
      `Does ${folder} belong to another user?`)
  })
  let isReleased = false
  ended.then((failure) => { if (!isReleased) onFailure(failure ?? lost(folder)) })

  async function release () {
    isReleased = true
    socket.end()
    if (await within(ended, RELEASE_DEADLINE_MS) !== undefined) return
    report(`the embedded servers still run after ${RELEASE_DEADLINE_MS / 1000} s; the log of the supervisor is ${logOf(folder)}`)
    socket.destroy()
  }
  return { socket, ready, supervision, release }
}

/**
 * What runs now. Starts nothing.
 * @param {{ root: string }} options
 * @returns {Promise<{ servers: Ready | null, databaseUrl: string | null, dynamodbUrl: string | null } | 'starting' | null>} null when
 *   no supervisor runs
 */
export async function lookAtEmbeddedServers ({ root }) {
  const socket = await connectToHolder(join(await realpath(root), '.freshet'))
  if (!socket) return null
  const { news, ended } = converse(socket, 'look', () => {})
  await within(ended, LOOK_DEADLINE_MS)
  socket.destroy()
  if (news.length === 0) return 'starting'
  return {
    servers: news.find((message) => message.event === 'ready') ?? null,
    databaseUrl: news.find((message) => message.event === 'database')?.url ?? null,
    dynamodbUrl: news.find((message) => message.event === 'dynamodb')?.url ?? null
  }
}

/**
 * Only its owner may enter it, whatever the umask: it has the logs of the servers and the socket of their supervisor.
 * @param {string} root @returns {Promise<string>}
 */
async function stateFolder (root) {
  const folder = join(await realpath(root), '.freshet')
  try {
    await mkdir(folder, { recursive: true })
    await chmod(folder, 0o700)
  } catch (error) {
    throw new FreshetError('SERVERS_FAILED', `the embedded servers need the folder ${folder}, which cannot be created or is another ` +
      `user's (${error.code}); install the package in a writable folder, or give --redis-url`)
  }
  return folder
}

/** @param {Ready} running @param {import('./supervisor-process.js').Supervision} supervision @returns {string | null} */
function differs ({ form, engine, primaries, replicas }, supervision) {
  if (supervision.named && supervision.named !== engine.program) {
    return `with ${engine.program} (${engine.name} ${engine.version}), not ${supervision.named}`
  }
  if (form !== 'replicas' && supervision.form === 'replicas') return null
  const formed = { replicas: `one primary with ${replicas.length} replicas`, cluster: 'a cluster', sentinels: 'a primary with Sentinels' }
  if (form !== supervision.form) {
    return `as ${formed[form]} (${primaries[0]}), not as ${formed[/** @type {'cluster'} */ (supervision.form)]}`
  }
  if (form === 'replicas' && supervision.replicas !== replicas.length) {
    return `with ${replicas.length} replicas, not ${supervision.replicas}`
  }
  return null
}

/** @param {string} folder */
const lost = (folder) => new FreshetError('SERVERS_FAILED', 'the supervisor of the embedded servers ended unexpectedly, ' +
  `and with it the servers and their items; its log is ${logOf(folder)}`)
