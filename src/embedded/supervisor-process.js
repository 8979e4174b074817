import { once } from 'node:events'
import { rm, truncate } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { createDynamodb } from './dynamodb/server.js'
import { chooseEngine } from './engine.js'
import { createFleet } from './fleet.js'
import { acquireLock, ownSocketPath } from './lock.js'
import { createPostgres } from './postgres/database.js'

/**
 * The process that owns the embedded servers of a checkout, as long as any command holds a connection to it.
 *
 *     command --- unix socket --- supervisor --+-- primary
 *     command ---                              +-- replica, replica
 *                                              +-- PostgreSQL, if a command needs it
 *                                              +-- DynamoDB, if a command needs it
 *                                              +-- guard (kills them when the supervisor is killed)
 *
 * It starts the servers, the database and DynamoDB for the first command that uses them, and ends when the last command has left or a
 * server fails. A database that does not start fails only the commands that need it. The supervisor listens until the servers are gone,
 * so that the next one starts after that.
 */

/**
 * The unix socket of the supervisor. A client sends one word and receives events as lines of JSON:
 *
 *     servers, database, dynamodb   a command that uses them: it counts as a user until its connection closes, by a release, a crash
 *                                   or kill -9
 *     look                          receives the current state; then the connection is closed
 *
 * When a command leaves and others remain, its connection is closed at once. The connection of the last command stays half open
 * until the process of the supervisor ends, so its end means that the servers are gone. Commands that connect after that get no
 * answer, see the same end, and try again. Another supervisor that checks whether this one is alive sends nothing.
 *
 * @typedef {'servers' | 'database' | 'dynamodb'} Part
 * @typedef {{ event: 'report', message: string }
 *   | { event: 'ready', form: Form, primaries: string[], replicas: string[], sentinel?: string,
 *     engine: { program: string, name: string, version: string }, pid: number }
 *   | { event: 'database', url: string }
 *   | { event: 'dynamodb', url: string }
 *   | { event: 'replica', url: string, state: 'down' | 'in sync', restarts: number, message: string }
 *   | { event: 'failed', code: string, message: string }} SupervisorEvent
 */

const PARTS = Object.freeze(['servers', 'database', 'dynamodb'])
/** events that say that a part is ready */
const READY = Object.freeze(['ready', 'database', 'dynamodb'])

/**
 * @param {string} socketPath
 * @param {{ onUse: (part: Part) => void, onLast: () => void }} calls when a part is first used, and when the last
 *   command leaves
 * @returns {Promise<{ broadcast(event: SupervisorEvent): void, refuse(part: Part, event: SupervisorEvent): void,
 *   broadcastAndDrain(event: SupervisorEvent): Promise<unknown>, shut(): void }>} `refuse` ends the connections that use a part: it did
 *   not start, and the next command tries again; after `shut` no client is admitted; `broadcastAndDrain` resolves when all connections
 *   have closed
 */
async function openControlSocket (socketPath, { onUse, onLast }) {
  /** @type {Map<import('node:net').Socket, Part>} */
  const clients = new Map()
  /** @type {SupervisorEvent[]} sent to each new connection */
  let news = []
  /** @type {Set<string>} */
  const used = new Set()
  let isShut = false

  /** @param {import('node:net').Socket} socket @param {Part} part */
  function hold (socket, part) {
    clients.set(socket, part)
    const leave = () => {
      if (!clients.delete(socket)) return
      if (clients.size > 0) socket.end()
      else onLast()
    }
    socket.once('end', leave).once('close', leave)
    if (!used.has(part)) onUse(part)
    used.add(part)
  }

  const server = createServer({ allowHalfOpen: true }, (socket) => {
    let isAsking = true
    socket.on('error', () => {}).once('end', () => { if (isAsking) socket.end() })
    socket.once('data', (word) => {
      if (isShut) return
      isAsking = false
      for (const event of news) socket.write(line(event))
      const part = String(word).trim()
      if (PARTS.includes(part)) hold(socket, /** @type {Part} */ (part))
      else socket.end()
      socket.resume()
    })
  })
  await new Promise((resolve, reject) => server.once('error', reject).listen(socketPath, () => resolve(null)))

  return {
    broadcast (event) {
      if (event.event === 'report') news.push(event)
      if (READY.includes(event.event)) {
        news = [...news.filter((message) => message.event !== 'report'), event]
      }
      for (const socket of clients.keys()) socket.write(line(event))
    },
    refuse (part, event) {
      used.delete(part)
      for (const [socket, clientPart] of clients) if (clientPart === part) socket.end(line(event))
    },
    broadcastAndDrain: (event) => Promise.all([...clients.keys()].map((socket) => new Promise((resolve) => {
      socket.once('close', resolve).end(line(event), () => resolve(null))
    }))),
    shut () { isShut = true }
  }
}

/** @param {SupervisorEvent} event */
const line = (event) => JSON.stringify(event) + '\n'

const FIRST_COMMAND_DEADLINE_MS = 30_000
const LAST_WORDS_DEADLINE_MS = 500
const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])

/**
 * @typedef {'replicas' | 'cluster' | 'sentinels'} Form one primary with replicas, which Sentinels may watch, or a cluster
 * @typedef {{ folder: string, cacheDir: string, named: string | null, replicas: number, form?: Form }} Supervision `folder`: the checkout's
 *   .freshet
 */

/**
 * @param {Supervision} supervision
 * @returns {Promise<0 | 1>} the exit status; 0 also when another supervisor already runs
 */
async function supervise ({ folder, cacheDir, named, replicas, form = 'replicas' }) {
  const ending = new AbortController()
  /** @param {Error | null} failure */
  const end = (failure) => ending.abort(failure)
  const say = (/** @type {SupervisorEvent} */ event) => {
    process.stderr.write(JSON.stringify(withoutPassword(event)) + '\n')
    control.broadcast(event)
  }
  const fleet = createFleet({ folder: join(folder, 'servers'), signal: ending.signal, say, fail: end })

  const report = (/** @type {string} */ message) => say({ event: 'report', message })
  const postgres = createPostgres({ folder: join(folder, 'database'), cacheDir, report, signal: ending.signal, fail: end })
  const dynamodb = createDynamodb({ cacheDir, report, signal: ending.signal, fail: end })

  async function startServers () {
    const { program, name, version } = await chooseEngine({ named, env: process.env, cacheDir, report, signal: ending.signal })
    const addresses = await {
      replicas: () => fleet.start(program, replicas),
      cluster: () => fleet.startCluster(program),
      sentinels: () => fleet.start(program, replicas, { hasSentinels: true })
    }[form]()
    say({ event: 'ready', form, ...addresses, engine: { program, name, version }, pid: process.pid })
  }

  const start = {
    servers: startServers,
    database: async () => say({ event: 'database', url: (await postgres.start()).url }),
    dynamodb: async () => say({ event: 'dynamodb', ...await dynamodb.start() })
  }

  /** Servers in use stay where the database cannot be started. @param {Part} part @param {Error} error */
  function failed (part, error) {
    if (part === 'servers' || ending.signal.aborted) end(error)
    else control.refuse(part, asEvent(error))
  }

  const starting = /** @type {Promise<void>[]} */ ([])
  const socketPath = ownSocketPath(folder)
  // the socket may be in /tmp
  const umask = process.umask(0o077)
  const control = await openControlSocket(socketPath, {
    onUse: (part) => starting.push(start[part]().catch((error) => failed(part, error))),
    onLast: () => end(null)
  })
  process.umask(umask)
  if (await acquireLock(folder, socketPath)) {
    await truncate(join(folder, 'supervisor.log'))
    await ended(ending, () => starting.length === 0)
    control.shut()
    await fleet.kill()
    await Promise.all(starting)
    await Promise.all([fleet.close(), postgres.close(), dynamodb.close()])
  }
  const failure = ending.signal.reason
  if (failure) await Promise.race([control.broadcastAndDrain(asEvent(failure)), pause(LAST_WORDS_DEADLINE_MS)])
  await rm(socketPath, { force: true })
  return failure ? 1 : 0
}

/**
 * Resolves when the last command has left, a server failed, no command came, or on a signal.
 * @param {AbortController} ending @param {() => boolean} isUnused
 */
async function ended (ending, isUnused) {
  const unused = setTimeout(() => { if (isUnused()) ending.abort(null) }, FIRST_COMMAND_DEADLINE_MS)
  for (const name of SIGNALS) {
    process.on(name, () => ending.abort(new FreshetError('SERVERS_FAILED',
      `the supervisor of the embedded servers received ${name}; run the command again to start with empty servers`)))
  }
  if (!ending.signal.aborted) await once(ending.signal, 'abort')
  clearTimeout(unused)
}

/** For the log. @param {SupervisorEvent} event */
const withoutPassword = (event) => event.event === 'database' ? { ...event, url: new URL(event.url).host } : event

/** @param {any} failure @returns {SupervisorEvent} */
const asEvent = (failure) =>
  ({ event: 'failed', code: failure instanceof FreshetError ? failure.code : 'SERVERS_FAILED', message: failure.message })

process.exit(await supervise(JSON.parse(process.argv[2])))
