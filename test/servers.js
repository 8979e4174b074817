/**
 * Real servers for tests. Every server has its own free port on 127.0.0.1 and its own temp folder, keeps nothing on
 * disk unless asked to, and is gone when the test that started it ends. No other server is ever touched.
 *
 * @typedef {import('../src/embedded/engine.js').Engine} Engine
 * @typedef {Awaited<ReturnType<typeof startServer>>} Server
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { pino } from 'pino'
import { openFeedWriter } from '../src/pipeline/feed-writer.js'
import { openConnection } from '../src/store/connection.js'
import { enginesFound } from '../src/embedded/engine.js'
import { createGuard, freePort, isPortTaken, PORTS_TRIED } from '../src/embedded/server-process.js'
import { until } from '../lab/cluster/until.js'

export { freePort }

const FOUND = 'FRESHET_TEST_FOUND'
const RUNNER = 'FRESHET_TEST_RUNNER'
const WANTED = ['valkey', 'redis']
const START_DEADLINE_MS = 30_000
const LOOK_EVERY_MS = 1000
/** what a busy machine may need; only a failure takes as long */
const DEADLINE_MS = 60_000
const POLL_MS = 10
/** Thousands of questions in a long wait would cost more than what is waited for. */
const MOST_POLL_MS = 100
const KEEPS_NOTHING = ['--bind', '127.0.0.1', '--daemonize', 'no', '--save', '', '--appendonly', 'no', '--loglevel', 'notice',
  '--repl-diskless-sync', 'yes', '--repl-diskless-sync-delay', '0', '--repl-diskless-load', 'on-empty-db']

/**
 * The engines that suites run on. An absent one is named on stderr, and is a failure when FRESHET_TEST_ENGINES
 * (valkey, redis, separated by commas) asks for it.
 * @returns {Promise<Engine[]>} one of each name and version
 */
export async function testEngines () {
  const { env } = process
  // asking each program for its version in each file would take seconds
  if (env[FOUND]) return JSON.parse(env[FOUND])
  const cacheDir = env.FRESHET_CACHE_DIR || fileURLToPath(new URL('../.freshet', import.meta.url))
  const found = await enginesFound({ env, cacheDir })
  const engines = [...new Map(found.toReversed().map((engine) => [`${engine.name} ${engine.version}`, engine])).values()]
  const absent = WANTED.filter((name) => !engines.some((engine) => engine.name === name))
  if (absent.length) process.stderr.write(`# not tested here, no such server: ${absent.join(', ')}\n`)
  const asked = (env.FRESHET_TEST_ENGINES ?? '').split(',').map((name) => name.trim()).filter(Boolean)
  const missing = asked.filter((name) => !engines.some((engine) => engine.name === name))
  if (missing.length) {
    throw new Error(`FRESHET_TEST_ENGINES asks for ${missing.join(', ')}; found ` +
      `${engines.map((engine) => engine.program).join(', ') || 'no server program'}`)
  }
  if (engines.length === 0) throw new Error('no server program to test on: install valkey-server or redis-server')
  return engines
}

/** Environment of the files of a run, which then need not look for engines. @returns {Promise<Record<string, string>>} */
export const shareEngines = async () => ({ [FOUND]: JSON.stringify(await testEngines()), [RUNNER]: String(process.pid) })

/** @param {Engine} engine @returns {string} for titles: `valkey 9.1.2` */
export const engineName = ({ name, version }) => `${name} ${version}`

const runner = Number(process.env[RUNNER])
// should the runner be killed, its lanes and the files in processes of their own end, and their servers and commands with them
if (runner) setInterval(endWithRunner, LOOK_EVERY_MS).unref()

function endWithRunner () {
  try {
    process.kill(runner, 0)
  } catch {
    process.exit(1)
  }
}

const guard = createGuard()
/** @type {Set<number>} process ids of servers */
const running = new Set()

/** Should this process be killed, the server goes too. @param {import('node:child_process').ChildProcess} server */
function watch (server) {
  const { pid } = server
  if (pid === undefined) return
  guard.watch([...running.add(pid)])
  server.once('exit', () => {
    running.delete(pid)
    guard.watch([...running])
  })
}

/**
 * @param {import('tap').Test} t
 * @param {{ engine: Engine, args?: string[], replicaOf?: { port: number } | null, port?: number, tls?: Tls | null,
 *   env?: Record<string, string> }} options `args` as on the command line of the server, such as `['--maxmemory', '20mb']`; `env` besides
 *   that of this process
 * @typedef {import('./certificates.js').Files & { asks?: boolean }} Tls TLS and nothing else, to replicas too; `asks` its
 *   clients for a certificate
 */
export async function startServer (t, { engine, args = [], replicaOf = null, port: wantedPort, tls = null, env = {} }) {
  const folder = await mkdtemp(join(tmpdir(), 'freshet-test-'))
  let port = wantedPort ?? 0
  /** @type {import('node:child_process').ChildProcess} */
  let child
  let log = ''

  async function start () {
    const role = replicaOf ? ['--replicaof', '127.0.0.1', String(replicaOf.port)] : []
    log = ''
    child = spawn(engine.program, [...listenArgs(port, tls), '--dir', folder, ...KEEPS_NOTHING, ...role, ...args],
      { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } })
    const mine = child
    watch(mine)
    for (const stream of [mine.stdout, mine.stderr]) stream?.on('data', (chunk) => { log = (log + chunk).slice(-20_000) })
    const until = Date.now() + START_DEADLINE_MS
    // its own word first: another server may hold the port
    while (!(log.includes('Ready to accept connections') && await answersPing(port, tls))) {
      if (mine.exitCode !== null || Date.now() > until) {
        throw new Error(`${engineName(engine)} did not start on port ${port}:\n${log.slice(-1000)}`)
      }
      await pause(POLL_MS)
    }
  }

  async function kill () {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }

  async function stop () {
    await kill()
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }

  for (let attempt = 1; ; attempt++) {
    port = wantedPort ?? await freePort()
    try {
      await start()
      break
    } catch (error) {
      await kill()
      if (wantedPort || attempt === PORTS_TRIED || !isPortTaken(log)) {
        await stop()
        throw error
      }
    }
  }
  t.teardown(stop)

  return {
    get port () { return port },
    get url () { return tls ? `rediss://127.0.0.1:${port}?ca=${tls.ca}` : `redis://127.0.0.1:${port}` },
    get process () { return child },
    get pid () { return /** @type {number} */ (child.pid) },
    /** Ends it with SIGKILL; its folder stays, for `restart`. */
    kill,
    freeze: () => { child.kill('SIGSTOP') },
    thaw: () => { child.kill('SIGCONT') },
    /** Starts it again in its folder, on its port or another one. @param {{ port?: number }} [at] */
    async restart (at = {}) {
      await kill()
      port = at.port ?? port
      await start()
    },
    /** Ends it and removes its folder. */
    stop
  }
}

/** @param {number} port @param {Tls | null} tls @returns {string[]} */
const listenArgs = (port, tls) => tls === null
  ? ['--port', String(port)]
  : ['--port', '0', '--tls-port', String(port), '--tls-cert-file', tls.cert, '--tls-key-file', tls.key, '--tls-ca-cert-file', tls.ca,
      '--tls-auth-clients', tls.asks ? 'yes' : 'no', '--tls-replication', 'yes']

/**
 * @param {import('tap').Test} t
 * @param {{ engine: Engine, replicas?: number, args?: string[], password?: string, tls?: Tls | null }} options `password`: what
 *   `args` ask for
 * @returns {Promise<{ primary: Server, replicas: Server[] }>} in sync
 */
export async function startDeployment (t, { engine, replicas: count = 2, args = [], password = '', tls = null }) {
  const primary = await startServer(t, { engine, args: ['--repl-ping-replica-period', '1', ...args], tls })
  const replicas = await Promise.all(Array.from({ length: count }, () => startServer(t, { engine, args, replicaOf: primary, tls })))
  await Promise.all(replicas.map((replica) => inSync(replica, password)))
  await replicationSays(primary, password, (info) => (info.match(/state=online/g)?.length ?? 0) === count)
  return { primary, replicas }
}

/** Resolves when it follows its primary. @param {{ url: string }} replica @param {string} [password] */
export const inSync = (replica, password) => replicationSays(replica, password, (info) => info.includes('master_link_status:up'))

/** @param {{ url: string }} server @param {string | undefined} password @param {(info: string) => boolean} check */
const replicationSays = ({ url }, password = '', check) => eventually(async () => {
  const connection = await openConnection(url.replace('//', `//:${password}@`), { name: 'test', deadlineMs: DEADLINE_MS })
  try {
    return check(String(await connection.send('INFO', 'replication')))
  } finally {
    connection.close()
  }
})

/**
 * As `until` of the lab, with the deadline of tests.
 * @template T
 * @param {() => T | Promise<T>} check
 * @param {{ deadlineMs?: number, everyMs?: number }} [options] `everyMs`: longer for a check that costs much
 * @returns {Promise<Exclude<T, false>>} what it answered
 */
export const eventually = (check, { deadlineMs = DEADLINE_MS, everyMs = POLL_MS } = {}) =>
  until(check, { deadlineMs, everyMs, mostMs: MOST_POLL_MS })

/**
 * A connection to a server that runs; it closes with the test. On a busy machine it may not open within a short deadline at once.
 * @param {import('tap').Test} t @param {string} url @param {{ deadlineMs?: number }} [options] as openConnection
 */
export async function connectFor (t, url, { deadlineMs = DEADLINE_MS } = {}) {
  const connection = await eventually(() => openConnection(url, { name: 'test', deadlineMs }))
  t.teardown(() => connection.close())
  return connection
}

let writers = 0

/**
 * A feed writer with the defaults of settings.js, closed with the test.
 * @param {import('tap').Test} t
 * @param {{ redisUrl: string } & Partial<Parameters<typeof openFeedWriter>[0]>} options
 */
export async function openWriterFor (t, options) {
  const writer = await openFeedWriter({
    keyPrefix: 'fr:',
    feed: 'latest',
    layout: 'ids',
    partitions: 1,
    windowMs: 60_000,
    maxItems: 1_000_000,
    maxFutureMs: 60_000,
    late: 'newest',
    name: `test-writer-${++writers}`,
    deadlineMs: 2000,
    batchItems: 1000,
    batchBytes: 1024 * 1024,
    batchMs: 5,
    inFlightBytes: 16 * 1024 * 1024,
    whenFull: 'block',
    ack: 'primary',
    clock: () => performance.timeOrigin + performance.now(),
    log: silentLog,
    ...options
  })
  t.teardown(() => writer.close({ drainMs: 0 }))
  return writer
}

export const silentLog = pino({ level: 'silent' })

/**
 * @param {number} port
 * @param {Tls | null} tls
 * @returns {Promise<boolean>} whether it answers, if only to ask for a password; with TLS, whether it listens
 */
const answersPing = (port, tls) => new Promise((resolve) => {
  const socket = connect(port, '127.0.0.1', () => tls ? settle(true) : socket.write('PING\r\n'))
  const settle = (/** @type {boolean} */ answers) => {
    socket.destroy()
    resolve(answers)
  }
  socket.setTimeout(1000, () => settle(false))
  socket.once('error', () => settle(false)).once('close', () => settle(false))
  socket.once('data', (reply) => settle(/^(\+PONG|-NOAUTH)/.test(String(reply))))
})
