/** The systems of a gateway: auctions and sales. Each opens with its first command. */
import { expectDurability, systemKey } from '../../src/admission/index.js'
import { createAdmissionMetrics } from '../../src/metrics/index.js'
import { createRoutes } from '../../src/store/index.js'
import * as auctions from '../../src/systems/auctions/index.js'
import * as sales from '../../src/systems/sales/index.js'
import { openSystem } from './system.js'

/**
 * @param {any} settings @param {{ primaryUrl: string, registry: import('prom-client').Registry, log: import('pino').Logger }} parts
 */
export function openSystems (settings, { primaryUrl, registry, log }) {
  const { keyPrefix, deadlineMs } = settings
  const name = `freshet-gateway-${process.pid}`
  const routes = createRoutes({ primaryUrl, name: `${name}:commands`, deadlineMs })
  const metricsOf = createAdmissionMetrics(registry)
  /** @param {{ SYSTEM: string, RULE: string }} face @param {string} durability */
  const open = ({ SYSTEM: system, RULE: rule }, durability) =>
    openSystem(settings, { system, rule, durability }, { routes, primaryUrl, name, metrics: metricsOf(system), log })
  const all = {
    auctions: open(auctions, settings.durability ?? 'memory'),
    sales: open(sales, settings.durability ?? 'memory')
  }
  const tokens = sales.createTokens({
    connection: () => routes.route(0).connection,
    key: `${systemKey(keyPrefix, sales.SYSTEM)}:token-key`,
    given: settings.saleTokenKey,
    algorithm: settings.saleTokenAlgorithm
  })

  return {
    /** Rejects settings that the primary cannot fulfil, if it can be asked. @throws {Error} DURABILITY_UNSUPPORTED */
    async check () {
      const connection = await routes.opened.catch(() => null)
      if (connection) await expectDurability(routes.route(0).connection, settings.durability)
    },

    auctions: auctions.createAuctions(admissionOf(all.auctions)),
    sales: sales.createSales({ ...admissionOf(all.sales), tokens, settlement: null, isRecorded: false }),

    async close () {
      await Promise.all([all.auctions.close(), all.sales.close()])
      await routes.close()
    }
  }
}

/** @param {import('./system.js').OpenSystem} system */
const admissionOf = ({ open }) => ({
  submit: (/** @type {import('../../src/admission/index.js').Command} */ command) => open().submit(command),
  agreed: () => open().agreed()
})
