/**
 * Systems in a reader: what the queries of each definition run on (src/systems/definition.js). Each is followed from the first request on,
 * from a replica, so a reader for feeds alone opens nothing.
 *
 * @typedef {ReturnType<typeof openSystems>} Systems
 */
import { createKeyView, createStopper, ownerOf, partitionKeys, readSystem, systemKey } from '../src/admission/index.js'
import { FreshetError } from '../src/errors.js'
import { partitionOf } from '../src/item/index.js'
import { createAdmissionMetrics } from '../src/metrics/index.js'
import { createPrimaries } from '../src/store/index.js'
import { createReading, openAdmission, readFigures } from '../src/systems/inside.js'

/**
 * @typedef {import('../src/systems/inside.js').System} System
 * @typedef {import('../src/systems/inside.js').Reader} Own
 * @typedef {{ own: Own, parts: import('../src/systems/inside.js').ReaderParts, close: () => Promise<void> }} Opened
 */

/**
 * @param {readonly System[]} definitions
 * @param {{ deployment: import('../src/store/index.js').Servers, primaryUrl: string, registry: import('prom-client').Registry,
 *   signal: AbortSignal, log: import('pino').Logger, settings: any } &
 *   Pick<import('../src/systems/inside.js').ReaderParts, 'database' | 'isShared'>} parts
 */
export function openSystems (definitions, { deployment, primaryUrl, registry, signal, log, settings, database, isShared }) {
  const { keyPrefix, requestMs } = settings
  const { deadlineMs } = deployment
  const lookUp = (/** @type {any[]} */ ...words) => deployment.lookUp(/** @type {any} */ (words))
  const name = `freshet-reader-${process.pid}:primary`
  /** @type {import('../src/store/index.js').Primaries | null} */
  let routes = null
  const admissionMetrics = createAdmissionMetrics(registry)
  /** their waits end with the process @type {Set<() => void>} */
  const ending = new Set()

  /** @param {System} definition @param {any} metrics @param {import('../src/push/index.js').Push} push @returns {Promise<Opened>} */
  async function open (definition, metrics, push) {
    const { name: system, unknown, memory, reader } = definition
    const opened = routes ??= createPrimaries(primaryUrl, { name, deadlineMs })
    await opened.opened.catch(() => {})
    /** @param {string} key @param {boolean} isPrimary */
    const nodeOf = (key, isPrimary) => isPrimary ? opened.route(key).connection : deployment.shard(key).pick().connection
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
    const { submit } = openAdmission({ name: system }, { ...settings, deadlineMs, systemPartitions: partitions, keepMs: requestMs },
      { routes: opened, primaryUrl, name, metrics: admissionMetrics(system), log })
    const stopper = definition.own && createStopper({
      name: `${name}:stop`, owner: ownerOf(keyPrefix, system), primaries: () => opened.urls, log
    })
    /** @type {Own} */
    let own = { queries: null }
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
    const figures = () => readFigures(target.connectionOf(0, false), keyOf(0))
    const now = Date.now
    const parts = { ...target, reading, view, secret, now, push, submit, figures, database, settings, isShared, metrics, signal, log }
    own = await reader(parts)
    return {
      own,
      parts,
      async close () {
        reading.close()
        await own.close?.()
        await stopper?.close()
        await view.close()
      }
    }
  }

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
        opening ??= open(definition, metrics, push)
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
