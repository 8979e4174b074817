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
import { once } from 'node:events'
import { rm, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { openControlSocket } from './control-socket.js'
import { createDynamodb } from './dynamodb/server.js'
import { chooseEngine } from './engine.js'
import { createFleet } from './fleet.js'
import { acquireLock, ownSocketPath } from './lock.js'
import { createPostgres } from './postgres/database.js'

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
export async function supervise ({ folder, cacheDir, named, replicas, form = 'replicas' }) {
  const ending = new AbortController()
  /** @param {Error | null} failure */
  const end = (failure) => ending.abort(failure)
  const say = (/** @type {import('./control-socket.js').SupervisorEvent} */ event) => {
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

  /** Servers in use stay where the database cannot be started. @param {import('./control-socket.js').Part} part @param {Error} error */
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
    process.on(name, () => ending.abort(new FreshetError('SERVERS_FAILED', `the supervisor of the embedded servers received ${name}`)))
  }
  if (!ending.signal.aborted) await once(ending.signal, 'abort')
  clearTimeout(unused)
}

/** For the log. @param {import('./control-socket.js').SupervisorEvent} event */
const withoutPassword = (event) => event.event === 'database' ? { ...event, url: new URL(event.url).host } : event

/** @param {any} failure @returns {import('./control-socket.js').SupervisorEvent} */
const asEvent = (failure) =>
  ({ event: 'failed', code: failure instanceof FreshetError ? failure.code : 'SERVERS_FAILED', message: failure.message })
