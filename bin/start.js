/**
 * `npm start`: servers, one reader, one gateway and one writer, with one line of output each; Ctrl-C stops all. A process file:
 * reader, gateway and writer are the ordinary commands with ordinary flags.
 */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { flagOf, help, resolve } from '../settings.js'
import { expectFreePort } from '../src/http/index.js'
import { layoutNames } from '../src/layouts/index.js'
import { aborted, listenForStop, visible } from '../src/runtime/index.js'
import { withTarget } from '../src/store/index.js'

const FRESHET = fileURLToPath(new URL('./freshet.js', import.meta.url))
const USAGE = `Usage: npm start -- [flags]

Runs embedded servers, one reader, one gateway and one writer until Ctrl-C.

Examples:
  npm start -- --rate 50000 --layout segments
  npm start -- --port 9090 --gateway-port 9091`
const TLS_AND_ACCESS = ['tokens', 'jwtIssuer', 'jwtAudience', 'jwtKeys', 'tlsCert', 'tlsKey']
const WRITER_SETTINGS = [...TLS_AND_ACCESS, 'feed', 'layout', 'windowMs', 'maxItems', 'rate', 'ids', 'valueBytes', 'keyPrefix']
const READER_SETTINGS = [...TLS_AND_ACCESS, 'corsOrigin', 'rateLimit', 'port', 'keyPrefix']
const GATEWAY_SETTINGS = [...TLS_AND_ACCESS, 'corsOrigin', 'rateLimit', 'layout', 'windowMs', 'maxItems', 'keyPrefix']
/** all processes stop within 5 s */
const DRAIN_MS = 2500
const KILL_AFTER_MS = 4000

const print = (/** @type {string} */ what, /** @type {string} */ text) => process.stderr.write(`${what.padEnd(9)}${visible(text)}\n`)

/**
 * @param {{ argv: string[], env: Record<string, string | undefined> }} process
 * @returns {Promise<number>} exit status
 */
export async function main ({ argv, env }) {
  const known = { command: 'start', layouts: layoutNames(), acks: [] }
  if (argv.includes('--help')) {
    process.stdout.write(await help(known, USAGE) + '\n')
    return 0
  }
  /** @type {any} */
  const settings = resolve(argv, env, known)
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
      const started = await startAll(settings, target, stopping.signal, fail)
      await aborted(stopping.signal)
      const ended = await Promise.all(started.map(end))
      return status || (ended.every((code) => code === 0) ? 0 : 1)
    })
  } finally {
    stopping.done()
  }
}

/** @typedef {{ command: string, child: import('node:child_process').ChildProcess }} Started */

/**
 * @param {any} settings @param {import('../src/store/index.js').Target} target @param {AbortSignal} signal
 * @param {(reason: string) => void} fail
 * @returns {Promise<Started[]>}
 */
async function startAll (settings, { primaryUrl, replicaUrls }, signal, fail) {
  // URLs may contain a password; arguments of a process are visible to all users
  /** @type {Record<string, string | undefined>} */
  const env = { ...process.env, FRESHET_REDIS_URL: primaryUrl, ...(replicaUrls && { FRESHET_REPLICA_URL: replicaUrls.join(',') }) }
  const level = settings.origins.logLevel === 'default' ? 'warn' : settings.logLevel
  /** @param {string} command @param {string[]} names @param {string[]} extra @param {(message: any) => string} upLine */
  const start = (command, names, extra, upLine) => {
    const flags = names.flatMap((name) => settings[name] === null ? [] : [`--${flagOf(name)}`, String(settings[name])])
    const child = fork(FRESHET, [command, ...flags, ...extra, '--log-level', level],
      { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], env })
    const up = new Promise((resolve) => child.once('exit', resolve).once('message', resolve))
    child.on('message', (/** @type {any} */ message) => {
      if (message.event === 'up' && !signal.aborted) print(command, upLine(message))
    })
    child.once('exit', (code, killedBy) => {
      if (signal.aborted) return
      print(command, `exited unexpectedly (${killedBy ?? `exit status ${code}`})`)
      fail(`${command} ended`)
    })
    return { command, child, up }
  }
  const drain = ['--drain-ms', String(DRAIN_MS)]
  // processes with a port first: if it is in use, nothing is written
  const serving = [
    start('reader', READER_SETTINGS, [], ({ url }) => `${url}   open this page; Ctrl-C stops everything`),
    start('gateway', GATEWAY_SETTINGS, ['--port', String(settings.gatewayPort), ...drain], ({ url }) => `${url}   POST items here`)
  ]
  await Promise.race([aborted(signal), Promise.all(serving.map(({ up }) => up))])
  if (signal.aborted) return serving
  // FRESHET_HOST is for reader and gateway; metrics of the writer stay on this machine
  const here = env.FRESHET_OPEN === 'true' ? [] : ['--host', '127.0.0.1']
  const writer = start('writer', WRITER_SETTINGS, [...drain, ...here, ...(settings.json ? ['--json'] : [])], ({ engine }) =>
    `${settings.rate.toLocaleString('en')} items/s into feed ${settings.feed}, layout ${settings.layout}, on ${engine}`)
  return [...serving, writer]
}

/**
 * @param {Started} started
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

const hostOf = (/** @type {string} */ url) => new URL(url).host
