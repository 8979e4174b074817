/** The systems that consumers can serve: what each does with a partition that this process owns. */
import { admissionKey, createAdmission } from '../../src/admission/index.js'
import { createOwnership } from '../../src/consumers/index.js'
import { createAdmissionMetrics, gauge } from '../../src/metrics/index.js'
import { runTasks } from '../../src/schedule/index.js'
import { createRoutes } from '../../src/store/index.js'

export const SYSTEMS = Object.freeze(['auctions', 'sales'])

/**
 * @param {string} system @param {any} settings
 * @param {{ id: string, primaryUrl: string, registry: import('prom-client').Registry, log: import('pino').Logger }} parts `id`: of this
 *   process
 * @throws {import('../../src/errors.js').FreshetError} SYSTEM_DIFFERS, and why the primary cannot be reached
 */
export async function openSystem (system, settings, { id, primaryUrl, registry, log }) {
  const { keyPrefix, deadlineMs, requestMs, keepMs, systemPartitions: partitions } = settings
  const routes = createRoutes({ primaryUrl, name: `${id}:${system}`, deadlineMs })
  const keyOf = (/** @type {number} */ partition) => admissionKey(keyPrefix, system, partition)
  const connectionOf = (/** @type {number} */ partition) => routes.route(partition).connection
  const admission = createAdmission({
    route: routes.route, keyPrefix, system, partitions, requestMs, keepMs, deadlineMs, metrics: createAdmissionMetrics(registry)(system)
  })
  try {
    await routes.opened
    await admission.agreed()
  } catch (error) {
    await routes.close()
    throw error
  }
  const ownership = createOwnership({
    id,
    partitions,
    connectionOf,
    keyOf,
    log,
    work: ({ partition, signal }) => runTasks({
      connection: () => connectionOf(partition), key: keyOf(partition), submit: (command) => admission.submit(command), signal
    })
  })
  gauge(registry, { name: 'freshet_consumer_partitions', help: 'Partitions that this process owns', labels: ['system'] },
    () => [[{ system }, ownership.owned.length]])
  return {
    async close () {
      await ownership.close()
      await routes.close()
    }
  }
}
