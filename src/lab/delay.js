/**
 * A line that takes time, between a client and a server on the same machine: without it, what makes many round trips
 * looks as good as what makes one (L16).
 *
 *     client --- relay, a process of its own --- server
 *                every byte leaves it ms / 2 after it came, either way
 *
 * The relay ends with this process, however that ends.
 */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { FreshetError } from '../errors.js'
import { bareHost } from '../store/tls.js'

const PROCESS = fileURLToPath(new URL('delay-process.js', import.meta.url))
const START_DEADLINE_MS = 20_000
const CLOSE_DEADLINE_MS = 3_000

/**
 * @typedef {object} Delay
 * @property {string} url as `to`, with the relay's host and port
 * @property {number | undefined} pid
 * @property {Promise<string>} died resolves with words when the relay ends unexpectedly; else never
 * @property {() => Promise<number | null>} cpuSeconds processor time that the relay has used; null = it is gone
 * @property {() => Promise<void>} close ends it and every connection through it; may be called twice
 */

/**
 * @param {{ to: string, ms: number }} line `ms` of a round trip
 * @returns {Promise<Delay>}
 * @throws {FreshetError} LAB_TARGET_REFUSED: TLS checks the name of a server, which the relay has not; SERVERS_FAILED
 */
export async function startDelay ({ to, ms }) {
  const target = new URL(to)
  if (target.protocol !== 'redis:') throw new FreshetError('LAB_TARGET_REFUSED', `a delay can stand before redis:// only, not before ${target.protocol}//${target.host}; leave out --rtt-ms`)
  // of a session of its own, so that Ctrl-C does not reach it before the load has ended
  const child = fork(PROCESS, [], { detached: true, execArgv: [], env: { ...process.env, NODE_OPTIONS: '' }, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  let isClosing = false
  const exited = /** @type {Promise<string>} */ (new Promise((resolve) => {
    child.once('exit', (status, signal) => resolve(signal ? `by ${signal}` : `with status ${status}`))
    child.once('error', (error) => resolve(`before it began: ${error.message}`))
  }))
  /** @type {((answer: any) => void)[]} questions are answered in order */
  const asked = []
  child.on('message', (answer) => asked.shift()?.(answer))
  /** @param {object} question @returns {Promise<any>} the answer; null when the relay ended */
  const ask = (question) => Promise.race([
    new Promise((resolve) => {
      if (!child.connected) return
      asked.push(resolve)
      child.send(question, () => {})
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
  const listening = await ask({ event: 'start', host: bareHost(target), port: Number(target.port || 6379), halfMs: ms / 2 })
  clearTimeout(late)
  if (!listening) throw new FreshetError('SERVERS_FAILED', `the process that delays the line to ${target.host} ended ${await exited} before it could begin`)
  target.hostname = '127.0.0.1'
  target.port = String(listening.port)
  return {
    url: target.href,
    pid: child.pid,
    died: new Promise((resolve) => { exited.then((how) => { if (!isClosing) resolve(`the delay before ${new URL(to).host} ended ${how}`) }) }),
    cpuSeconds: async () => (await ask({ event: 'usage' }))?.cpuSeconds ?? null,
    close
  }
}
