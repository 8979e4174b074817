/**
 * Systems in a reader: what the queries of each definition run on (src/systems/definition.js). Each is followed from the first request on,
 * from a replica, so a reader for feeds alone opens nothing.
 *
 * @typedef {ReturnType<typeof openSystems>} Systems
 * @typedef {ReturnType<typeof createKeyStreams>} KeyStreams
 * @typedef {ReturnType<typeof createReaderDatabase>} ReaderDatabase
 * @typedef {import('../src/systems/inside.js').StreamRow} StreamRow
 * @typedef {import('../src/http/index.js').RequestInput} RequestInput
 * @typedef {(last: string | null) => import('../src/push/index.js').Source} Open `last`: Last-Event-ID; what is no position costs a reset
 */
import { createStopper, eventOf, maskWith, ownerOf, partitionKeys, readSystem, systemKey } from '../src/admission/index.js'
import { createDeadLetters } from '../src/consumers/index.js'
import { createServices, runningPart } from '../src/embedded/index.js'
import { FreshetError } from '../src/errors.js'
import { partitionOf } from '../src/item/index.js'
import { createAdmissionMetrics } from '../src/metrics/index.js'
import { openDatabase } from '../src/sql/index.js'
import { createEvents, createViewers, openDefinition, openReading, readFigures } from '../src/systems/inside.js'
import { createWaitingRoom } from '../src/waiting-room/index.js'

/** of the database */
const CONNECTIONS = 4
const DEADLINE_MS = 2000
const LOOK_FOR_MS = 1000
const UNDEFINED_TABLE = '42P01'

/**
 * @typedef {import('../src/systems/inside.js').Definition} System
 * @typedef {Awaited<ReturnType<System['reader']>>} SystemReader
 * @typedef {{ systemReader: SystemReader, parts: import('../src/systems/inside.js').ReaderParts, close: () => Promise<void> }} Opened
 */

/**
 * @typedef {{ deployment: import('../src/store/index.js').Servers, registry: import('prom-client').Registry,
 *   signal: AbortSignal, log: import('pino').Logger, settings: any } &
 *   Pick<import('../src/systems/inside.js').ReaderParts, 'database' | 'isShared'>} Parts
 */

/** @param {readonly System[]} definitions @param {Parts} parts */
export function openSystems (definitions, parts) {
  const { deployment, registry } = parts
  const name = `freshet-reader-${process.pid}:primary`
  /** @type {import('../src/store/index.js').Primaries | null} */
  let routes = null
  const open = () => (routes ??= deployment.primaries({ name, deadlineMs: deployment.deadlineMs }))
  const metricsOf = createAdmissionMetrics(registry)
  /** their waits end with the process @type {Set<() => void>} */
  const ending = new Set()

  const all = definitions.map((definition) => {
    const metrics = definition.metrics?.reader?.(registry)
    /** @type {Promise<Opened> | null} */
    let opening = null
    return {
      definition,
      /**
       * Opened by the first request that needs it, for all.
       * @param {import('../src/push/index.js').Push} push @returns {Promise<Opened>} throws that nothing of it is stored
       */
      opened (push) {
        opening ??= openSystem(definition, { ...parts, name, routes: open(), counters: metricsOf(definition.name), metrics, push, ending })
        opening.catch(() => { opening = null })
        return opening
      },
      close: async () => (await opening?.catch(() => null))?.close()
    }
  })

  return {
    all,
    /** Ends waits. */
    end () { for (const end of ending) end() },

    async close () {
      await Promise.all(all.map(({ close }) => close()))
      await routes?.close()
    }
  }
}

/**
 * @param {System} definition
 * @param {Parts & { name: string, routes: import('../src/store/index.js').Primaries, push: import('../src/push/index.js').Push,
 *   metrics: any, counters: ReturnType<ReturnType<typeof createAdmissionMetrics>>, ending: Set<() => void> }} inputs `name` of connections;
 *   `routes` to the primaries; `counters` of commands; `ending`: gets what ends its waits
 * @returns {Promise<Opened>}
 */
async function openSystem (definition, { deployment, routes, name, counters: metrics, ending, ...inputs }) {
  const { name: system, rules, hasLua, unknown, memory, reader } = definition
  const { settings, settings: { keyPrefix }, log } = inputs
  await routes.opened.catch(() => {})
  /** @param {string} key @param {boolean} isPrimary */
  const nodeOf = (key, isPrimary) => isPrimary ? routes.route(key).connection : deployment.shard(key).pick().connection
  const lookUp = (/** @type {any[]} */ ...words) => deployment.lookUp(/** @type {any} */ (words))
  const [options, whole] = [{ keyPrefix, system }, systemKey(keyPrefix, system)]
  const stored = await readSystem(nodeOf(whole, false), options) ?? await readSystem({ send: lookUp }, options)
  if (stored === null) throw new FreshetError(unknown, `nothing of ${system} is stored with the key prefix ${keyPrefix}; create it first`)
  const { partitions, secret } = stored
  const keyOf = partitionKeys(keyPrefix, system, stored)
  const target = {
    connectionOf: (/** @type {number} */ partition, /** @type {boolean} */ isPrimary) => nodeOf(keyOf(partition)(''), isPrimary),
    keyOf,
    partitionOf: (/** @type {string} */ key) => partitionOf(Buffer.from(key), partitions),
    partitions,
    lookUp: deployment.lookUp
  }
  // it stores no versions of our rules
  const commands = openDefinition({ name: system, rules: hasLua ? rules : {} }, {
    ...settings, deadlineMs: deployment.deadlineMs, systemPartitions: partitions, keepMs: settings.requestMs
  }, { servers: deployment, routes, name, metrics, log })
  const stopper = hasLua
    ? createStopper({ name: `${name}:stop`, owner: ownerOf(keyPrefix, system), primaries: () => routes.urls, log })
    : null
  /** @type {SystemReader} */
  let systemReader = {}
  const opened = openReading(target, {
    unknown,
    memory,
    streams: deployment.streams,
    // what it is handed to is made from what is made here
    onEntry: (entry) => systemReader.onEntry?.(entry),
    log
  })
  const { reading, view } = opened
  ending.add(reading.close)
  const parts = {
    ...target,
    ...inputs,
    ...opened,
    mask: maskWith(secret),
    secret,
    now: Date.now,
    submit: commands.submit,
    letters: createDeadLetters({ ...target, connectionOf: (partition) => target.connectionOf(partition, false) }),
    waitingRoom: () => createWaitingRoom({ ...target, now: Date.now, log }),
    viewers: createViewers({ reading, view, push: inputs.push, log }),
    figures: () => readFigures(target.connectionOf(0, false), keyOf(0)),
    embedded: createServices(settings, { report: (line) => log.info(line), signal: inputs.signal })
  }
  systemReader = await reader(parts)
  return {
    systemReader,
    parts,
    async close () {
      reading.close()
      await systemReader.close?.()
      await stopper?.close()
      await Promise.all([view.close(), commands.close()])
    }
  }
}

/**
 * The database in a reader, of what systems have written there.
 * @param {{ databaseUrl: string | null, log: import('pino').Logger }} options
 */
export function createReaderDatabase ({ databaseUrl, log }) {
  /** @type {{ url: string, database: import('../src/sql/index.js').Database } | null} */
  let opened = null
  let lookedMs = -Infinity

  /** @returns {Promise<import('../src/sql/index.js').Database | null>} the embedded one may come later, or be another one */
  async function database () {
    if (performance.now() - lookedMs < LOOK_FOR_MS) return opened?.database ?? null
    lookedMs = performance.now()
    const url = databaseUrl ?? await runningPart('database').catch(() => null)
    if (url !== opened?.url) {
      await opened?.database.close()
      opened = url === null
        ? null
        : { url, database: openDatabase({ url, name: `freshet-reader-${process.pid}`, max: CONNECTIONS, deadlineMs: DEADLINE_MS, log }) }
    }
    return opened?.database ?? null
  }

  return {
    /**
     * @param {string} text @param {unknown[]} values
     * @returns {Promise<any[]>} none while no consumers have served the system, and made its tables
     * @throws {FreshetError} DATABASE_DOWN
     */
    async rows (text, values) {
      const pool = await database()
      if (!pool) throw new FreshetError('DATABASE_DOWN', 'there is no database; start consumers, or give --database-url')
      const { rows } = await pool.query(text, values).catch((error) => {
        if (error.sqlState === UNDEFINED_TABLE) return { rows: [] }
        throw error
      })
      return rows
    },

    async close () { await opened?.database.close() }
  }
}

/**
 * The streams of keys of a system, for its routes and for streams of several subjects: the viewers of a key are one hub.
 * @param {Systems['all'][number]} system @param {import('../src/push/index.js').Push} push
 */
export function createKeyStreams (system, push) {
  const { name, stream } = system.definition
  /** @type {Map<StreamRow, ReturnType<typeof createEvents>>} */
  const all = new Map()

  /**
   * @param {StreamRow} row @param {RequestInput} request with the key in the parameter of its path
   * @returns {Promise<Open>} @throws {Error} there is no such key
   */
  async function sourceOf (row, request) {
    const { systemReader, parts } = await system.opened(push)
    if (row.source) {
      const source = await row.source(request, systemReader.queries)
      return () => source
    }
    const id = Object.values(request.params)[0]
    const current = systemReader.current ?? parts.reading.current
    await current(id)
    const events = all.get(row) ?? eventsOf(row, systemReader, parts)
    all.set(row, events)
    return (last) => events.sourceOf(id, last)
  }

  return {
    system: name,
    sourceOf,

    /** Streams of one parameter, under a name for streams of several subjects. */
    named: stream.flatMap((row) => row.subject === undefined
      ? []
      : [{
          subject: row.subject,
          codes: row.codes ?? [],
          /** @param {{ id: string, headers: RequestInput['headers'], requestId: string }} of */
          sourceOf: ({ id, headers, requestId }) => sourceOf(row, {
            params: { [String(/:(\w+)/.exec(row.path)?.[1])]: id },
            query: Object.fromEntries(Object.entries(row.fields ?? {}).map(([field, { default: unset }]) => [field, unset])),
            headers,
            body: null,
            requestId: '',
            id: requestId
          })
        }]),

    close () { for (const events of all.values()) events.close() }
  }
}

/**
 * The events of the key that a path names.
 * @param {StreamRow} row
 * @param {SystemReader} systemReader
 * @param {import('../src/systems/inside.js').ReaderParts} parts
 */
const eventsOf = ({ snapshot, event, named, keyOf }, systemReader, { reading, view, push, log }) => createEvents({
  current: systemReader.current ?? reading.current,
  keyOf,
  snapshot: (record) => snapshot(view.storedOf(record), systemReader.queries, (/** @type {number} */ count) =>
    record.events.slice(-count).reverse().map(eventOf)),
  event (fields) {
    const entry = eventOf(fields)
    return { name: named(entry), data: event(entry, systemReader.queries) }
  },
  view,
  push,
  log
})
