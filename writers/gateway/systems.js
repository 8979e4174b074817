/** The systems of a gateway: auctions, sales and prices. Each opens with its first command. */
import { expectDurability, fieldsOf, systemKey } from '../../src/admission/index.js'
import { createDeadLetters } from '../../src/consumers/index.js'
import { createAdmissionMetrics } from '../../src/metrics/index.js'
import { createRoutes } from '../../src/store/index.js'
import * as auctions from '../../src/systems/auctions/index.js'
import * as prices from '../../src/systems/prices/index.js'
import * as sales from '../../src/systems/sales/index.js'
import { useDatabase } from '../database.js'
import { keepAssets, readAssets } from './assets.js'
import { openSystem } from './system.js'

const PING_EVERY_MS = 250
const CONNECTIONS = 2

/**
 * @param {any} settings
 * @param {{ primaryUrl: string, registry: import('prom-client').Registry, log: import('pino').Logger, signal: AbortSignal }} parts
 */
export function openSystems (settings, { primaryUrl, registry, log, signal }) {
  const { keyPrefix, deadlineMs, durability } = settings
  const name = `freshet-gateway-${process.pid}`
  const routes = createRoutes({ primaryUrl, name: `${name}:commands`, deadlineMs })
  const metricsOf = createAdmissionMetrics(registry)
  let salesDurability = durability ?? 'memory'
  const health = durability === 'db' ? createHealth(settings, { name, log, signal }) : null
  const settlement = health && sales.createSettlement({ isUp: () => health.isUp, statusOf, deadlineMs: settings.ackWithinMs })
  /** @param {{ SYSTEM: string, RULE: string }} face @param {Pick<import('./system.js').Kind, 'durability' | 'onEntry'>} more */
  const open = ({ SYSTEM: system, RULE: rule }, more) =>
    openSystem(settings, { system, rule, ...more }, { routes, primaryUrl, name, metrics: metricsOf(system), log })
  const withoutDatabase = () => durability === 'db' ? 'memory' : durability ?? 'memory'
  const all = {
    auctions: open(auctions, { durability: withoutDatabase }),
    prices: open(prices, { durability: withoutDatabase }),
    sales: open(sales, { durability: () => salesDurability, onEntry: settlement ? (entry) => settlement.note(entry) : undefined })
  }
  const tokens = sales.createTokens({
    connection: () => routes.route(0).connection,
    key: `${systemKey(keyPrefix, sales.SYSTEM)}:token-key`,
    file: settings.saleTokenKey,
    algorithm: settings.saleTokenAlgorithm
  })

  /** @param {string} sale @param {string} claim @returns {Promise<string>} */
  async function statusOf (sale, claim) {
    const { keyOf, partitionOf } = all.sales.open()
    const partition = partitionOf(sale)
    const member = await routes.route(partition).connection.send('HGET', keyOf(partition)(`members:${sale}`), `claim ${claim}`)
    return String(member).split(' ')[0]
  }

  /** @param {string} asset */
  async function stateOf (asset) {
    const { keyOf, partitionOf } = all.prices.open()
    const partition = partitionOf(asset)
    return fieldsOf((await routes.route(partition).connection.send('HGETALL', keyOf(partition)(`state:${asset}`))).map(String))
  }
  const priceCommands = prices.createPrices({ submit: admissionOf(all.prices).submit, stateOf, tiers: prices.timesOf(settings.tiers) })
  const assets = settings.assets === null ? [] : readAssets(settings.assets)
  const stop = new AbortController()
  const keeping = assets.length === 0
    ? Promise.resolve()
    : keepAssets(assets, { prices: priceCommands, primaryId: () => routes.route(0).replicationId, log, signal: stop.signal })

  /** @param {import('./system.js').OpenSystem} system */
  async function lettersOf ({ open }) {
    const { agreed, keyOf, partitions } = open()
    await agreed()
    return createDeadLetters({ connectionOf: (partition) => routes.route(partition).connection, keyOf, partitions })
  }

  return {
    /**
     * Rejects settings that the primary cannot fulfil, if it can be asked, and looks whether it has replicas.
     * @throws {Error} DURABILITY_UNSUPPORTED
     */
    async check () {
      const isOpen = await routes.opened.then(() => true, () => false)
      if (!isOpen) return
      const { connection } = routes.route(0)
      await expectDurability(connection, durability)
      const hasReplicas = /^connected_slaves:[1-9]/m.test(String(await connection.send('INFO', 'replication')))
      if (durability === null && hasReplicas) salesDurability = 'replica'
      log.info({ sales: salesDurability }, 'durability')
    },

    auctions: auctions.createAuctions(admissionOf(all.auctions)),
    prices: priceCommands,
    sales: sales.createSales({
      ...admissionOf(all.sales), tokens, settlement, isRecorded: settings.databaseUrl !== null || durability === 'db'
    }),

    letters: { auctions: () => lettersOf(all.auctions), prices: () => lettersOf(all.prices), sales: () => lettersOf(all.sales) },

    async close () {
      stop.abort()
      await Promise.all([keeping, ...Object.values(all).map((system) => system.close()), health?.close()])
      await routes.close()
    }
  }
}

/**
 * Whether the database answers, as of a moment ago.
 * @param {any} settings @param {{ name: string, log: import('pino').Logger, signal: AbortSignal }} parts
 */
function createHealth (settings, parts) {
  let isUp = false
  const using = useDatabase(settings, { ...parts, max: CONNECTIONS, deadlineMs: settings.deadlineMs, fail () { isUp = false } })
  using.catch((error) => parts.log.error({ code: error.code, reason: error.message }, 'there is no database'))
  let isAsking = false
  const timer = setInterval(async () => {
    if (isAsking) return
    isAsking = true
    isUp = await using.then(({ database }) => database.query('SELECT 1')).then(() => true, () => false)
    isAsking = false
  }, PING_EVERY_MS).unref()
  return {
    get isUp () { return isUp },
    async close () {
      clearInterval(timer)
      await using.then((used) => used.close(), () => {})
    }
  }
}

/** @param {import('./system.js').OpenSystem} system */
const admissionOf = ({ open }) => ({
  submit: (/** @type {import('../../src/admission/index.js').Command} */ command) => open().submit(command),
  agreed: () => open().agreed()
})
