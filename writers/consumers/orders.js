/** What consumers do for orders: they drive them, and write their events into the database. */
import { fieldsOf } from '../../src/admission/index.js'
import { taskCommands } from '../../src/schedule/index.js'
import { createArchive, createPayments, createSaga, publishReplica, SYSTEM } from '../../src/systems/orders/index.js'
import { durabilityOfOrders, hasReplicas, openConfirms } from '../confirms.js'
import { eachSecond } from '../each-second.js'

/** no request waits for the archive, and a transaction costs more than its rows */
const ARCHIVE_PAUSE_MS = 400
/** events of an order after which its owner has something to do at once */
const WAKING = Object.freeze(['placed', 'cancel_requested', 'wanted', 'resumed'])

/** @param {import('./systems.js').Parts} parts @returns {Promise<import('./systems.js').Duties>} */
export async function orderDuties (parts) {
  const { id, admission, connectionOf, database, owned, ownMetrics: { orders: metrics }, bury, settings, log } = parts
  const { submit, partitionOf, keyOf } = admission
  // it may fail, and is repeated before anything else is open
  const confirms = await openOwnConfirms(parts)
  const payments = createPayments({
    provider: settings.paymentProvider,
    url: settings.paymentUrl,
    key: settings.paymentKey,
    timeoutMs: settings.paymentTimeoutMs,
    onCall: metrics.called
  })
  metrics.follow(payments.breaker)
  const confirm = async (/** @type {number} */ partition) => confirms?.[partition]()
  const command = (/** @type {string} */ key, /** @type {string} */ op) =>
    submit({ rule: 'step', key, scope: '', requestId: '', args: [op] })
  const drive = createSaga({
    submit,
    payments,
    async stateOf (key) {
      const partition = partitionOf(key)
      return fieldsOf((await connectionOf(partition).send('HGETALL', keyOf(partition)(`state:${key}`))).map(String))
    },
    confirm: (key) => confirm(partitionOf(key)),
    bury: (key, letter) => bury(partitionOf(key), {
      consumer: 'saga', entry: { id: '0-0', rule: 'step', key, seq: 0, fields: RESUME }, ...letter
    }),
    async drop (key) {
      const partition = partitionOf(key)
      await connectionOf(partition).send('ZREM', keyOf(partition)('tasks'), `step ${key} run`)
    },
    onFinal: metrics.ended,
    log
  })
  const run = taskCommands(submit)
  let driven = 0
  const published = publishReplica({
    connection: () => connectionOf(0),
    key: keyOf(0),
    id,
    figures: () => ({ partitions: owned().length, driven, breaker: payments.breaker(), paymentUrl: payments.localUrl })
  })
  const stopKeeping = eachSecond(admission.refresh, ({ code, message }) =>
    log.warn({ code, reason: message }, 'the secret of orders cannot be compared with the one that the database keeps'))
  return {
    async run (task) {
      if (task.rule !== 'step' || task.name !== 'run') return run(task)
      driven++
      await drive(task.key).finally(() => { driven-- })
    },
    wakes: ({ rule, fields }) => rule === 'step' && WAKING.includes(fields.type),
    pauseMs: ARCHIVE_PAUSE_MS,
    rows: database && createArchive({
      partitionOf,
      confirm,
      generationOf: async (partition) => String(await connectionOf(partition).send('HGET', keyOf(partition)('generation'), 'lineage')),
      async resume (key) {
        const { code } = await command(key, 'resume')
        // it was final
        if (code === 'illegal') await command(key, 'check')
      },
      onDifferent: metrics.differed,
      log
    }),
    async close () {
      stopKeeping()
      published.close()
      payments.close()
      await confirms?.close()
    }
  }
}

/** what a dead letter puts into the outbox when it is replayed */
const RESUME = Object.freeze({ ts: '0', request: '', seq: '0', type: 'resume' })

/** Confirms of each partition, as gateways do it. @param {import('./systems.js').Parts} parts */
async function openOwnConfirms ({ id, admission: { keyOf, partitions }, connectionOf, primaryUrl, settings }) {
  const { durability, deadlineMs, ackWithinMs } = settings
  const opened = openConfirms({
    primaryUrl,
    name: `${id}:${SYSTEM}:confirm`,
    keyOf,
    durability: durabilityOfOrders(durability, await hasReplicas(connectionOf(0))),
    deadlineMs,
    waitMs: ackWithinMs
  })
  return opened && Object.assign(Array.from({ length: partitions }, (_, partition) => opened.of(partition)), { close: opened.close })
}
