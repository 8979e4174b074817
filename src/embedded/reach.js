/**
 * Connects to the supervisor of a checkout, and starts it if there is none.
 *
 * A supervisor that closes the connection before its servers are ready was about to end, so the command tries again. If a new
 * supervisor ends with an error at once, the error shows its last lines.
 */
import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { FreshetError } from '../errors.js'
import { connectToHolder } from './lock.js'

const START_DEADLINE_MS = 240_000
const POLL_MS = 20
const SUPERVISOR = fileURLToPath(new URL('supervisor-process.js', import.meta.url))

/**
 * @typedef {import('node:net').Socket} Socket
 * @typedef {import('./control-socket.js').SupervisorEvent} SupervisorEvent
 * @typedef {Extract<SupervisorEvent, { event: 'ready' }>} Ready
 * @typedef {Extract<SupervisorEvent, { event: 'database' }>} Database
 * @typedef {Extract<SupervisorEvent, { event: 'dynamodb' }>} Dynamodb
 * @typedef {{ servers: Ready, database: Database, dynamodb: Dynamodb }} Parts what says that a part is ready
 * @typedef {import('./supervisor.js').Supervision} Supervision
 * @typedef {{ env: Record<string, string | undefined>, report: (line: string) => void, signal?: AbortSignal }} Caller
 */

/** @param {string} folder @returns {string} */
export const logOf = (folder) => join(folder, 'supervisor.log')

/**
 * @template {keyof Parts} T
 * @param {T} part that is used
 * @param {Supervision} supervision for a supervisor that has to be started
 * @param {Caller} caller
 * @returns {Promise<{ socket: Socket, ready: Parts[T], ended: Promise<FreshetError | null> }>} to be kept open while in use
 * @throws {FreshetError} the error of the supervisor, or SERVERS_FAILED
 */
export async function reachSupervisor (part, supervision, { env, report, signal }) {
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
  if (signal?.aborted) throw new FreshetError('SERVERS_FAILED', 'stopped before the embedded servers were ready', { isStopped: true })
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
export function converse (socket, word, report) {
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
export async function within (promise, deadlineMs, signal) {
  const timer = new AbortController()
  const either = signal ? AbortSignal.any([signal, timer.signal]) : timer.signal
  try {
    return await Promise.race([promise, pause(deadlineMs, undefined, { signal: either }).catch(() => undefined)])
  } finally {
    timer.abort()
  }
}
