/**
 * A process beside the load, one that serves or one that asks. It is told and tells over IPC; when it ends unasked,
 * whoever waits for it hears why; when it is stopped it is gone, whatever it does.
 *
 * @typedef {import('./usage.js').Usage} Usage
 * @typedef {object} Process
 * @property {number | undefined} pid
 * @property {(message: { event: string, [name: string]: unknown }) => void} tell
 * @property {(event: string, deadlineMs?: number) => Promise<any>} heard the next message of that kind, one that has come already
 *   included. Throws SERVING_FAILED
 * @property {() => Promise<Usage>} usage throws SERVING_FAILED
 * @property {Promise<never>} ended rejects with SERVING_FAILED when it ends, unless it was stopped
 * @property {() => Promise<void>} stop resolves when it is gone; may be called twice
 */
import { spawn } from 'node:child_process'
import { FreshetError } from '../../errors.js'

const TELL_USAGE = new URL('tell-usage.js', import.meta.url).href
const ANSWER_MS = 20_000
const STOP_MS = 3000
const LINES_KEPT = 6

/**
 * @param {string} what it is, for messages: such as `the reader`
 * @param {string[]} args of node
 * @param {Record<string, string | undefined>} env
 * @returns {Process}
 */
export function startProcess (what, args, env) {
  const child = spawn(process.execPath, ['--import', TELL_USAGE, ...args], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    // a session of its own: Ctrl-C reaches the lab, and the lab tells it
    detached: true,
    env
  })
  /** @type {string[]} */
  const lines = []
  /** @type {any[]} */
  const unheard = []
  /** @type {{ event: string, resolve: (message: any) => void }[]} */
  const waiting = []
  let isStopped = false

  child.stderr?.on('data', (chunk) => { lines.push(...String(chunk).split('\n').filter(Boolean)); lines.splice(0, lines.length - LINES_KEPT) })
  child.on('message', (/** @type {any} */ message) => {
    const at = waiting.findIndex(({ event }) => event === message.event)
    if (at >= 0) waiting.splice(at, 1)[0].resolve(message)
    else unheard.push(message)
  })
  const exited = /** @type {Promise<string>} */ (new Promise((resolve) => {
    child.once('error', (error) => resolve(`could not be started: ${error.message}`))
    child.once('close', (status, signal) => resolve(signal ? `was ended by ${signal}` : `ended with status ${status}`))
  }))
  const failed = (/** @type {string} */ how) => new FreshetError('SERVING_FAILED', `${what} ${how}`)
  const gone = exited.then((how) => { throw failed(`${how}: ${lines.join(' | ') || 'it said nothing'}`) })
  const ended = gone.catch((error) => {
    if (!isStopped) throw error
    return /** @type {Promise<never>} */ (new Promise(() => {}))
  })
  ended.catch(() => {})

  /** @type {Process['tell']} */
  const tell = (message) => { if (child.connected) child.send(message, () => {}) }

  /** @type {Process['heard']} */
  async function heard (event, deadlineMs = ANSWER_MS) {
    const at = unheard.findIndex((message) => message.event === event)
    if (at >= 0) return unheard.splice(at, 1)[0]
    /** @type {NodeJS.Timeout | undefined} */
    let timer
    const late = new Promise((resolve, reject) => {
      timer = setTimeout(() => reject(failed(`did not say "${event}" within ${deadlineMs / 1000} s: ${lines.join(' | ')}`)), deadlineMs)
    })
    try {
      return await Promise.race([new Promise((resolve) => waiting.push({ event, resolve })), gone, late])
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    pid: child.pid,
    tell,
    heard,
    usage () {
      tell({ event: 'usage' })
      return heard('usage')
    },
    ended,
    async stop () {
      isStopped = true
      tell({ event: 'stop' })
      const kill = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
      await exited
      clearTimeout(kill)
    }
  }
}
