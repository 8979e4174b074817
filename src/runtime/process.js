/**
 * Start and end of the process files of writer, reader and gateway: help, settings, log, stop signals, servers.
 */
import { fork } from 'node:child_process'
import { withTarget } from '../embedded/index.js'
import { listenForStop } from './lifecycle.js'
import { createLog } from './logging.js'

/**
 * Runs several processes of one file as one: they start together when all are ready, and stop together.
 *
 *     parent -> member   { event: 'start', ...its order, index }
 *     member -> parent   { event: 'opened' }        ready; waits for `go`
 *     parent -> member   { event: 'go' }            all that still run are ready
 *     member -> parent   { event: 'measuring' }     its warm-up is over
 *     member -> parent   { event: 'done', ... }     its result
 *     parent -> member   { event: 'stop', reason }
 *
 * The caller handles other messages, and members that end without a result.
 */

/**
 * @typedef {{ last: any, fault: string | null }} Ended `last`: its `done` message; null = none, and `fault` says
 *   how it ended
 *
 * @param {{ file: URL, size: number, order: Record<string, unknown>, stdout: 'inherit' | 'ignore', signal: AbortSignal,
 *   onMeasuring: () => void, onMessage?: (index: number, message: any) => void, onEnded?: (index: number, ended: Ended) => void }} parts
 *   `order`: sent to each member; `onMeasuring`: all members that still run are measuring
 * @returns {Promise<Ended[]>} by index, when all have ended
 */
export async function runCrew ({ file, size, order, stdout, signal, onMeasuring, onMessage = () => {}, onEnded = () => {} }) {
  let isMeasuring = false
  const opened = createGate(size, () => members.forEach(({ send }) => send({ event: 'go' })))
  const measuring = createGate(size, () => { if (isMeasuring) onMeasuring() })
  const members = Array.from({ length: size }, (_, index) => startMember(file, stdout, (message) => {
    // the caller first, because it stores the contents of the message
    onMessage(index, message)
    if (message.event === 'opened') opened(index)
    if (message.event === 'measuring') {
      isMeasuring = true
      measuring(index)
    }
  }))
  const stop = () => members.forEach(({ send }) => send({ event: 'stop', reason: signal.reason }))
  members.forEach(({ send }, index) => send({ event: 'start', ...order, index }))
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  try {
    return await Promise.all(members.map(async ({ ended }, index) => {
      const how = await ended
      onEnded(index, how)
      // the others do not wait for it any more
      opened(index)
      measuring(index)
      return how
    }))
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Calls `then` when each index has arrived at least once. @param {number} all @param {() => void} then */
function createGate (all, then) {
  /** @type {Set<number>} */
  const arrived = new Set()
  return (/** @type {number} */ index) => {
    if (arrived.has(index)) return
    arrived.add(index)
    if (arrived.size === all) then()
  }
}

/** @param {URL} file @param {'inherit' | 'ignore'} stdout @param {(message: any) => void} onMessage */
function startMember (file, stdout, onMessage) {
  const child = fork(file, { stdio: ['ignore', stdout, 'inherit', 'ipc'] })
  /** @type {any} */
  let last = null
  child.on('message', (/** @type {any} */ message) => {
    if (message.event === 'done') last = message
    onMessage(message)
  })
  const ended = /** @type {Promise<Ended>} */ (new Promise((resolve) => {
    child.once('error', (error) => resolve({ last, fault: `could not be started: ${error.message}` }))
    // its last message may arrive after its exit, but before the channel closes
    const disconnected = new Promise((resolve) => { child.once('disconnect', () => resolve(null)) })
    child.once('exit', (code, killedBy) => disconnected.then(() => resolve({ last, fault: last ? null : killedBy ?? `exit ${code}` })))
  }))
  return {
    send: (/** @type {object} */ message) => { if (child.connected) child.send(message, () => {}) },
    ended
  }
}

/**
 * @param {{ argv: string[], env: Record<string, string | undefined> }} from
 * @param {object} command
 * @param {Pick<typeof import('../../settings.js'), 'printable' | 'settingsOf'>} command.table passed in, because only
 *   process files read settings
 * @param {Parameters<typeof import('../../settings.js').settingsOf>[1]} command.context
 * @param {string} command.usage first lines of the help
 * @param {string} command.stopping log message of a stop request
 * @param {(settings: any) => Promise<void>} [command.check] rejects settings that cannot work, before servers are started
 * @param {(settings: any, target: import('../embedded/index.js').Target, log: import('pino').Logger,
 *   signal: AbortSignal) => Promise<number>} run
 * @returns {Promise<number>} exit status, 0 also when it was stopped before its servers were ready
 */
export async function runProcess (from, { table, context, usage, stopping: words, check = async () => {} }, run) {
  const settings = await table.settingsOf(from, context, usage)
  if (settings === null) return 0
  await check(settings)
  const log = createLog({ level: settings.logLevel, role: context.command })
  log.info({ settings: shownSettings(table.printable(settings), settings.origins) }, 'settings')
  const stopping = listenForStop({ onStop: (reason) => log.info({ reason }, words) })
  try {
    return await withTarget(settings, { env: from.env, report: (line) => log.info(line), stopping }, (target) =>
      run(settings, target, log, stopping.signal))
  } catch (error) {
    // an embedded database that was not ready yet
    if (error.isStopped && stopping.signal.aborted) return 0
    throw error
  } finally {
    stopping.done()
  }
}

/**
 * In log files all settings, at a terminal those that were given.
 * @param {Record<string, any>} printable @param {Record<string, string>} origins
 */
const shownSettings = (printable, origins) => process.stderr.isTTY
  ? Object.fromEntries(Object.entries(printable).filter(([name]) => origins[name] !== 'default'))
  : printable
