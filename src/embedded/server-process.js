/**
 * One server process. It runs in its own session, so Ctrl-C in a terminal does not reach it, and has its own folder, which is
 * removed with it.
 *
 * A server is identified by its process id, not by its port: another server may take the port before this one listens, and would
 * answer a PING just as well.
 */
import { spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { openConnection } from '../store/index.js'

/**
 * Kills the servers when the supervisor is gone, even after kill -9. A small shell in its own session reads lines of process ids
 * from a pipe. When the pipe closes, it kills the ids of the last line. Before an orderly end the supervisor sends an empty line.
 * A guard that ends early is replaced. It keeps no process alive.
 */

const SCRIPT = 'pids=; while IFS= read -r line; do pids=$line; done; [ -z "$pids" ] || kill -9 $pids'
const REPLACE_AFTER_MS = 100

/**
 * @returns {{ watch(pids: number[]): void, release(): void, pid(): number | undefined }} `watch` replaces the
 *   watched ids and starts the guard; `release` ends the guard and kills nothing
 */
export function createGuard () {
  /** @type {number[]} */
  let watched = []
  let released = false
  /** @type {NodeJS.Timeout | undefined} */
  let replacing
  /** @type {ReturnType<typeof start> | null} */
  let shell = null

  function start () {
    const child = spawn('sh', ['-c', SCRIPT], { detached: true, stdio: ['pipe', 'ignore', 'inherit'] })
    child.stdin.on('error', () => {})
    // it waits for this process, not the other way round
    child.unref()
    const stdin = /** @type {import('node:net').Socket} */ (child.stdin)
    stdin.unref()
    child.once('exit', replace).once('error', replace)
    return child
  }

  function replace () {
    if (released) return
    clearTimeout(replacing)
    replacing = setTimeout(() => {
      shell = start()
      tell()
    }, REPLACE_AFTER_MS)
  }

  const tell = () => shell?.stdin.write(watched.join(' ') + '\n')

  return {
    watch (pids) {
      watched = pids
      shell ??= start()
      tell()
    },
    release () {
      released = true
      clearTimeout(replacing)
      shell?.stdin.end('\n')
    },
    pid: () => shell?.pid
  }
}

/** Ports of embedded servers. Another program may take a free port before a server binds it, so a start is tried again with another. */

export const PORTS_TRIED = 5

/** @returns {Promise<number>} */
export const freePort = () => new Promise((resolve, reject) => {
  // a client that connects before it closes would keep it open
  const probe = createServer((socket) => socket.destroy()).once('error', reject).listen(0, '127.0.0.1', () => {
    const { port } = /** @type {import('node:net').AddressInfo} */ (probe.address())
    probe.close(() => resolve(port))
  })
})

/** Whether a server did not start because its port was taken. @param {string} output of it */
export const isPortTaken = (output) => /Address already in use/.test(output)

const POLL_MS = 20
const CONNECTION_DEADLINE_MS = 5_000
const START_DEADLINE_MS = 60_000

// no persistence; a full server refuses writes and evicts nothing
const CONFIG = [
  '--bind', '127.0.0.1', '--protected-mode', 'yes', '--daemonize', 'no',
  '--save', '', '--appendonly', 'no',
  '--maxmemory', '2gb', '--maxmemory-policy', 'noeviction',
  '--repl-diskless-sync', 'yes', '--repl-diskless-sync-delay', '0', '--repl-diskless-load', 'on-empty-db', '--repl-backlog-size', '256mb',
  '--client-output-buffer-limit', 'replica', '512mb', '256mb', '60'
]

/**
 * @typedef {{ url: string, port: number, pid: number, exited: Promise<string>, kill(): Promise<void>, hasExited(): boolean,
 *   log(): Promise<string> }} Server `exited` resolves with the manner ("by SIGKILL", "with status 1"); `kill` resolves when
 *   process and folder are gone; `log`: its last lines
 * @typedef {{ program: string, folder: string, replicaOf?: { port: number }, args?: string[], sentinelConfig?: string }} Plan `folder`:
 *   parent of the server's own folder; `sentinelConfig`: a Sentinel, with these lines
 */

/**
 * Starts a server on a free port and waits until it answers.
 * @param {Plan & { onSpawn?: (server: Server) => void, untilReady?: (server: Server) => Promise<void> }} plan `onSpawn` is called in the
 *   same tick as each attempt; `untilReady`: until something else than the first answer
 * @returns {Promise<Server>}
 * @throws {FreshetError} SERVERS_FAILED
 */
export async function startServer ({ onSpawn = () => {}, untilReady = untilAnswering, ...plan }) {
  for (let attempt = 1; ; attempt++) {
    const server = spawnServer({ ...plan, port: await freePort() })
    onSpawn(server)
    try {
      await untilReady(server)
      return server
    } catch (error) {
      const isTaken = isPortTaken(await server.log())
      await server.kill()
      if (!isTaken || attempt === PORTS_TRIED) throw error
    }
  }
}

/** @param {Plan & { port: number }} plan @returns {Server} */
export function spawnServer ({ program, folder, replicaOf, args = [], sentinelConfig, port }) {
  const serverFolder = join(folder, String(port))
  const logFile = join(serverFolder, 'server.log')
  mkdirSync(serverFolder, { recursive: true })
  const log = openSync(logFile, 'a')
  const role = replicaOf ? ['--replicaof', '127.0.0.1', String(replicaOf.port)] : []
  const flags = sentinelConfig === undefined
    ? ['--port', String(port), ...CONFIG, ...role, ...args]
    : [sentinelFile(serverFolder, `port ${port}\ndir ${serverFolder}\n${sentinelConfig}`), '--sentinel']
  const child = spawn(program, flags, { cwd: serverFolder, detached: true, stdio: ['ignore', log, log] })
  closeSync(log)
  let hasExited = false
  const exited = /** @type {Promise<string>} */ (new Promise((resolve) => {
    child.once('exit', (status, signal) => resolve(signal ? `by ${signal}` : `with status ${status}`))
    child.once('error', (error) => resolve(`before it started: ${error.message}`))
  }))
  exited.then(() => { hasExited = true })
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    pid: child.pid ?? 0,
    exited,
    hasExited: () => hasExited,
    log: async () => (await readFile(logFile, 'utf8').catch(() => '')).trim().split('\n').slice(-5).join('\n'),
    async kill () {
      child.kill('SIGKILL')
      await exited
      await rm(serverFolder, { recursive: true, force: true })
    }
  }
}

/** @param {string} folder @param {string} text @returns {string} a configuration file, without which there is no Sentinel */
function sentinelFile (folder, text) {
  const file = join(folder, 'sentinel.conf')
  writeFileSync(file, text)
  return file
}

/** @param {Server} server @throws {FreshetError} SERVERS_FAILED */
const untilAnswering = (server) => untilInfoSays(server, `process_id:${server.pid}\r`, 'answer')

/** @param {Server} replica @throws {FreshetError} SERVERS_FAILED */
export const untilInSync = (replica) => untilInfoSays(replica, 'master_link_status:up\r', 'get in sync with its primary')

/** @param {Server} server @param {string} text @param {string} what */
async function untilInfoSays (server, text, what) {
  for (const until = Date.now() + START_DEADLINE_MS; !server.hasExited();) {
    const info = await askInfo(server.url).catch(() => '')
    if (info.includes(text)) return
    if (Date.now() > until) {
      throw new FreshetError('SERVERS_FAILED',
        `the server at ${server.url} did not ${what} within ${START_DEADLINE_MS / 1000} s; run the command again`)
    }
    await pause(POLL_MS)
  }
  const lines = await server.log()
  throw new FreshetError('SERVERS_FAILED', `the server at ${server.url} ended ${await server.exited} before it could ${what}. ` +
    `Its last lines:\n${lines}`)
}

/** @param {string} url @returns {Promise<string>} */
async function askInfo (url) {
  const connection = await openConnection(url, { name: 'freshet-supervisor', deadlineMs: CONNECTION_DEADLINE_MS })
  try {
    return String(await connection.send('INFO'))
  } finally {
    connection.close()
  }
}
