/**
 * What consumers do for orders: they drive them, and write their events into the database.
 *
 * @typedef {{ id: string, cpuPercent: number, partitions: number, driven: Record<string, number>, breaker: string,
 *   paymentUrl: string | null }} Worker `driven`: orders on their way, by step; `paymentUrl`: of a provider on this machine, whose faults a
 *   page may switch
 */
import { calls as services } from 'freshet-feed/systems'
import { Counter, Gauge, Histogram } from 'prom-client'
import { createArchive, SOLD } from './archive.js'
import { SAGA } from './keys.js'
import { createPayments } from './payments/payments.js'
import { createSaga } from './saga.js'

/** No request waits for the archive, and a transaction costs more than its rows. */
const ARCHIVE_EVERY_MS = 1000
/** After these events the owner of an order has something to do at once. */
const TRIGGERS = Object.freeze(['cancel_requested', 'wanted', 'resumed'])
/** A dead letter puts this into the outbox when it is replayed. */
const RESUME = Object.freeze({ ts: '0', request: '', seq: '0', type: 'resume' })

/**
 * @param {import('freshet-feed/systems').ConsumerParts} parts
 * @returns {Promise<import('freshet-feed/systems').Handlers>}
 */
export async function createOrderHandlers ({
  id, database, submit, submitAll, partitionOf, keyOf, stateOf, connectionOf, owned, metrics, deadLetter, openConfirm, decideTask: run,
  entryLost, settings, log
}) {
  // it may fail, and is repeated before anything else is open
  const confirm = await openConfirm()
  const payments = createPayments({
    provider: settings.paymentProvider,
    url: settings.paymentUrl,
    key: settings.paymentKey,
    timeoutMs: settings.paymentTimeoutMs,
    onCall: metrics.called
  })
  metrics.follow(payments.breaker)
  /** The step of each order that is driven here, from the first attempt until it is final or parked, by key. @type {Map<string, string>} */
  const driven = new Map()
  const drive = createSaga({
    submit,
    submitAll,
    payments,
    stateOf,
    confirm: (key, generation) => confirm(partitionOf(key), generation),
    async wasSold (product, claim) {
      const { rows } = await /** @type {NonNullable<typeof database>} */ (database).query(SOLD, [product, claim])
      return rows.length > 0
    },
    deadLetter: (key, letter) => deadLetter(partitionOf(key), {
      consumer: SAGA, entry: { id: '0-0', rule: 'step', key, seq: 0, fields: RESUME }, ...letter
    }),
    async drop (key) {
      const partition = partitionOf(key)
      await connectionOf(partition).send('ZREM', keyOf(partition)('tasks'), `step ${key} run`)
    },
    onStep (key, step) {
      if (step === null) driven.delete(key)
      else driven.set(key, step)
    },
    onFinal: metrics.ended,
    log
  })
  const cpuPercent = createCpuMeter()
  const archive = createArchive({
    partitionOf,
    async generationOf (partition, id) {
      const lineage = await confirm(partition, undefined, id)
      if (!lineage) throw entryLost({ partition }, id)
      return lineage
    },
    async resume (key) {
      const { code } = await run({ rule: 'step', key, name: 'resume' })
      // it was final
      if (code === 'illegal') await run({ rule: 'step', key, name: 'check' })
    },
    onDifferent: metrics.differed,
    log
  })
  return {
    run: (task, entry) => task.rule === 'step' && task.name === 'run' ? drive(task.key, entry && placedState(entry)) : run(task),
    /** @returns {Worker} */
    figures: () => ({
      id,
      cpuPercent: cpuPercent(),
      partitions: owned().length,
      driven: countOwned(driven, (key) => owned().includes(partitionOf(key))),
      breaker: payments.breaker(),
      paymentUrl: payments.localUrl
    }),
    triggers ({ rule, key, fields: { type, until, deadline } }) {
      if (type === 'placed') return { rule, key, name: 'run', nextMs: Number(deadline) }
      // a hold of a reservation ends by a task; what else happens to an order is done by its own run
      if (rule === 'bounded') return until === undefined ? null : false
      return TRIGGERS.includes(type) || null
    },
    rowsEveryMs: ARCHIVE_EVERY_MS,
    rows: { archive },
    close: payments.close
  }
}

/**
 * An order as it was placed, so that it need not be read; one that went on since is read when a step of it is rejected.
 * @param {import('freshet-feed/systems').RawEntry} entry
 */
const placedState = ({ fields: { ts, customer, total, lines, address, deadline, correlation } }) => ({
  status: 'placed',
  customer,
  total,
  lines,
  address,
  deadline,
  correlation,
  authorization: '',
  placedAt: ts,
  reason: '',
  parked: '',
  wasHeld: ''
})

/**
 * Another process drives the orders whose partition is no longer owned.
 * @param {Map<string, string>} steps by key @param {(key: string) => boolean} isOwned @returns {Record<string, number>} orders by step
 */
function countOwned (steps, isOwned) {
  /** @type {Record<string, number>} */
  const counts = {}
  for (const [key, step] of steps) {
    if (isOwned(key)) counts[step] = (counts[step] ?? 0) + 1
    else steps.delete(key)
  }
  return counts
}

/** @returns {() => number} CPU time since the last time, percent of one core */
function createCpuMeter () {
  let [before, beforeMs] = [process.cpuUsage(), performance.now()]
  return () => {
    const [{ user, system }, nowMs] = [process.cpuUsage(before), performance.now()]
    const percent = (user + system) / 10 / (nowMs - beforeMs)
    ;[before, beforeMs] = [process.cpuUsage(), nowMs]
    return percent
  }
}

/** Metrics of orders, in the processes that drive them. */

const SAGA_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60]
const CALL_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

/** @param {import('prom-client').Registry} registry */
export function createOrderMetrics (registry) {
  const common = { registers: [registry] }
  const took = new Histogram({
    ...common,
    name: 'freshet_order_seconds',
    help: 'Time from placing an order to its final status, by outcome: confirmed, or why it was cancelled',
    labelNames: ['outcome'],
    buckets: SAGA_SECONDS
  })
  const calls = new Histogram({
    ...common,
    name: 'freshet_payment_call_seconds',
    help: 'Time of a call of the payment provider, by operation and outcome',
    labelNames: ['operation', 'outcome'],
    buckets: CALL_SECONDS
  })
  const different = new Counter({
    ...common, name: 'freshet_order_events_different_total', help: 'Total events whose number has another content in the database'
  })
  let breaker = () => 'closed'
  /** @type {Gauge} */
  const state = new Gauge({
    ...common,
    name: 'freshet_payment_breaker',
    help: 'Circuit breaker of the payment provider: 0 closed, 1 half-open, 2 open',
    collect () { state.set(services.states.indexOf(breaker())) }
  })

  return {
    ended: (/** @type {string} */ outcome, /** @type {number} */ seconds) => took.observe({ outcome }, seconds),
    called: (/** @type {string} */ operation, /** @type {string} */ outcome, /** @type {number} */ seconds) =>
      calls.observe({ operation, outcome }, seconds),
    differed: () => different.inc(),
    follow (/** @type {() => string} */ read) { breaker = read }
  }
}
