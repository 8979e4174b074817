/**
 * The writer in the process of a test, with the flags, output and exit status of its command: the same wiring without the start of a
 * process. Where the command itself is tested, is killed, or its memory is measured, see commands.js.
 *
 * @typedef {ReturnType<typeof startWriter>} RunningWriter
 */
import { PassThrough } from 'node:stream'
import { pino } from 'pino'
import { resolve } from '../../settings.js'
import { layoutNames } from '../../src/layouts/index.js'
import { ackNames } from '../../src/pipeline/index.js'
import { write } from '../../writers/feed.js'
import { eventually } from '../servers.js'

/** Unless a test sets its own: a busy machine may need it. */
const PATIENT = Object.freeze({ FRESHET_DEADLINE_MS: '10000', FRESHET_DRAIN_MS: '60000' })
/** the tests write one line */
const lastLine = (/** @type {string} */ text) => /** @type {string} */ (text.trim().split('\n').at(-1))

/**
 * @param {import('tap').Test} t
 * @param {string[]} flags as on the command line
 * @param {{ redisUrl: string, keyPrefix?: string, env?: Record<string, string>, input?: string | Buffer | null, isTTY?: boolean }} options
 *   `input` is all of standard input; null leaves it open, to be written by the test. `isTTY`: of standard output, which then is text
 */
export function startWriter (t, flags, { redisUrl, keyPrefix, env = {}, input = '', isTTY = false }) {
  const prefix = keyPrefix === undefined ? [] : ['--key-prefix', keyPrefix]
  const text = { stdout: '', stderr: '' }
  // a file is compared with standard input: with that of this process
  const stdin = Object.assign(new PassThrough(), { fd: 0 })
  stdin.on('error', () => {}) // a writer may end before it has read all of it
  if (input !== null) stdin.end(input)
  const streams = {
    stdin,
    stdout: { isTTY, write: (/** @type {string} */ more) => { text.stdout += more } },
    stderr: { write: (/** @type {string} */ more) => { text.stderr += more } }
  }
  const controller = new AbortController()
  let isOver = false

  async function run () {
    try {
      /** @type {any} */
      const settings = resolve(['--redis-url', redisUrl, ...prefix, ...flags], { ...PATIENT, ...env },
        { command: 'writer', layouts: layoutNames(), acks: ackNames() })
      const log = pino({ level: settings.logLevel, base: { pid: process.pid, role: 'writer' } }, streams.stderr)
      return await write(settings, { primaryUrl: redisUrl, replicaUrls: settings.replicaUrl }, log, controller.signal, streams)
    } catch (error) {
      if (error.exitStatus === undefined) throw error
      streams.stderr.write(`freshet writer: ${error.message}\n`)
      return Number(error.exitStatus)
    } finally {
      isOver = true
    }
  }
  const ended = run().then((code) => ({ code, ...text, summary: isTTY || text.stdout === '' ? null : JSON.parse(lastLine(text.stdout)) }))
  ended.catch(() => {})
  t.teardown(async () => {
    controller.abort('test')
    stdin.destroy()
    await ended.catch(() => {})
  })

  return {
    stdin,
    get stdout () { return text.stdout },
    get stderr () { return text.stderr },
    /** Resolves when it has ended. */
    ended: () => ended,
    /** As Ctrl-C does. */
    stop () {
      controller.abort('SIGINT')
      return ended
    },
    /** Waits until one of its outputs matches. @param {RegExp} pattern @returns {Promise<RegExpExecArray>} */
    until: (pattern) => eventually(() => {
      const match = pattern.exec(text.stdout) ?? pattern.exec(text.stderr)
      if (match) return match
      throw new Error(`the writer ${isOver ? 'ended' : 'ran on'} without ${pattern}: ${text.stderr.slice(-2000)}`)
    })
  }
}
