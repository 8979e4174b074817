/**
 * The real commands as processes. Each has a process group of its own, the settings of a test and nothing of the
 * environment's, and is gone with everything it started when the test ends.
 *
 * @typedef {ReturnType<typeof runCommand>} RunningCommand
 * @typedef {{ code: number | null, signal: string | null, stdout: string, stderr: string, summary: any, seconds: number }} Ended
 *   `summary`: the one JSON line a writer ends with, null without it; `seconds` from the start of the process
 */
import { execFile, spawn } from 'node:child_process'
import { cp, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { fileURLToPath } from 'node:url'
import { makeCheckout } from './embedded/checkout.js'
import { NODE } from './node.js'
import { eventually } from './servers.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
export const CACHE_DIR = process.env.FRESHET_CACHE_DIR || join(ROOT, '.freshet')
const DEADLINE_MS = 90_000
const POLL_MS = 10

/** @type {Set<number>} process groups */
const running = new Set()
const killGroup = (/** @type {number} */ pid, /** @type {NodeJS.Signals} */ signal) => {
  try {
    process.kill(-pid, signal)
  } catch (error) {
    if (error.code !== 'ESRCH') throw error
  }
}
const killAll = () => { for (const pid of running) killGroup(pid, 'SIGKILL') }
process.on('exit', killAll)
// the runner ends a test that is out of time by a signal, for which there is no 'exit'
for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
  process.once(name, () => {
    killAll()
    process.kill(process.pid, name)
  })
}

/** What the environment says about settings is not the test's; NODE_OPTIONS is the test runner's. */
const cleanEnv = () => Object.fromEntries(Object.entries(process.env).filter(([name]) =>
  !/^(FRESHET_|npm_|SORTED_SET_CONTAINS_ACTUAL_VALUE$|NODE_OPTIONS$)/i.test(name)))

/**
 * @param {import('tap').Test} t
 * @param {string[]} args command and flags
 * @param {{ env?: Record<string, string>, input?: string | Buffer | null, cwd?: string, npm?: boolean, fileKiB?: number | null }} [options]
 *   `input` is all of standard input; null leaves it open, to be written by the test. `cwd` is a checkout, ours if not
 *   given. `npm`: typed as `npm start <args>`. `fileKiB`: no file can become larger, as on a full disk; this needs
 *   no root privileges
 */
export function runCommand (t, args, { env = {}, input = '', cwd = ROOT, npm = false, fileKiB = null } = {}) {
  const command = npm ? ['npm', 'start', ...args] : [...NODE, join(cwd, 'bin/freshet.js'), ...args]
  // what the test runner puts into NODE_OPTIONS listens to SIGXFSZ, and is then ended by it
  const [program, ...words] = fileKiB === null
    ? command
    : ['bash', '-c', `unset NODE_OPTIONS; ulimit -S -f ${fileKiB} && exec "$0" "$@"`, ...command]
  const startedAt = performance.now()
  const child = spawn(program, words, { cwd, detached: true, stdio: 'pipe', env: { ...cleanEnv(), FRESHET_CACHE_DIR: CACHE_DIR, ...env } })
  const pid = /** @type {number} */ (child.pid)
  const text = { stdout: '', stderr: '' }
  running.add(pid)
  for (const name of /** @type {const} */ (['stdout', 'stderr'])) {
    child[name].setEncoding('utf8').on('data', (chunk) => { text[name] += chunk })
  }
  child.stdin.on('error', () => {}) // a command may end before it has read all of it
  if (input !== null) child.stdin.end(input)

  /** @type {Promise<Ended>} */
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject).once('close', (code, signal) =>
      resolve({ code, signal, ...text, summary: summaryIn(text.stdout), seconds: (performance.now() - startedAt) / 1000 }))
  })
  let isOver = false
  ended.then(() => { isOver = true }, () => {})
  t.teardown(async () => {
    killGroup(pid, 'SIGKILL')
    await ended
    running.delete(pid)
  })

  return {
    pid,
    stdin: child.stdin,
    get stdout () { return text.stdout },
    get stderr () { return text.stderr },
    /** Resolves when the process is gone and its output read. @returns {Promise<Ended>} */
    ended: () =>
      within(ended, () => `${args.join(' ')} has not ended after ${DEADLINE_MS} ms; its last words: ${text.stderr.slice(-2000)}`),
    /** What Ctrl-C does: a signal to everything of the command. @returns {Promise<Ended>} */
    stop () {
      killGroup(pid, 'SIGINT')
      return this.ended()
    },
    /** A signal to the one process. @param {NodeJS.Signals} [signal] @returns {Promise<Ended>} */
    kill (signal = 'SIGKILL') {
      child.kill(signal)
      return this.ended()
    },
    /** Waits until one of its outputs matches. @param {RegExp} pattern @returns {Promise<RegExpExecArray>} */
    async until (pattern) {
      for (const until = Date.now() + DEADLINE_MS; ; await pause(POLL_MS)) {
        const match = pattern.exec(text.stdout) ?? pattern.exec(text.stderr)
        if (match) return match
        if (isOver || Date.now() > until) {
          throw new Error(`${args.join(' ')} ${isOver ? 'ended' : 'ran on'} without ${pattern}: ${text.stderr.slice(-2000)}`)
        }
      }
    }
  }
}

/**
 * A copy of this checkout, for commands that use embedded servers: those belong to the checkout. Without experiments.
 * @param {import('tap').Test} t
 * @returns {Promise<string>}
 */
export async function copyCheckout (t) {
  const root = await makeCheckout(t)
  for (const part of ['package.json', 'settings.js', 'bin', 'demo', 'lua', 'src', 'lab', 'writers', 'readers', 'charts']) {
    await cp(join(ROOT, part), join(root, part), { recursive: true })
  }
  await symlink(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  return root
}

/** Runs a command to its end. @param {Parameters<typeof runCommand>} given @returns {Promise<Ended>} */
export const endOf = (...given) => runCommand(...given).ended()

/**
 * `npm start reader` on a free port, up. In the test's own process: services.js.
 * @param {import('tap').Test} t
 * @param {{ redisUrl: string, flags?: string[], env?: Record<string, string> }} options
 */
export async function runReader (t, { redisUrl, flags = [], env = {} }) {
  const command = runCommand(t, ['reader', '--redis-url', redisUrl, '--port', '0', ...flags], { env })
  const [, url] = await command.until(/serving at (https?:[^"]+)"/)
  return { command, url, ...askAt(url) }
}

/** @param {string} url of a reader */
export function askAt (url) {
  /** @param {string} path @param {Record<string, string>} [headers] */
  async function get (path, headers = {}) {
    const response = await fetch(url + path, { headers, signal: AbortSignal.timeout(DEADLINE_MS) })
    const body = await response.text()
    const isJson = /^application\/(problem\+)?json/.test(response.headers.get('content-type') ?? '')
    return { status: response.status, headers: response.headers, body, json: isJson ? JSON.parse(body) : null }
  }

  /** Asks until it is answered afresh: on a busy machine a replica may lag for a moment, and is then not asked. @param {string} path */
  const ask = (path) => eventually(async () => {
    const answer = await get(path)
    if (answer.status === 503 || answer.headers.get('freshet-stale')) {
      throw new Error(`${path}: ${answer.status} ${answer.body.slice(0, 500)}`)
    }
    return answer
  })

  /** Every item, by following the cursors. @param {string} feed @param {string} [query] */
  async function allItems (feed, query = 'limit=1000') {
    const items = []
    let after = ''
    do {
      const { status, json, body } = await ask(`/v1/feeds/${feed}/items?${query}${after}`)
      if (status !== 200) throw new Error(`${status}: ${body}`)
      items.push(...json.items)
      after = json.next && `&after=${json.next}`
    } while (after)
    return items
  }

  return { get, ask, allItems }
}

/**
 * `npm start gateway` on a free port, up.
 * @param {import('tap').Test} t
 * @param {{ redisUrl: string, flags?: string[], env?: Record<string, string> }} options
 */
export async function runGateway (t, { redisUrl, flags = [], env = {} }) {
  const command = runCommand(t, ['gateway', '--redis-url', redisUrl, '--port', '0', ...flags], { env })
  const [, url] = await command.until(/taking items at (https?:[^"]+)"/)
  return { command, url, ...sendTo(url) }
}

/**
 * `npm start consumers` on a deployment.
 * @param {import('tap').Test} t
 * @param {{ redisUrl: string, flags?: string[], env?: Record<string, string> }} options
 */
export async function runConsumers (t, { redisUrl, flags = [], env = {} }) {
  const command = runCommand(t, ['consumers', '--redis-url', redisUrl, ...flags], { env })
  await command.until(/partition taken/)
  return { command }
}

/** @param {string} url of a gateway */
export function sendTo (url) {
  /** @param {string} method @param {string} path @param {string | Buffer} [body] @param {Record<string, string>} [headers] */
  async function send (method, path, body, headers = {}) {
    const response = await fetch(url + path, { method, body, headers, signal: AbortSignal.timeout(DEADLINE_MS) })
    const text = await response.text()
    const isJson = /^application\/(problem\+)?json/.test(response.headers.get('content-type') ?? '')
    return { status: response.status, headers: response.headers, body: text, json: isJson ? JSON.parse(text) : null }
  }

  return {
    send,
    /**
     * Posts text or bytes as they are, anything else as JSON.
     * @param {string} path
     * @param {any} body
     * @param {Record<string, string>} [headers]
     */
    post: (path, body, headers = {}) => send('POST', path, typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
      { 'content-type': 'application/json', ...headers }),
    /** @param {string} path @param {string[]} lines @param {Record<string, string>} [headers] */
    postLines: (path, lines, headers = {}) => send('POST', path, lines.join('\n'), { 'content-type': 'application/x-ndjson', ...headers }),
    /** @param {string} path @param {Record<string, string>} [headers] */
    remove: (path, headers = {}) => send('DELETE', path, undefined, headers)
  }
}

/** @param {string} stdout */
function summaryIn (stdout) {
  const line = stdout.split('\n').find((one) => one.startsWith('{"event":"summary"'))
  return line ? JSON.parse(line) : null
}

/** @param {Ended} ended @returns {any[]} what the log says; lines that are not JSON are left out */
export const logOf = ({ stderr }) => stderr.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line))

/** @param {number} pid @returns {Promise<number>} resident memory, MiB; 0 when it is gone */
export async function residentMib (pid) {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(pid)]).catch(() => ({ stdout: '0' }))
  return Number(stdout) / 1024
}

/** @param {number} pid @returns {Promise<number[]>} its children's */
export async function childrenOf (pid) {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid='])
  return stdout.trim().split('\n').map((line) => line.trim().split(/\s+/).map(Number)).filter(([, parent]) => parent === pid)
    .map(([child]) => child)
}

/** @template T @param {Promise<T>} promise @param {() => string} what @returns {Promise<T>} */
async function within (promise, what) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const late = new Promise((resolve, reject) => { timer = setTimeout(() => reject(new Error(what())), DEADLINE_MS) })
  try {
    return await Promise.race([promise, /** @type {Promise<never>} */ (late)])
  } finally {
    clearTimeout(timer)
  }
}
