/**
 * Systems in a reader: what the queries of each definition run on (src/systems/definition.js). Each is followed from the first request on,
 * from a replica, so a reader for feeds alone opens nothing.
 *
 * @typedef {ReturnType<typeof openSystems>} Systems
 */
import { createStopper, maskWith, ownerOf, partitionKeys, readSystem, systemKey } from '../src/admission/index.js'
import { createDeadLetters } from '../src/consumers/index.js'
import { createServices } from '../src/embedded/index.js'
import { FreshetError } from '../src/errors.js'
import { partitionOf } from '../src/item/index.js'
import { createAdmissionMetrics } from '../src/metrics/index.js'
import { createWaitingRoom } from '../src/waiting-room/index.js'
import { createViewers, openDefinition, openReading, readFigures } from '../src/systems/inside.js'

/**
 * @typedef {import('../src/systems/inside.js').Definition} System
 * @typedef {Awaited<ReturnType<System['reader']>>} Own
 * @typedef {{ own: Own, parts: import('../src/systems/inside.js').ReaderParts, close: () => Promise<void> }} Opened
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
 *   metrics: any, counters: ReturnType<ReturnType<typeof createAdmissionMetrics>>, ending: Set<() => void> }} given `name` of connections;
 *   `routes` to the primaries; `counters` of commands; `ending`: gets what ends its waits
 * @returns {Promise<Opened>}
 */
async function openSystem (definition, { deployment, routes, name, counters: metrics, ending, ...given }) {
  const { name: system, rules, hasLua, unknown, memory, reader } = definition
  const { settings, settings: { keyPrefix }, log } = given
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
  /** @type {Own} */
  let own = {}
  const opened = openReading(target, {
    unknown,
    memory,
    streams: deployment.streams,
    // what it is handed to is made from what is made here
    onEntry: (entry) => own.onEntry?.(entry),
    log
  })
  const { reading, view } = opened
  ending.add(reading.close)
  const parts = {
    ...target,
    ...given,
    ...opened,
    mask: maskWith(secret),
    secret,
    now: Date.now,
    submit: commands.submit,
    letters: createDeadLetters({ ...target, connectionOf: (partition) => target.connectionOf(partition, false) }),
    waitingRoom: () => createWaitingRoom({ ...target, now: Date.now, log }),
    viewers: createViewers({ reading, view, push: given.push, log }),
    figures: () => readFigures(target.connectionOf(0, false), keyOf(0)),
    embedded: createServices(settings, { report: (line) => log.info(line), signal: given.signal })
  }
  own = await reader(parts)
  return {
    own,
    parts,
    async close () {
      reading.close()
      await own.close?.()
      await stopper?.close()
      await Promise.all([view.close(), commands.close()])
    }
  }
}
