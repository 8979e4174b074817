/** The processes of a measurement: a payment provider, and the product with a database of its own, or replicas as published. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openDatabase } from '../../src/sql/index.js'
import { ROOT } from '../../src/store/index.js'
import { silent } from '../contention/silent.js'
import { FreshetError } from '../errors.js'
import { startPostgres } from '../servers/postgres.js'
import { startProcess } from '../serving/process.js'
import { isProduct, NOOP, PARTITIONS } from './techniques.js'

const FRESHET = join(ROOT, 'bin/freshet.js')
const REPLICA = fileURLToPath(new URL('local-process.js', import.meta.url))
const SECRET = 'whsec_lab'
const PAYMENT_TIMEOUT_MS = '500'
const REQUEST_MS = '60000'
const DEADLINE_MS = 20_000
const UP_MS = 60_000
const ORDERS = `SELECT aggregate, status, reason, total, lines, extract(epoch FROM changed_at - placed_at) * 1000 AS ms
  FROM order_view WHERE aggregate LIKE 'o:%'`
const EVENTS = "SELECT aggregate, version, type FROM events WHERE aggregate LIKE 'o:%' ORDER BY aggregate, version"

/** @typedef {Awaited<ReturnType<typeof startFleet>>} Fleet */
/**
 * @typedef {{ technique: string, replicas: number, redisUrl: string, keyPrefix: string }} Order
 * @typedef {ReturnType<typeof createStarter>} Starter
 */
/** @typedef {import('../serving/process.js').Process} Process */

/** @param {string} key of an order or payment @returns {string} the id of the order */
const idOf = (key) => key.replace(/^o:/, '').split('.')[0]

/** Starts processes, and ends them, the last first. @param {Order} order */
function createStarter ({ redisUrl, keyPrefix }) {
  const env = { ...process.env, FRESHET_REDIS_URL: redisUrl, FRESHET_KEY_PREFIX: keyPrefix }
  /** @type {(() => Promise<unknown>)[]} */
  const closers = []
  const start = (/** @type {string} */ what, /** @type {string[]} */ args) => {
    const one = startProcess(what, args, env)
    closers.unshift(one.stop)
    return one
  }
  const run = (/** @type {string} */ command, /** @type {string[]} */ flags) =>
    start(`the ${command}`, [FRESHET, command, ...flags, '--log-level', 'error'])
  return {
    start,
    run,
    closers,
    /** @param {string[]} flags */
    async payments (...flags) {
      const payments = run('payments', ['--port', '0', '--payment-secret', SECRET, ...flags])
      return { payments, paymentUrl: String((await payments.receive('up', UP_MS)).url) }
    },
    async close () { for (const one of closers) await one() }
  }
}

/** Replicas as published; clients are spread over them. @param {Order} order @param {Starter} starter */
async function startLocal ({ technique, replicas, redisUrl, keyPrefix }, { start, payments: startPayments }) {
  const { payments, paymentUrl } = await startPayments()
  const all = Array.from({ length: technique === NOOP ? 1 : replicas }, () => start('a replica of the lab', [REPLICA]))
  const urls = await Promise.all(all.map(async (one) => {
    await one.receive('ready')
    one.send({ event: 'open', technique, redisUrl, keyPrefix, paymentUrl })
    return String((await one.receive('opened', UP_MS)).url)
  }))
  return {
    paymentUrl,
    commandUrls: urls,
    queryUrls: urls,
    fixed: /** @type {Process[]} */ ([]),
    replicas: all,
    ended: [payments, ...all].map(({ ended }) => ended),
    // what these hold would be lost
    kill () {},
    async orders () {
      const each = await Promise.all(all.map(async (one) => {
        one.send({ event: 'stored' })
        return (await one.receive('stored', UP_MS)).orders
      }))
      return /** @type {import('./history.js').Order[]} */ (each.flat())
    },
    events: async () => /** @type {import('./history.js').Event[]} */ ([])
  }
}

/** @param {Order} order @param {Starter} starter */
async function startProduct ({ technique, replicas }, { run, closers, payments: startPayments }) {
  const postgres = await startPostgres()
  closers.unshift(postgres.close)
  const database = openDatabase({ url: postgres.url, name: 'lab', max: 2, deadlineMs: DEADLINE_MS, log: silent })
  closers.unshift(() => database.close())
  const shared = ['--system-partitions', String(PARTITIONS[technique])]
  const gateway = run('gateway', [...shared, '--port', '0', '--payment-secret', SECRET, '--request-ms', REQUEST_MS])
  const gatewayUrl = String((await gateway.receive('up', UP_MS)).url)
  const { payments, paymentUrl } = await startPayments('--callback-url', `${gatewayUrl}/v1/payments/callbacks`)
  const startConsumers = () => run('consumers', [...shared, '--systems', 'orders', '--database-url', postgres.url,
    '--payment-url', paymentUrl, '--payment-timeout-ms', PAYMENT_TIMEOUT_MS])
  const reader = run('reader', ['--port', '0', '--database-url', postgres.url])
  const all = Array.from({ length: replicas }, startConsumers)
  const [{ url: readerUrl }] = await Promise.all([reader, ...all].map((one) => one.receive('up', UP_MS)))
  return {
    paymentUrl,
    commandUrls: [gatewayUrl],
    queryUrls: [String(readerUrl)],
    fixed: [gateway, reader],
    replicas: all,
    ended: [payments, gateway, reader].map(({ ended }) => ended),

    /** Kills one of the consumers, and starts another. */
    kill () {
      const [one] = all.splice(Math.floor(Math.random() * all.length), 1)
      process.kill(Number(one.pid), 'SIGKILL')
      all.push(startConsumers())
    },

    /** @returns {Promise<import('./history.js').Order[]>} */
    orders: async () => (await database.query(ORDERS)).rows.map(({ aggregate, total, ms, ...row }) =>
      ({ ...row, id: idOf(aggregate), total: Number(total), ms: Number(ms) })),

    /** @returns {Promise<import('./history.js').Event[]>} */
    events: async () => (await database.query(EVENTS)).rows.map(({ aggregate, version, type }) =>
      ({ id: idOf(aggregate), version: Number(version), type }))
  }
}

/** @param {Order} order */
export async function startFleet (order) {
  const starter = createStarter(order)
  try {
    const { ended, fixed, replicas, paymentUrl, ...rest } = await (isProduct(order.technique) ? startProduct : startLocal)(order, starter)
    const usageOf = (/** @type {Process[]} */ those) => Promise.all(those.map((one) => one.usage()))
    return {
      ...rest,
      /** Rejects when a process ends that must not. */
      ended: Promise.race(ended),

      /** @param {object} faults */
      async fail (faults) {
        const response = await fetch(`${paymentUrl}/faults`,
          { method: 'PUT', body: JSON.stringify(faults), headers: { 'content-type': 'application/json' } })
        if (!response.ok) throw new FreshetError('LOAD_FAILED', `the payment provider refused ${JSON.stringify(faults)}`)
      },

      /** @returns {Promise<import('./history.js').Payment[]>} */
      async payments () {
        const { items } = /** @type {any} */ (await (await fetch(`${paymentUrl}/ledger?limit=100000`)).json())
        return items.map((/** @type {any} */ { key, captures, captured, refunded }) => ({ id: idOf(key), captures, captured, refunded }))
      },

      /** What the processes have used, of those that live: gateway and reader, and the replicas. */
      usage: async () => ({ fixed: await usageOf(fixed), replicas: await usageOf(replicas) }),
      close: starter.close
    }
  } catch (error) {
    await starter.close()
    throw error
  }
}
