/** The systems of a gateway: auctions, sales, prices and orders. Each opens with its first command. */
import { expectDurability, fieldsOf, systemKey } from '../../src/admission/index.js'
import { createDeadLetters } from '../../src/consumers/index.js'
import { createAdmissionMetrics } from '../../src/metrics/index.js'
import { keepSecret, openDatabase } from '../../src/sql/index.js'
import { createRoutes } from '../../src/store/index.js'
import * as auctions from '../../src/systems/auctions/index.js'
import * as orders from '../../src/systems/orders/index.js'
import * as prices from '../../src/systems/prices/index.js'
import * as sales from '../../src/systems/sales/index.js'
import { durabilityOfOrders, hasReplicas } from '../confirms.js'
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
  let hasReplica = false
  const ofSales = () => durability ?? (hasReplica ? 'replica' : 'memory')
  const ofOrders = () => durabilityOfOrders(durability, hasReplica)
  const health = durability === 'db' ? createHealth(settings, { name, log, signal }) : null
  const settlement = health && sales.createSettlement({ isUp: () => health.isUp, statusOf, deadlineMs: settings.ackWithinMs })
  /** @param {{ SYSTEM: string }} face @param {Omit<import('./system.js').Kind, 'system'>} more */
  const open = ({ SYSTEM: system }, more) =>
    openSystem(settings, { system, ...more }, { routes, primaryUrl, name, metrics: metricsOf(system), log })
  const secrets = settings.databaseUrl === null ? null : createSecrets(settings, { name, log })
  const withoutDatabase = () => durability === 'db' ? 'memory' : durability ?? 'memory'
  const all = {
    auctions: open(auctions, { hasRejections: true, durability: withoutDatabase }),
    orders: open(orders, {
      hasRejections: false, isRead: true, durability: ofOrders, keepSecret: secrets?.keep(orders.SYSTEM), isRefreshed: true
    }),
    prices: open(prices, { hasRejections: true, durability: withoutDatabase }),
    sales: open(sales, {
      hasRejections: true,
      durability: ofSales,
      onEntry: settlement ? (entry) => settlement.note(entry) : undefined
    })
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

  /** @param {import('./system.js').OpenSystem} system @returns {(key: string) => Promise<import('../../src/admission/index.js').Fields>} */
  const statesIn = ({ open }) => async (key) => {
    const { keyOf, partitionOf } = open()
    const partition = partitionOf(key)
    return fieldsOf((await routes.route(partition).connection.send('HGETALL', keyOf(partition)(`state:${key}`))).map(String))
  }
  const priceCommands = prices.createPrices({
    submit: admissionOf(all.prices).submit, stateOf: statesIn(all.prices), tiers: prices.timesOf(settings.tiers)
  })
  const assets = settings.assets === null ? [] : readAssets(settings.assets)
  const stop = new AbortController()
  const keeping = assets.length === 0
    ? Promise.resolve()
    : keepAssets(assets, { prices: priceCommands, primaryId: () => routes.route(0).replicationId, log, signal: stop.signal })

  /** @param {import('./system.js').OpenSystem} system */
  async function lettersOf ({ open }) {
    const { agreed, keyOf, partitions } = open()
    await agreed()
    const connectionOf = (/** @type {number} */ partition) => routes.route(partition).connection
    return createDeadLetters({ connectionOf, keyOf, partitions, isNeeded: orders.isLetterNeeded })
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
      hasReplica = await hasReplicas(connection)
      log.info({ sales: ofSales(), orders: ofOrders() }, 'durability')
    },

    auctions: auctions.createAuctions(admissionOf(all.auctions)),
    orders: createOrders(settings, all.orders, statesIn(all.orders)),
    prices: priceCommands,
    sales: sales.createSales({
      ...admissionOf(all.sales), tokens, settlement, isRecorded: settings.databaseUrl !== null || durability === 'db'
    }),

    letters: Object.fromEntries(Object.entries(all).map(([name, system]) => [name, () => lettersOf(system)])),

    async close () {
      stop.abort()
      await Promise.all([keeping, ...Object.values(all).map((system) => system.close()), health?.close(), secrets?.close()])
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

/**
 * Secrets of systems in the database. It is opened when it is first needed.
 * @param {any} settings @param {{ name: string, log: import('pino').Logger }} parts
 */
function createSecrets ({ databaseUrl: url, deadlineMs }, parts) {
  /** @type {import('../../src/sql/index.js').Database | null} */
  let database = null
  return {
    /** @param {string} system @returns {import('../../src/admission/index.js').KeepSecret} */
    keep: (system) => (secret) => {
      database ??= openDatabase({ ...parts, url, max: 1, deadlineMs })
      return keepSecret(database, system, secret)
    },
    close: async () => database?.close()
  }
}

/**
 * @param {any} settings @param {import('./system.js').OpenSystem} system
 * @param {(key: string) => Promise<import('../../src/admission/index.js').Fields>} stateOf
 */
const createOrders = (settings, system, stateOf) => orders.createOrders({
  ...admissionOf(system),
  statesOf: (keys) => Promise.all(keys.map(stateOf)),
  deadlineMs: settings.orderDeadlineMs,
  // as long as the orders that they belong to
  rememberMs: settings.keepMs
})

/** @param {import('./system.js').OpenSystem} system */
const admissionOf = ({ open }) => ({
  submit: (/** @type {import('../../src/admission/index.js').Command} */ command) => open().submit(command),
  agreed: () => open().agreed()
})
