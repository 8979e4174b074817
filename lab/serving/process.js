/**
 * A process beside the load, which serves or sends requests. It exchanges messages over IPC.
 *
 * @typedef {import('./usage.js').Usage} Usage
 * @typedef {object} Process
 * @property {number | undefined} pid
 * @property {(message: { event: string, [name: string]: unknown }) => void} send
 * @property {(event: string, deadlineMs?: number) => Promise<any>} receive the next message of that kind, including one that has
 *   arrived already; throws SERVING_FAILED
 * @property {() => Promise<Usage>} usage throws SERVING_FAILED
 * @property {Promise<never>} ended rejects with SERVING_FAILED when it ends, unless it was stopped
 * @property {() => void} kill by SIGKILL
 * @property {() => Promise<void>} stop resolves when it has ended, with SIGKILL after 3 s; may be called twice
 */
import { spawn } from 'node:child_process'
import { FreshetError } from '../errors.js'

const TELL_USAGE = new URL('tell-usage.js', import.meta.url).href
const REPLY_TIMEOUT_MS = 20_000
const STOP_MS = 3000
/** an error with its stack of ten frames */
const LINES_KEPT = 16

/**
 * A process of node with messages over IPC, in a session of its own, so that Ctrl-C reaches the lab only, which then stops it.
 * @param {string[]} args @param {{ env: Record<string, string | undefined>, stdout?: 'ignore' | 'pipe' }} options
 */
export function spawnNode (args, { env, stdout = 'ignore' }) {
  const child = spawn(process.execPath, args, { stdio: ['ignore', stdout, 'pipe', 'ipc'], detached: true, env })
  /** the last ones of standard error @type {string[]} */
  const lines = []
  child.stderr?.on('data',
    (chunk) => { lines.push(...String(chunk).split('\n').filter(Boolean)); lines.splice(0, lines.length - LINES_KEPT) })
  const exited = /** @type {Promise<string>} */ (new Promise((resolve) => {
    child.once('error', (error) => resolve(`could not be started: ${error.message}`))
    child.once('close', (status, signal) => resolve(signal ? `was ended by ${signal}` : `ended with status ${status}`))
  }))
  const send = (/** @type {{ event: string, [name: string]: unknown }} */ message) => {
    if (child.connected) child.send(message, () => {})
  }
  return {
    child,
    lines,
    /** Resolves with how it ended. */
    exited,
    send,

    /** Resolves when it has ended; `kill` is called after 3 s. @param {() => void} kill */
    async stop (kill) {
      send({ event: 'stop' })
      const timer = setTimeout(kill, STOP_MS)
      await exited
      clearTimeout(timer)
    }
  }
}

/**
 * @param {string} what it is, for messages: such as `the reader`
 * @param {string[]} args of node
 * @param {Record<string, string | undefined>} env
 * @returns {Process}
 */
export function startProcess (what, args, env) {
  const { child, lines, exited, send, stop } = spawnNode(['--import', TELL_USAGE, ...args], { env })
  const kill = () => child.kill('SIGKILL')
  /** @type {any[]} */
  const inbox = []
  /** @type {{ event: string, resolve: (message: any) => void }[]} */
  const waiting = []
  let isStopped = false

  child.on('message', (/** @type {any} */ message) => {
    const at = waiting.findIndex(({ event }) => event === message.event)
    if (at >= 0) waiting.splice(at, 1)[0].resolve(message)
    else inbox.push(message)
  })
  const failed = (/** @type {string} */ how) => new FreshetError('SERVING_FAILED', `${what} ${how}`)
  const gone = exited.then((how) => { throw failed(`${how}: ${lines.join(' | ') || 'no output'}`) })
  const ended = gone.catch((error) => {
    if (!isStopped) throw error
    return /** @type {Promise<never>} */ (new Promise(() => {}))
  })
  ended.catch(() => {})

  /** @type {Process['receive']} */
  async function receive (event, deadlineMs = REPLY_TIMEOUT_MS) {
    const at = inbox.findIndex((message) => message.event === event)
    if (at >= 0) return inbox.splice(at, 1)[0]
    /** @type {NodeJS.Timeout | undefined} */
    let timer
    const late = new Promise((resolve, reject) => {
      timer = setTimeout(() => reject(failed(`did not send "${event}" within ${deadlineMs / 1000} s: ${lines.join(' | ')}`)), deadlineMs)
    })
    try {
      return await Promise.race([new Promise((resolve) => waiting.push({ event, resolve })), gone, late])
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    pid: child.pid,
    send,
    receive,
    usage () {
      send({ event: 'usage' })
      return receive('usage')
    },
    ended,
    kill () {
      isStopped = true
      kill()
    },
    stop () {
      isStopped = true
      return stop(kill)
    }
  }
}
