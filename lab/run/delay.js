/**
 * Adds a delay between a client and a server on the same machine: without it, an arm with many round trips looks as good as an
 * arm with one (L16).
 *
 *     client --- relay, a process of its own --- server
 *                every byte leaves it ms / 2 after it came, in either direction
 *
 * The relay ends with this process.
 */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { FreshetError } from '../errors.js'
import { bareHost } from '../../src/store/index.js'

const PROCESS = fileURLToPath(new URL('delay-process.js', import.meta.url))
const START_DEADLINE_MS = 20_000
const CLOSE_DEADLINE_MS = 3_000

/**
 * @typedef {object} Delay
 * @property {string} url as `to`, with the relay's host and port
 * @property {number | undefined} pid
 * @property {Promise<string>} died resolves with the reason when the relay ends unexpectedly; else never
 * @property {() => Promise<number | null>} cpuSeconds of the relay; null = it has ended
 * @property {() => Promise<void>} close ends it and every connection through it; may be called twice
 */

/**
 * @param {{ to: string, ms: number }} line `ms` of a round trip
 * @returns {Promise<Delay>}
 * @throws {FreshetError} LAB_TARGET_REFUSED: TLS verifies the server's name, which the relay lacks; SERVERS_FAILED
 */
export async function startDelay ({ to, ms }) {
  const target = new URL(to)
  if (target.protocol !== 'redis:') {
    throw new FreshetError('LAB_TARGET_REFUSED',
      `--rtt-ms needs a redis:// server, not ${target.protocol}//${target.host}; remove --rtt-ms`)
  }
  // a session of its own, so that Ctrl-C does not stop it before the load
  const child = fork(PROCESS, [],
    { detached: true, execArgv: [], env: { ...process.env, NODE_OPTIONS: '' }, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  let isClosing = false
  const exited = /** @type {Promise<string>} */ (new Promise((resolve) => {
    child.once('exit', (status, signal) => resolve(signal ? `by ${signal}` : `with status ${status}`))
    child.once('error', (error) => resolve(`before it started: ${error.message}`))
  }))
  /** @type {((reply: any) => void)[]} replies arrive in order */
  const pending = []
  child.on('message', (reply) => pending.shift()?.(reply))
  /** @param {object} message @returns {Promise<any>} the reply; null when the relay has ended */
  const request = (message) => Promise.race([
    new Promise((resolve) => {
      if (!child.connected) return
      pending.push(resolve)
      child.send(message, () => {})
    }),
    exited.then(() => null)
  ])

  async function close () {
    isClosing = true
    if (child.connected) child.disconnect()
    const kill = setTimeout(() => child.kill('SIGKILL'), CLOSE_DEADLINE_MS)
    await exited
    clearTimeout(kill)
  }

  const late = setTimeout(() => child.kill('SIGKILL'), START_DEADLINE_MS)
  const listening = await request({ event: 'start', host: bareHost(target), port: Number(target.port || 6379), halfMs: ms / 2 })
  clearTimeout(late)
  if (!listening) throw new FreshetError('SERVERS_FAILED', `the relay to ${target.host} ended ${await exited} before it was ready`)
  target.hostname = '127.0.0.1'
  target.port = String(listening.port)
  return {
    url: target.href,
    pid: child.pid,
    died: new Promise((resolve) => { exited.then((how) => { if (!isClosing) resolve(`the relay to ${new URL(to).host} ended ${how}`) }) }),
    cpuSeconds: async () => (await request({ event: 'usage' }))?.cpuSeconds ?? null,
    close
  }
}
