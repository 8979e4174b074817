/**
 * Embedded servers, for a command. They belong to the checkout and run while any command uses them. A command holds a
 * connection to their supervisor, which the kernel closes however the command ends.
 */
import { chmod, mkdir, realpath } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { FreshetError } from '../errors.js'
import { namedEngine } from './engine.js'
import { connectToHolder } from './lock.js'
import { converse, logOf, reachSupervisor, within } from './reach.js'

const RELEASE_DEADLINE_MS = 5_000
const LOOK_DEADLINE_MS = 2_000

/**
 * @typedef {import('./reach.js').Ready} Ready
 * @typedef {Record<string, string | undefined>} Env
 * @typedef {{ primaryUrl: string, replicaUrls: string[] | null, primaries: string[], replicas: string[], sentinel?: string,
 *   engine: { name: string, version: string }, supervisorPid: number, release(): Promise<void> }} EmbeddedServers `primaryUrl`: of a
 *   cluster, its primaries, separated by commas, and with Sentinels `sentinel`; then `replicaUrls` is null; `release` of the last command
 *   resolves when the servers have ended
 */

/** @param {string} root the folder of this package @returns {string} the default folder of the pinned copy */
export const defaultCacheDir = (root) => join(root, '.freshet')

/**
 * @param {{ root: string, named?: string | null, replicas?: number, form?: import('./supervisor.js').Form, env?: Env, cacheDir?: string,
 *   signal?: AbortSignal, report?: (line: string) => void, onFailure?: (error: FreshetError) => void }} options
 *   `root`: the folder of this package, whose .freshet holds the servers; `named`: a server program; `signal` cancels the
 *   wait for servers, with an error; `form`: of servers that are started, as others use what runs; `report` gets messages for
 *   the user; `onFailure` is called at most once, when the
 *   servers end before their release
 * @returns {Promise<EmbeddedServers>} once the primary answers and the replicas are in sync
 * @throws {FreshetError} ENGINE_MISSING, SERVERS_FAILED, SERVERS_DIFFER
 */
export async function useEmbeddedServers ({ named = null, replicas = 2, form = 'replicas', ...options }) {
  const program = named ? (await namedEngine(named, options.env ?? process.env)).program : null
  const { ready, supervision, release, socket } = await use('servers', { ...options, named: program, replicas, form })
  const difference = differs(ready, supervision)
  if (difference) {
    socket.destroy()
    throw new FreshetError('SERVERS_DIFFER', `the embedded servers of this checkout already run ${difference} (supervisor: process ` +
      `${ready.pid}); stop the commands that use them (Ctrl-C), then start this one again`)
  }
  const { primaries, replicas: found, sentinel, engine: { name, version } } = ready
  return {
    primaryUrl: sentinel ?? primaries.join(','),
    replicaUrls: ready.form === 'replicas' ? found : null,
    primaries,
    replicas: found,
    sentinel,
    engine: { name, version },
    supervisorPid: ready.pid,
    release
  }
}

/**
 * The embedded PostgreSQL or DynamoDB, under the same supervisor; fetched when it is used for the first time.
 * @param {'database' | 'dynamodb'} part
 * @param {Pick<Parameters<typeof useEmbeddedServers>[0], 'root' | 'env' | 'cacheDir' | 'signal' | 'report' | 'onFailure'>} options
 * @returns {Promise<{ url: string, release: () => Promise<void> }>}
 * @throws {FreshetError} ENGINE_MISSING, SERVERS_FAILED
 */
export async function useEmbeddedPart (part, options) {
  const { ready, release } = await use(part, { ...options, named: null, replicas: 2 })
  return { url: ready.url, release }
}

/**
 * @template {keyof import('./reach.js').Parts} T @param {T} part
 * @param {Parameters<typeof useEmbeddedPart>[1] & { named: string | null, replicas: number,
 *   form?: import('./supervisor.js').Form }} options
 */
async function use (part, {
  root, named, replicas, form = 'replicas', env = process.env, cacheDir = defaultCacheDir(root), signal, report = () => {},
  onFailure = () => {}
}) {
  const folder = await stateFolder(root)
  const supervision = { folder, cacheDir: resolve(cacheDir), named, replicas, form }
  const { socket, ready, ended } = await reachSupervisor(part, supervision, { env, report, signal }).catch((error) => {
    if (error instanceof FreshetError) throw error
    throw new FreshetError('SERVERS_FAILED', `the embedded servers cannot be started or reached (${error.message}). ` +
      `Does ${folder} belong to another user?`)
  })
  let isReleased = false
  ended.then((failure) => { if (!isReleased) onFailure(failure ?? lost(folder)) })

  async function release () {
    isReleased = true
    socket.end()
    if (await within(ended, RELEASE_DEADLINE_MS) !== undefined) return
    report(`the embedded servers still run after ${RELEASE_DEADLINE_MS / 1000} s; the log of the supervisor is ${logOf(folder)}`)
    socket.destroy()
  }
  return { socket, ready, supervision, release }
}

/**
 * What runs now. Starts nothing.
 * @param {{ root: string }} options
 * @returns {Promise<{ servers: Ready | null, databaseUrl: string | null, dynamodbUrl: string | null } | 'starting' | null>} null when
 *   no supervisor runs
 */
export async function lookAtEmbeddedServers ({ root }) {
  const socket = await connectToHolder(join(await realpath(root), '.freshet'))
  if (!socket) return null
  const { news, ended } = converse(socket, 'look', () => {})
  await within(ended, LOOK_DEADLINE_MS)
  socket.destroy()
  if (news.length === 0) return 'starting'
  return {
    servers: news.find((one) => one.event === 'ready') ?? null,
    databaseUrl: news.find((one) => one.event === 'database')?.url ?? null,
    dynamodbUrl: news.find((one) => one.event === 'dynamodb')?.url ?? null
  }
}

/**
 * Only its owner may enter it, whatever the umask: it has the logs of the servers and the socket of their supervisor.
 * @param {string} root @returns {Promise<string>}
 */
async function stateFolder (root) {
  const folder = join(await realpath(root), '.freshet')
  try {
    await mkdir(folder, { recursive: true })
    await chmod(folder, 0o700)
  } catch (error) {
    throw new FreshetError('SERVERS_FAILED', `the embedded servers need the folder ${folder}, which cannot be created or is another ` +
      `user's (${error.code}); install the package in a writable folder, or give --redis-url`)
  }
  return folder
}

/** @param {Ready} running @param {import('./supervisor.js').Supervision} wanted @returns {string | null} */
function differs ({ form, engine, primaries, replicas }, wanted) {
  if (wanted.named && wanted.named !== engine.program) {
    return `with ${engine.program} (${engine.name} ${engine.version}), not ${wanted.named}`
  }
  if (form !== 'replicas' && wanted.form === 'replicas') return null
  const formed = { replicas: `one primary with ${replicas.length} replicas`, cluster: 'a cluster', sentinels: 'a primary with Sentinels' }
  if (form !== wanted.form) return `as ${formed[form]} (${primaries[0]}), not as ${formed[/** @type {'cluster'} */ (wanted.form)]}`
  if (form === 'replicas' && wanted.replicas !== replicas.length) return `with ${replicas.length} replicas, not ${wanted.replicas}`
  return null
}

/** @param {string} folder */
const lost = (folder) => new FreshetError('SERVERS_FAILED', 'the supervisor of the embedded servers ended unexpectedly, ' +
  `and with it the servers and their items; its log is ${logOf(folder)}`)
