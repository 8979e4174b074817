/** The systems that consumers can serve: what each does with the tasks and entries of a partition that this process owns. */
import { fieldsOf } from '../../src/admission/index.js'
import { taskCommands } from '../../src/schedule/index.js'
import * as auctions from '../../src/systems/auctions/index.js'
import * as orders from '../../src/systems/orders/index.js'
import * as prices from '../../src/systems/prices/index.js'
import * as sales from '../../src/systems/sales/index.js'

/**
 * @typedef {object} Parts
 * @property {string} id of the process
 * @property {import('../../src/admission/index.js').Admission} admission
 * @property {(partition: number) => import('../../src/store/index.js').Connection} connectionOf the primary
 * @property {import('../../src/sql/index.js').Database | null} database null: no rows are written
 * @property {import('../../src/metrics/index.js').PriceMetrics} priceMetrics
 * @property {import('../../src/metrics/index.js').OrderMetrics} orderMetrics
 * @property {(partition: number, letter: import('./system.js').Letter) => Promise<void>} bury writes a dead letter
 * @property {() => number[]} owned partitions
 * @property {() => Promise<ReturnType<typeof import('../confirms.js').openConfirms>>} confirms
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

/** nobody waits for the archive, and a transaction costs more than its rows */
const ARCHIVE_PAUSE_MS = 100
/** events of an order after which its owner has something to do at once */
const WAKING = Object.freeze(['placed', 'cancel_requested', 'wanted', 'resumed'])

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
async function priceDuties ({ id, admission: { submit, partitionOf, keyOf }, connectionOf, priceMetrics, settings, log, signal, fail }) {
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

/** @param {Parts} parts @returns {Promise<Duties>} */
async function orderDuties ({ id, admission, connectionOf, database, owned, orderMetrics, bury, confirms, settings, log }) {
  const { submit, partitionOf, keyOf, partitions } = admission
  const opened = await confirms()
  const confirm = opened && Array.from({ length: partitions }, (_, partition) => opened.of(partition))
  const payments = orders.createPayments({
    provider: settings.paymentProvider,
    url: settings.paymentUrl,
    key: settings.paymentKey,
    timeoutMs: settings.paymentTimeoutMs,
    onCall: orderMetrics.called
  })
  orderMetrics.follow(payments.breaker)
  const command = (/** @type {string} */ key, /** @type {string[]} */ ...args) => submit({ rule: 'step', key, scope: '', requestId: '', args })
  const drive = orders.createSaga({
    submit,
    payments,
    async stateOf (key) {
      const partition = partitionOf(key)
      return fieldsOf((await connectionOf(partition).send('HGETALL', keyOf(partition)(`state:${key}`))).map(String))
    },
    confirm: async (key) => confirm?.[partitionOf(key)](),
    bury: (key, { reason, attempts }) => bury(partitionOf(key), {
      consumer: 'saga', entry: { id: '0-0', rule: 'step', key, seq: 0, fields: { ts: '0', request: '', seq: '0', type: 'resume' } }, reason, attempts
    }),
    onFinal: orderMetrics.ended,
    log
  })
  const run = taskCommands(submit)
  let driven = 0
  const published = orders.publishReplica({
    connection: () => connectionOf(0),
    key: keyOf(0),
    id,
    figures: () => ({ partitions: owned().length, driven, breaker: payments.breaker(), paymentUrl: payments.localUrl })
  })
  return {
    async run (task) {
      if (task.rule !== 'step' || task.name !== 'run') return run(task)
      driven++
      await drive(task.key).finally(() => { driven-- })
    },
    wakes: ({ rule, fields }) => rule === 'step' && WAKING.includes(fields.type),
    pauseMs: ARCHIVE_PAUSE_MS,
    rows: database && orders.createArchive({
      partitionOf,
      generationOf: async (partition) => String(await connectionOf(partition).send('HGET', keyOf(partition)('generation'), 'lineage')),
      resume: (key) => command(key, 'resume'),
      onDifferent: orderMetrics.differed,
      log
    }),
    async close () {
      published.close()
      payments.close()
      await opened?.close()
    }
  }
}

/** @type {Readonly<Record<string, (parts: Parts) => Duties | Promise<Duties>>>} */
export const DUTIES = Object.freeze({
  [auctions.SYSTEM]: auctionDuties,
  [orders.SYSTEM]: orderDuties,
  [prices.SYSTEM]: priceDuties,
  [sales.SYSTEM]: saleDuties
})

export const SYSTEMS = Object.freeze(Object.keys(DUTIES))
