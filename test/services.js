/**
 * Readers, gateways and consumers in the process of a test, with the flags of their commands: the same wiring on a free port, without
 * the start of a process. They close with the test. Where the command itself is tested, or is killed, see commands.js.
 *
 * @typedef {ReturnType<typeof startService>} Service
 */
import { pino } from 'pino'
import { serve as serveReader } from '../readers/server.js'
import { resolve } from '../settings.js'
import { layoutNames } from '../src/layouts/index.js'
import { ackNames } from '../src/pipeline/index.js'
import { withTarget } from '../src/embedded/index.js'
import { serve as serveConsumers } from '../writers/consumers.js'
import { serve as serveGateway } from '../writers/gateway.js'
import { askAt, CACHE_DIR, sendTo } from './commands.js'
import { eventually } from './servers.js'

/** Unless a test sets its own: a busy machine may need it. */
const PATIENT = Object.freeze({ FRESHET_CACHE_DIR: CACHE_DIR, FRESHET_DEADLINE_MS: '10000' })

/**
 * @typedef {{ redisUrl: string, keyPrefix?: string, flags?: string[], env?: Record<string, string> }} Options `flags` as on the command
 *   line; `env` as the environment of the command
 * @typedef {(settings: any, target: import('../src/embedded/index.js').Target, log: import('pino').Logger, signal: AbortSignal,
 *   up: (message: any) => unknown) => Promise<number>} Serve
 */

/**
 * @param {import('tap').Test} t @param {{ command: string, acks?: string[] }} known @param {Serve} serve
 * @param {Options} options @param {string[]} [ownFlags]
 */
function startService (t, { command, acks = [] }, serve, { redisUrl, keyPrefix, flags = [], env = {} }, ownFlags = []) {
  const prefix = keyPrefix === undefined ? [] : ['--key-prefix', keyPrefix]
  const argv = ['--redis-url', redisUrl, ...prefix, ...ownFlags, ...flags]
  /** @type {any} */
  const settings = resolve(argv, { ...PATIENT, ...env }, { command, layouts: command === 'consumers' ? [] : layoutNames(), acks })
  const text = { log: '' }
  const log = pino({ level: settings.logLevel, base: { pid: process.pid, role: command } }, { write: (line) => { text.log += line } })
  const controller = new AbortController()
  const stopping = { signal: controller.signal, stop: (/** @type {string} */ reason) => controller.abort(reason) }
  const isUp = deferred()
  const ended = withTarget(settings, { env, report: (line) => log.info(line), stopping }, (target) =>
    serve(settings, target, log, controller.signal, isUp.resolve))
  ended.then(() => isUp.reject(new Error(`the ${command} ended before it was up: ${text.log}`)), isUp.reject)
  isUp.promise.catch(() => {})
  t.teardown(async () => {
    controller.abort('test')
    await ended.catch(() => {})
  })
  return {
    /** Its message once it is up. @type {Promise<any>} */
    up: isUp.promise,
    /** JSON lines. */
    get log () { return text.log },
    /** Waits until its log matches. @param {RegExp} pattern */
    until: (pattern) => eventually(() => {
      const match = pattern.exec(text.log)
      if (!match) throw new Error(`the ${command} logs nothing like ${pattern}: ${text.log.slice(-2000)}`)
      return match
    }),
    /** As Ctrl-C does. @returns {Promise<number>} exit status; rejects with what ended it */
    stop () {
      controller.abort('SIGINT')
      return ended
    },
    /** When it ends by itself. @type {Promise<number>} */
    ended
  }
}

function deferred () {
  /** @type {any} */
  const made = {}
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }))
  return made
}

/** A reader that is up. @param {import('tap').Test} t @param {Options & { port?: number }} options `port`: 0 = a free one */
export async function startReader (t, { port = 0, ...options }) {
  const service = startService(t, { command: 'reader' }, serveReader, options, ['--port', String(port)])
  const { url } = await service.up
  return { service, url, ...askAt(url) }
}

/** A gateway on a free port, up. @param {import('tap').Test} t @param {Options} options */
export async function startGateway (t, options) {
  const service = startService(t, { command: 'gateway', acks: ackNames() }, serveGateway, options, ['--port', '0'])
  const { url } = await service.up
  return { service, url, ...sendTo(url) }
}

/**
 * Consumers that have taken a partition.
 * @param {import('tap').Test} t
 * @param {Options & { leaseMs?: number, isOwner?: boolean }} options `isOwner: false` does not wait for a partition
 */
export async function startConsumers (t, { leaseMs, isOwner = true, ...options }) {
  /** @type {Serve} */
  const serve = (settings, target, log, signal, up) => serveConsumers(settings, target, log, signal, { up, leaseMs })
  const service = startService(t, { command: 'consumers' }, serve, options)
  await service.up
  if (isOwner) await service.until(/partition taken/)
  return { service }
}
