/** The systems that consumers can serve: what each does with the tasks and entries of a partition that this process owns. */
import { fieldsOf } from '../../src/admission/index.js'
import { taskCommands } from '../../src/schedule/index.js'
import * as auctions from '../../src/systems/auctions/index.js'
import { SYSTEM as ORDERS } from '../../src/systems/orders/index.js'
import * as prices from '../../src/systems/prices/index.js'
import * as sales from '../../src/systems/sales/index.js'
import { orderDuties } from './orders.js'

/**
 * @typedef {{ prices: import('../../src/metrics/index.js').PriceMetrics, orders: import('../../src/metrics/index.js').OrderMetrics }}
 *   OwnMetrics of systems
 * @typedef {object} Parts
 * @property {string} id of the process
 * @property {import('../../src/admission/index.js').Admission} admission
 * @property {(partition: number) => import('../../src/store/index.js').Connection} connectionOf the primary
 * @property {import('../../src/sql/index.js').Database | null} database null: no rows are written
 * @property {OwnMetrics} ownMetrics
 * @property {string} primaryUrl
 * @property {(partition: number, letter: import('./system.js').Letter) => Promise<void>} bury writes a dead letter
 * @property {() => number[]} owned partitions
 * @property {import('pino').Logger} log
 * @property {any} settings
 * @property {AbortSignal} signal the process stops
 * @property {(error: Error) => void} fail the process ends
 * @typedef {object} Duties
 * @property {(task: import('../../src/schedule/index.js').Task) => Promise<unknown>} run a task that is due
 * @property {(entry: import('../../src/admission/index.js').Entry) => boolean} [wakes] whether tasks are looked at again at once
 * @property {import('../../src/consumers/index.js').SqlEffect | null} [rows] of entries, in the database
 * @property {import('../../src/consumers/index.js').BatchEffect | null} [batches] of entries, elsewhere
 * @property {number} [pauseMs] between batches of entries
 * @property {(partition: number) => Promise<void>} [onPrimary] when the partition is taken, and when its primary is another one
 * @property {() => Promise<void>} [close]
 */

/** @param {Parts} parts @returns {Duties} */
const auctionDuties = ({ admission, database }) =>
  ({ run: taskCommands(admission.submit), rows: database && auctions.createBidWriter() })

/** @param {Parts} parts @returns {Duties} */
function saleDuties ({ admission: { submit, partitionOf, keyOf }, connectionOf, database, log }) {
  const run = taskCommands(submit)
  if (database === null) return { run }
  const { restore, restoreAll } = sales.createRestorer({ database, submit, log })
  /** @param {string} sale */
  async function stateOf (sale) {
    const partition = partitionOf(sale)
    return fieldsOf((await connectionOf(partition).send('HGETALL', keyOf(partition)(`state:${sale}`))).map(String))
  }
  return {
    run,
    rows: sales.createOrderWriter({ stateOf, restore, database, submit }),
    onPrimary: (partition) => restoreAll((sale) => partitionOf(sale) === partition)
  }
}

/** @param {Parts} parts @returns {Promise<Duties>} @throws {Error} DYNAMODB_MISSING, DYNAMODB_TABLE_UNUSABLE */
async function priceDuties ({ id, admission: { submit, partitionOf, keyOf }, connectionOf, ownMetrics, settings, log, signal, fail }) {
  const { prices: priceMetrics } = ownMetrics
  const store = await prices.openPriceStore(settings, {
    report: (line) => log.info(line), signal, onFailure: fail, metrics: priceMetrics.store
  })
  await store?.check().catch((error) => {
    if (error.code === 'DYNAMODB_TABLE_UNUSABLE') throw error
    log.error({ code: error.code, reason: error.message }, 'history waits for its store')
  })
  const exchanges = prices.exchangesOf(settings)
  const sources = prices.createSources({ exchanges })
  const published = prices.publishSources({ connection: () => connectionOf(0), key: keyOf(0), id, exchanges, figures: sources.figures })
  const refresh = prices.createRefresher({
    sources,
    placeOf (asset) {
      const partition = partitionOf(asset)
      return { connection: connectionOf(partition), key: keyOf(partition) }
    },
    submit,
    onRefresh: priceMetrics.refreshed
  })
  priceMetrics.follow(sources.figures)
  return {
    run: ({ key }) => refresh(key),
    wakes: ({ fields }) => fields.type === 'wanted',
    batches: store && { name: 'history', write: store.write },
    async close () {
      published.close()
      sources.close()
      await store?.close()
    }
  }
}

/** @type {Readonly<Record<string, (parts: Parts) => Duties | Promise<Duties>>>} */
export const DUTIES = Object.freeze({
  [auctions.SYSTEM]: auctionDuties,
  [ORDERS]: orderDuties,
  [prices.SYSTEM]: priceDuties,
  [sales.SYSTEM]: saleDuties
})

export const SYSTEMS = Object.freeze(Object.keys(DUTIES))
