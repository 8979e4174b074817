/**
 * The processes that `npm start` and `npm start demo` run: ordinary commands with ordinary flags, one line of output each.
 *
 * A process that ends after it was up is started again on its port, after a wait and at most five times in a minute, as an orchestrator
 * would. Readers get the list of restarts for their pages. A process that never comes up ends the command.
 */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { flagsOf as flagsOfAll } from '../settings.js'
import { withTarget } from '../src/embedded/index.js'
import { expectFreePort } from '../src/http/index.js'
import { aborted, listenForStop, visible } from '../src/runtime/index.js'
import { hostsOf } from '../src/store/index.js'

const FRESHET = fileURLToPath(new URL('./freshet.js', import.meta.url))
/** all processes stop within 5 s */
export const DRAIN_MS = 2500
const KILL_AFTER_MS = 4000
/** embedded servers, which a child may have to wait for, are ready within 240 s */
const UP_WITHIN_MS = 300_000
const RESTARTS_SHOWN = 3
/** A Ctrl-C reaches all processes of a terminal, and ends those that still load their modules. @type {(NodeJS.Signals | null)[]} */
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP']

/**
 * @typedef {{ command: string, child: import('node:child_process').ChildProcess | null, isUp: boolean, up: Promise<any>,
 *   timer?: NodeJS.Timeout }} Child `child`: null while it waits to be started again; `isUp`: this process is; `up`: the first message of
 *   the first one
 * @typedef {{ command: string, how: string, at: number, backAt: number | null }} Restart `how` it ended; ms since 1970
 */

/** @typedef {ReturnType<typeof createChildren>} Children */

const print = (/** @type {string} */ what, /** @type {string} */ text) => process.stderr.write(`${what.padEnd(8)} ${visible(text)}\n`)

/** @param {any} settings @param {string[]} names of the settings that a command takes over @returns {string[]} flags */
export const flagsOf = (settings, names) => flagsOfAll(Object.fromEntries(names.map((name) => [name, settings[name]])))

/**
 * Servers and children until a stop request, or until one of them ends for good.
 * @param {any} settings with the ports of reader and gateway @param {Record<string, string | undefined>} env
 * @param {(children: Children, signal: AbortSignal) => Promise<void>} startAll
 * @returns {Promise<number>} exit status
 */
export async function runChildren (settings, env, startAll) {
  // reader and gateway take the host from the environment
  const host = env.FRESHET_HOST || '127.0.0.1'
  await expectFreePort({ host, port: settings.port, setting: 'port' })
  await expectFreePort({ host, port: settings.gatewayPort, setting: 'gateway-port' })
  let status = 0
  const stopping = listenForStop({ onStop: () => print('stopping', 'flushing; then servers that no other command uses are stopped') })
  /** @type {Children | undefined} */
  let children
  // after a second Ctrl-C
  const killAll = () => children?.kill()
  process.once('exit', killAll)
  const fail = (/** @type {string} */ reason) => {
    if (!stopping.signal.aborted) status = 1
    stopping.stop(reason)
  }
  try {
    return await withTarget(settings, { env, report: (line) => print('servers', line), stopping }, async (target) => {
      const { primaryUrl, replicaUrls } = target
      print('servers', [...hostsOf(primaryUrl),
        ...(replicaUrls ?? []).map((url) => `replica ${hostOf(url)}`)].join(', '))
      children = createChildren(settings, target, { signal: stopping.signal, fail })
      await Promise.race([startAll(children, stopping.signal), aborted(stopping.signal)])
      await aborted(stopping.signal)
      const isWell = await children.stop()
      return status || (isWell ? 0 : 1)
    })
  } finally {
    process.off('exit', killAll)
    stopping.done()
  }
}

const hostOf = (/** @type {string} */ url) => new URL(url).host

/**
 * @param {any} settings @param {import('../src/embedded/index.js').Target} target
 * @param {{ signal: AbortSignal, fail: (reason: string) => void }} lifecycle `fail`: a child ended for good
 */
export function createChildren (settings, { primaryUrl, replicaUrls }, { signal, fail }) {
  // URLs may contain a password; arguments of a process are visible to all users
  /** @type {Record<string, string | undefined>} */
  const env = {
    ...process.env,
    FRESHET_REDIS_URL: primaryUrl,
    ...(replicaUrls && { FRESHET_REPLICA_URL: replicaUrls.join(',') }),
    ...(settings.databaseUrl && { FRESHET_DATABASE_URL: settings.databaseUrl })
  }
  const level = settings.origins.logLevel === 'default' ? 'warn' : settings.logLevel
  /** @type {Child[]} */
  const children = []
  /** @type {Restart[]} */
  const restarts = []

  /** Sends the last restarts to the readers. */
  function sendRestarts () {
    const readers = children.filter(({ command, child }) => command === 'reader' && child?.connected)
    for (const { child } of readers) child?.send({ event: 'restarts', restarts }, () => {})
  }

  return {
    print,

    /**
     * @param {string} command @param {string[]} flags @param {(message: any) => string | null} upLine printed when it is up
     * @param {Record<string, string>} [secrets] more of its environment
     * @returns {Child}
     */
    start (command, flags, upLine, secrets = {}) {
      let resolve = (/** @type {any} */ _message) => {}
      const up = new Promise((_resolve) => { resolve = _resolve })
      const waitMs = createBackOff()
      const started = /** @type {Child} */ ({ command, child: null, isUp: false, up })
      /** @type {Restart | null} while it is not up again */
      let restart = null
      let isUp = false
      let again = [command, ...flags, '--log-level', level]

      function run () {
        if (!signal.aborted) started.child = forkChild(command, again, { ...env, ...secrets }, { onUp, onEnd })
      }

      /** @param {any} message */
      function onUp (message) {
        again = withPort(again, message.url)
        started.isUp = true
        if (signal.aborted) return
        const line = restart ? 'is up again' : upLine(message)
        if (line !== null) print(command, line)
        if (restart) restart.backAt = Date.now()
        restart = null
        isUp = true
        resolve(message)
        sendRestarts()
      }

      /** @param {string} how */
      function onEnd (how) {
        resolve({})
        if (signal.aborted) return
        const ms = isUp ? waitMs() : null
        if (ms === null) {
          print(command, `exited unexpectedly (${how})${isUp ? `, the ${MOST + 1}th time within a minute` : ''}`)
          return fail(`${command} ended`)
        }
        print(command, `exited unexpectedly (${how}); starting it again in ${ms / 1000} s`)
        Object.assign(started, { child: null, isUp: false })
        started.timer = setTimeout(run, ms)
        restart = { command, how, at: Date.now(), backAt: null }
        restarts.push(restart)
        restarts.splice(0, restarts.length - RESTARTS_SHOWN)
        sendRestarts()
      }

      children.push(started)
      run()
      return started
    },

    /** Stops all. @returns {Promise<boolean>} whether all ended well */
    stop: async () => (await Promise.all(children.map(end))).every((code) => code === 0),

    /** Ends all at once. */
    kill () { for (const { child } of children) child?.kill('SIGKILL') }
  }
}

/**
 * @param {string} command @param {string[]} words @param {Record<string, string | undefined>} env
 * @param {{ onUp: (message: any) => void, onEnd: (how: string) => void }} calls
 */
function forkChild (command, words, env, { onUp, onEnd }) {
  const child = fork(FRESHET, words, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], env })
  const late = setTimeout(() => {
    print(command, `not up after ${UP_WITHIN_MS / 1000} s; killed`)
    child.kill('SIGKILL')
  }, UP_WITHIN_MS)
  child.on('message', (/** @type {any} */ message) => {
    if (message.event !== 'up') return
    clearTimeout(late)
    onUp(message)
  })
  const ended = (/** @type {string} */ how) => {
    clearTimeout(late)
    onEnd(how)
  }
  child.once('exit', (code, killedBy) => ended(killedBy ?? `exit status ${code}`))
  child.on('error', (error) => { if (child.pid === undefined) ended(error.message) })
  return child
}

/** Others know the port that it got. @param {string[]} words @param {string} [url] */
const withPort = (words, url) => words.map((word, i) => url && words[i - 1] === '--port' && word === '0' ? new URL(url).port : word)

/**
 * @param {Child} started
 * @returns {Promise<number | null>} its exit status, null if it was killed
 */
async function end ({ command, child, isUp, timer }) {
  clearTimeout(timer)
  // it waits, or its exit was reported
  if (child === null) return 0
  const wasStopped = () => !isUp && STOP_SIGNALS.includes(child.signalCode)
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return wasStopped() ? 0 : child.exitCode
  const exited = new Promise((resolve) => child.once('exit', resolve))
  // a process that still loads its modules reads no message, and has nothing to flush
  if (!isUp) child.kill('SIGTERM')
  else if (child.connected) child.send({ event: 'stop' }, () => {})
  const late = setTimeout(() => {
    print(command, `still running after ${KILL_AFTER_MS / 1000} s; killed`)
    child.kill('SIGKILL')
  }, KILL_AFTER_MS)
  await exited
  clearTimeout(late)
  if (wasStopped()) return 0
  if (child.exitCode !== 0) print(command, `ended with ${child.signalCode ?? `exit status ${child.exitCode}`}`)
  return child.exitCode
}

// When a process that ended may start again: after 0.5, 1, 2, 4 and 8 s, and at most five times in a minute.

const FIRST_WAIT_MS = 500
const MOST = 5
const MINUTE_MS = 60_000

/**
 * @param {() => number} [now] ms
 * @returns {() => number | null} called when it ended: how long to wait, in ms; null = it has ended too often
 */
export function createBackOff (now = performance.now.bind(performance)) {
  /** @type {number[]} */
  let recent = []
  return () => {
    recent = recent.filter((at) => now() - at < MINUTE_MS)
    if (recent.length === MOST) return null
    recent.push(now())
    return FIRST_WAIT_MS * 2 ** (recent.length - 1)
  }
}
