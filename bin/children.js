/** The processes that `npm start` and `npm start demo` run: ordinary commands with ordinary flags, one line of output each. */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { flagsOf as flagsOfAll } from '../settings.js'
import { expectFreePort } from '../src/http/index.js'
import { aborted, listenForStop, visible } from '../src/runtime/index.js'
import { withTarget } from '../src/store/index.js'

const FRESHET = fileURLToPath(new URL('./freshet.js', import.meta.url))
/** all processes stop within 5 s */
export const DRAIN_MS = 2500
const KILL_AFTER_MS = 4000

/**
 * @typedef {{ command: string, child: import('node:child_process').ChildProcess, up: Promise<any> }} Child `up`: its message, once it
 *   is up
 */

/** @typedef {ReturnType<typeof createChildren>} Children */

const print = (/** @type {string} */ what, /** @type {string} */ text) => process.stderr.write(`${what.padEnd(8)} ${visible(text)}\n`)

/** @param {any} settings @param {string[]} names of the settings that a command takes over @returns {string[]} flags */
export const flagsOf = (settings, names) => flagsOfAll(Object.fromEntries(names.map((name) => [name, settings[name]])))

/**
 * Servers and children until a stop request, or until one of them ends.
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
  const fail = (/** @type {string} */ reason) => {
    if (!stopping.signal.aborted) status = 1
    stopping.stop(reason)
  }
  try {
    return await withTarget(settings, { env, report: (line) => print('servers', line), stopping }, async (target) => {
      const { primaryUrl, replicaUrls } = target
      print('servers', [`primary ${hostOf(primaryUrl)}`, ...(replicaUrls ?? []).map((url) => `replica ${hostOf(url)}`)].join(', '))
      const children = createChildren(settings, target, { signal: stopping.signal, fail })
      await startAll(children, stopping.signal)
      await aborted(stopping.signal)
      const isWell = await children.stop()
      return status || (isWell ? 0 : 1)
    })
  } finally {
    stopping.done()
  }
}

const hostOf = (/** @type {string} */ url) => new URL(url).host

/**
 * @param {any} settings @param {import('../src/store/index.js').Target} target
 * @param {{ signal: AbortSignal, fail: (reason: string) => void }} lifecycle `fail`: a child ended by itself
 */
function createChildren (settings, { primaryUrl, replicaUrls }, { signal, fail }) {
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
  return {
    print,

    /**
     * @param {string} command @param {string[]} flags @param {(message: any) => string} upLine printed when it is up
     * @returns {Child}
     */
    start (command, flags, upLine) {
      const child = fork(FRESHET, [command, ...flags, '--log-level', level], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], env })
      const up = new Promise((resolve) => child.once('exit', resolve).once('message', resolve))
      child.on('message', (/** @type {any} */ message) => {
        if (message.event === 'up' && !signal.aborted) print(command, upLine(message))
      })
      child.once('exit', (code, killedBy) => {
        if (signal.aborted) return
        print(command, `exited unexpectedly (${killedBy ?? `exit status ${code}`})`)
        fail(`${command} ended`)
      })
      children.push({ command, child, up })
      return /** @type {Child} */ (children.at(-1))
    },

    /** Stops all. @returns {Promise<boolean>} whether all ended well */
    stop: async () => (await Promise.all(children.map(end))).every((code) => code === 0)
  }
}

/**
 * @param {Child} started
 * @returns {Promise<number | null>} its exit status, null if it was killed
 */
async function end ({ command, child }) {
  // its exit was reported
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
  const exited = new Promise((resolve) => child.once('exit', resolve))
  if (child.connected) child.send({ event: 'stop' }, () => {})
  const timer = setTimeout(() => {
    print(command, `still running after ${KILL_AFTER_MS / 1000} s; killed`)
    child.kill('SIGKILL')
  }, KILL_AFTER_MS)
  await exited
  clearTimeout(timer)
  if (child.exitCode !== 0) print(command, `ended with ${child.signalCode ?? `exit status ${child.exitCode}`}`)
  return child.exitCode
}
