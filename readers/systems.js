/**
 * Systems in a reader: what the queries of each definition run on (src/systems/definition.js). Each is followed from the first request on,
 * from a replica, so a reader for feeds alone opens nothing.
 *
 * @typedef {ReturnType<typeof openSystems>} Systems
 */
import { createKeyView, createStopper, maskWith, ownerOf, partitionKeys, readSystem, systemKey } from '../src/admission/index.js'
import { FreshetError } from '../src/errors.js'
import { partitionOf } from '../src/item/index.js'
import { createAdmissionMetrics } from '../src/metrics/index.js'
import { createReading, openAdmission, readFigures } from '../src/systems/inside.js'

/**
 * @typedef {import('../src/systems/inside.js').Definition} System
 * @typedef {Awaited<ReturnType<System['reader']>>} Own
 * @typedef {{ own: Own, parts: import('../src/systems/inside.js').ReaderParts, close: () => Promise<void> }} Opened
 */

/** A command of no user, which is not stored for replays. */
const UNASKED = Object.freeze({ scope: '', requestId: '' })

/**
 * @typedef {{ deployment: import('../src/store/index.js').Servers, primaryUrl: string, registry: import('prom-client').Registry,
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
 *   metrics: any, counters: ReturnType<ReturnType<typeof createAdmissionMetrics>>, ending: Set<() => void> }} given `name` of connections;
 *   `routes` to the primaries; `counters` of commands; `ending`: gets what ends its waits
 * @returns {Promise<Opened>}
 */
async function openSystem (definition, { deployment, routes, name, primaryUrl, counters, ending, ...given }) {
  const { name: system, hasLua, unknown, memory, reader } = definition
  const { settings: { keyPrefix }, log } = given
  await routes.opened.catch(() => {})
  /** @param {string} key @param {boolean} isPrimary */
  const nodeOf = (key, isPrimary) => isPrimary ? routes.route(key).connection : deployment.shard(key).pick().connection
  const lookUp = (/** @type {any[]} */ ...words) => deployment.lookUp(/** @type {any} */ (words))
  const [options, whole] = [{ keyPrefix, system }, systemKey(keyPrefix, system)]
  const stored = await readSystem(nodeOf(whole, false), options) ?? await readSystem({ send: lookUp }, options)
  if (stored === null) throw new FreshetError(unknown)
  const { partitions, secret } = stored
  const keyOf = partitionKeys(keyPrefix, system, stored)
  const target = {
    connectionOf: (/** @type {number} */ partition, /** @type {boolean} */ isPrimary) => nodeOf(keyOf(partition)(''), isPrimary),
    keyOf,
    partitionOf: (/** @type {string} */ key) => partitionOf(Buffer.from(key), partitions),
    partitions,
    lookUp: deployment.lookUp
  }
  const { deadlineMs } = deployment
  const admission = createSubmitting(definition, { ...given, deadlineMs, partitions, routes, primaryUrl, name, counters })
  const stopper = hasLua
    ? createStopper({ name: `${name}:stop`, owner: ownerOf(keyPrefix, system), primaries: () => routes.urls, log })
    : null
  /** @type {Own} */
  let own = {}
  const view = createKeyView({
    ...target,
    ...memory,
    ...deployment.streams,
    // what it is handed to is made from what is made here
    onEntry: (entry) => own.onEntry?.(entry),
    log
  })
  const reading = createReading({ ...target, view, unknown })
  ending.add(reading.close)
  const parts = {
    ...target,
    ...given,
    reading,
    view,
    get: async (/** @type {string} */ key) => view.storedOf(await reading.current(key)),
    events: reading.newest,
    byRequest: reading.byRequest,
    mask: maskWith(secret),
    secret,
    now: Date.now,
    submit: admission.submit,
    figures: () => readFigures(target.connectionOf(0, false), keyOf(0))
  }
  own = await reader(parts)
  return {
    own,
    parts,
    async close () {
      reading.close()
      await own.close?.()
      await stopper?.close()
      await Promise.all([view.close(), admission.close()])
    }
  }
}

/**
 * Commands of a reader; their admission opens with the first one.
 * @param {System} definition
 * @param {Omit<Parameters<typeof openAdmission>[2], 'metrics'> & { settings: any, deadlineMs: number, partitions: number,
 *   counters: ReturnType<ReturnType<typeof createAdmissionMetrics>> }} parts
 */
function createSubmitting ({ name: system, rules, hasLua }, { settings, deadlineMs, partitions, counters: metrics, ...parts }) {
  /** @type {ReturnType<typeof openAdmission> | null} */
  let opened = null
  const open = () => openAdmission({ name: system, rules: hasLua ? rules : {} },
    { ...settings, deadlineMs, systemPartitions: partitions, keepMs: settings.requestMs }, { ...parts, metrics })
  return {
    /** @param {import('../src/admission/index.js').Command} command */
    submit: (command) => (opened ??= open()).submit({ ...UNASKED, ...command }),
    close: async () => { await opened?.close() }
  }
}
