/**
 * `npm start consumers`: scheduled tasks and consumers of systems, in any number of processes. A process file: settings, servers, systems,
 * stop.
 */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { Registry } from 'prom-client'
import { printable, settingsOf } from '../settings.js'
import { expectPartitions, readSystem } from '../src/admission/index.js'
import { expectKafka } from '../src/consumers/index.js'
import { createServices } from '../src/embedded/index.js'
import { publicReason } from '../src/errors.js'
import { createAdmissionMetrics, createConsumerMetrics } from '../src/metrics/index.js'
import { aborted, runProcess, tellParent } from '../src/runtime/index.js'
import { migrate } from '../src/sql/index.js'
import { createServers } from '../src/store/index.js'
import { loadSystems, settingsOfModules } from '../src/systems/list.js'
import { openSystem, untilUp } from './consumers/system.js'
import { useDatabase } from './database.js'
import { serveRegistry } from './metrics-server.js'

const CONNECTIONS = 8
const DATABASE_DEADLINE_MS = 5000
/** Exit status when a handler did not end in time. */
const UNFINISHED = 1
/** then its systems start without it */
const DATABASE_WITHIN_MS = 1000
/** Between two reads of outboxes: what follows from an entry adds more, which one read then has. Each is a turn of both sides. */
const PAUSE_MS = 20

const USAGE = `Usage: npm start consumers -- [flags]

Runs what follows from commands until Ctrl-C: ends of auctions and of holds, rows in the database, refreshes of prices, orders from
placing to payment. Run as many as you like: they share the work.

Examples:
  npm start consumers
  npm start consumers -- --redis-url redis://127.0.0.1:6379 --systems auctions --metrics-port 9464`

/**
 * @param {{ argv: string[], env: Record<string, string | undefined> }} from
 * @returns {Promise<number>} exit status
 */
export async function main (from) {
  const status = await runProcess(from, {
    table: { printable, settingsOf },
    context: { command: 'consumers', layouts: [], acks: [], settingsOfModules },
    usage: USAGE,
    stopping: 'stopping: partitions are given back'
  }, serve)
  // what a handler that did not end has left open would keep the process
  if (status === UNFINISHED) process.exit(status)
  return status
}

/**
 * Consumers in this process until the signal is aborted.
 * @param {any} settings @param {import('../src/embedded/index.js').Target} target
 * @param {import('pino').Logger} log @param {AbortSignal} signal
 * @param {{ up?: (message: Record<string, unknown>) => unknown, load?: typeof loadSystems, leaseMs?: number }} [options] `up` is called
 *   once all systems are open; `leaseMs` of a partition
 * @returns {Promise<number>} exit status
 */
export async function serve (settings, { primaryUrl }, log, signal, { up = tellParent, load = loadSystems, leaseMs } = {}) {
  const id = `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`
  const registry = new Registry()
  const definitions = await load(settings.systems)
  /** @type {Map<string, import('./consumers/system.js').OpenSystem>} */
  const systems = new Map()
  const admissionMetrics = createAdmissionMetrics(registry)
  const consumerMetrics = createConsumerMetrics(registry, () => [...systems].map(([name, { figures }]) => [name, figures]))
  if (settings.kafkaBrokers?.length > 0) await expectKafka()
  const ending = new AbortController()
  /** of the end @type {any[]} */
  let failures = []
  const fail = (/** @type {Error} */ error) => ending.abort(error)
  const needsDatabase = settings.databaseUrl !== null || definitions.some((definition) => definition.needsDatabase)
  const used = needsDatabase
    ? await useDatabase(settings, {
      name: id, max: CONNECTIONS, deadlineMs: DATABASE_DEADLINE_MS, log, signal, fail
    })
    : null
  /** what keeps a system from being opened, by its name @type {Map<string, Error & { code?: string }>} */
  const waiting = new Map()
  const reasons = () => [...new Set([...waiting.values()].map(publicReason))]
  const notes = () => [...systems.values()].flatMap((system) => system.notes())
  const status = () => ({ ready: systems.size === definitions.length, reasons: reasons(), notes: notes(), nodes: [] })
  const { deadlineMs } = settings
  const servers = createServers({ redisUrl: primaryUrl, isReading: false, isAsked: false, name: id, deadlineMs, pauseMs: PAUSE_MS, log })
  const server = settings.metricsPort === null ? null : await serveRegistry(settings, { registry, status, log })
  try {
    const compared = () => expectStored(settings, definitions, { servers, name: `${id}:settings` })
    const migrated = used ? migrateWhenUp(used.database, { compared, definitions, log, signal, fail }) : Promise.resolve()
    await Promise.race([migrated, sleep(DATABASE_WITHIN_MS, undefined, { ref: false }), aborted(ending.signal)])
    const stop = AbortSignal.any([signal, ending.signal])
    const embedded = createServices(settings, { report: (line) => log.info(line), signal: stop })
    const parts = { id, servers, database: used?.database ?? null, migrated, embedded, leaseMs, log, signal: stop, fail }
    /** @param {import('../src/systems/inside.js').Definition} definition */
    async function open (definition) {
      const { name } = definition
      const metrics = { ...admissionMetrics(name), ...consumerMetrics(name) }
      const ownMetrics = definition.metrics?.consumers?.(registry)
      const onWait = (/** @type {Error} */ error) => waiting.set(name, error)
      systems.set(name, await openSystem(definition, settings, { ...parts, metrics, ownMetrics, onWait }))
      waiting.delete(name)
    }
    await Promise.all(definitions.map((definition) => open(definition).catch(fail)))
    if (!stop.aborted) up({ event: 'up', systems: definitions.map(({ name }) => name) })
    await aborted(stop)
    if (!signal.aborted) throw ending.signal.reason
  } finally {
    const closing = await Promise.allSettled([server?.close(), ...[...systems.values()].map((system) => system.close())])
    failures = closing.flatMap((result) => result.status === 'rejected' ? [result.reason] : [])
    for (const { code, message } of failures) log.error({ code, reason: message }, 'shutdown incomplete')
    await Promise.all([used?.close(), servers.close()])
  }
  return failures.length > 0 ? UNFINISHED : 0
}

/**
 * @param {any} settings @param {import('../src/systems/inside.js').Definition[]} definitions
 * @param {{ servers: import('../src/store/index.js').Servers, name: string }} parts `name` of connections
 * @throws {import('../src/errors.js').FreshetError} SYSTEM_DIFFERS, and why the primary cannot be used
 */
async function expectStored ({ keyPrefix, deadlineMs, systemPartitions: partitions }, definitions, { servers, name }) {
  const routes = servers.primaries({ name, deadlineMs })
  try {
    await routes.opened.catch(() => {})
    for (const { name: system } of definitions) {
      const stored = await readSystem(routes.router, { keyPrefix, system })
      if (stored !== null) expectPartitions(stored, { system, partitions })
    }
  } finally {
    await routes.close()
  }
}

/**
 * Migrates the database once it answers, and the settings are those that are stored. What does not need it goes on in the meantime.
 * @param {import('../src/sql/index.js').Database} database
 * @param {{ compared: () => Promise<void>, definitions: import('../src/systems/inside.js').Definition[], log: import('pino').Logger,
 *   signal: AbortSignal, fail: (error: Error) => void }} parts `compared`: expectStored; `fail`: DATABASE_DIFFERS, SYSTEM_DIFFERS
 * @returns {Promise<void>} when it was migrated; never, if it failed or was stopped
 */
async function migrateWhenUp (database, { compared, definitions, log, signal, fail }) {
  const folders = definitions.flatMap(({ migrations }) => migrations ?? [])
  try {
    await untilUp(compared, { signal, log, words: 'the database is not migrated before the servers answer' })
    const names = await untilUp(() => migrate(database, folders), { signal, log, words: 'no rows are written until the database answers' })
    if (names.length > 0) log.info({ migrations: names }, 'the database was migrated')
  } catch (error) {
    // nothing may be written into it
    if (!signal.aborted) fail(error)
    return new Promise(() => {})
  }
}
