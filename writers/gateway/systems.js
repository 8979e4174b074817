/**
 * Auctions in a gateway: admission, rejection cache, and their connections. They begin with the first command, or
 * when another process has stored the system, so a gateway for feeds alone has one connection more and asks one key a second.
 */
import { admissionKey, createAdmission, createConfirm, createRejections, expectDurability, systemKey } from '../../src/admission/index.js'
import { partitionOf } from '../../src/item/index.js'
import { createAdmissionMetrics } from '../../src/metrics/index.js'
import { createRoutes } from '../../src/store/index.js'
import { createAuctions, SYSTEM } from '../../src/systems/auctions/index.js'

const LOOK_EVERY_MS = 1000
const RULE = 'max'

/**
 * @param {any} settings @param {{ primaryUrl: string, registry: import('prom-client').Registry, log: import('pino').Logger }} parts
 */
export function openSystems (settings, { primaryUrl, registry, log }) {
  const { keyPrefix, deadlineMs } = settings
  const name = `freshet-gateway-${process.pid}`
  const routes = createRoutes({ primaryUrl, name: `${name}:commands`, deadlineMs })
  const metrics = createAdmissionMetrics(registry, SYSTEM)
  /** @type {ReturnType<typeof openAdmission> | null} */
  let opened = null
  const open = () => {
    clearInterval(timer)
    opened ??= openAdmission(settings, { routes, primaryUrl, name, metrics, log })
    return opened.admission
  }
  const timer = setInterval(async () => {
    const { connection } = tryRoute(routes)
    if (await connection?.send('EXISTS', systemKey(keyPrefix, SYSTEM)).catch(() => 0)) open()
  }, LOOK_EVERY_MS).unref()

  return {
    /** Rejects settings that the primary cannot fulfil, if it can be asked. @throws {Error} DURABILITY_UNSUPPORTED */
    async check () {
      const connection = await routes.opened.catch(() => null)
      if (connection) await expectDurability(routes.route(0).connection, settings.durability)
    },

    auctions: createAuctions({ submit: (command) => open().submit(command), agreed: () => open().agreed() }),
    async close () {
      clearInterval(timer)
      await Promise.all([opened?.close(), routes.close()])
    }
  }
}

/** @param {ReturnType<typeof createRoutes>} routes @returns {{ connection?: import('../../src/store/index.js').Connection }} */
function tryRoute (routes) {
  try {
    return routes.route(0)
  } catch {
    return {}
  }
}

/**
 * @param {any} settings
 * @param {{ routes: ReturnType<typeof createRoutes>, primaryUrl: string, name: string,
 *   metrics: ReturnType<typeof createAdmissionMetrics>, log: import('pino').Logger }} parts
 */
function openAdmission (settings, { routes, primaryUrl, name, metrics, log }) {
  const { keyPrefix, deadlineMs, requestMs, keepMs, systemPartitions: partitions, durability, ackWithinMs } = settings
  const keyOf = (/** @type {number} */ partition) => admissionKey(keyPrefix, SYSTEM, partition)
  const connectionOf = (/** @type {number} */ partition) => routes.route(partition).connection
  const confirms = durability === 'memory'
    ? null
    : createRoutes({ primaryUrl, name: `${name}:confirm`, deadlineMs: deadlineMs + ackWithinMs })
  const outbox = settings.rejectionCache === 'no' ? null : createRoutes({ primaryUrl, name: `${name}:outbox`, deadlineMs })
  const rejections = outbox === null
    ? undefined
    : createRejections({
      async open () {
        // the first attempt may have failed, and a later one not
        await outbox.opened.catch(() => {})
        const { connection } = outbox.route(0)
        return { connection, isLeft: () => false, end () {} }
      },
      connectionOf,
      keyOf,
      partitionOf: (key) => partitionOf(Buffer.from(key), partitions),
      partitions,
      rule: RULE,
      requestMs,
      log,
      metrics
    })
  const admission = createAdmission({
    route: routes.route,
    keyPrefix,
    system: SYSTEM,
    partitions,
    requestMs,
    keepMs,
    deadlineMs,
    batches: settings.batches !== 'no',
    rejections,
    confirmOf: confirms === null
      ? undefined
      : (partition) => createConfirm({
          connection: () => confirms.route(partition).connection,
          marker: keyOf(partition)(`marker:${process.pid}`),
          durability,
          waitMs: ackWithinMs
        }),
    metrics
  })
  return {
    admission,
    async close () {
      await Promise.all([outbox?.close(), rejections?.close(), confirms?.close()])
    }
  }
}
