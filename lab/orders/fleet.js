/** The processes of a measurement: a payment provider, and the product with a database of its own, or replicas as published. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openDatabase } from '../../src/sql/index.js'
import { ROOT } from '../../src/store/index.js'
import { silent } from '../contention/silent.js'
import { FreshetError } from '../errors.js'
import { startPostgres } from '../servers/postgres.js'
import { startProcess } from '../serving/process.js'
import { startAutoscaler } from './autoscaler.js'
import { startProxy } from './proxy.js'
import { createQuota } from './quota.js'
import { openService } from './service.js'
import { FLAGS, isProduct, NOOP, POLLED } from './techniques.js'

const FRESHET = join(ROOT, 'bin/freshet.js')
const REPLICA = fileURLToPath(new URL('local-process.js', import.meta.url))
const POLLING_CONSUMERS = join(ROOT, 'bin/experiment/polling-consumers.js')
const SECRET = 'whsec_lab'
const PAYMENT_TIMEOUT_MS = '500'
const REQUEST_MS = '60000'
/** so that memory has a limit */
const KEEP_MS = '30000'
/** of the lab: a soak has millions of events */
const DEADLINE_MS = 120_000
const UP_MS = 60_000
const LEDGER_PAGE = 10_000
/** of each process, where the services are replicated */
const LIMIT_CORES = 1
const ORDERS = `SELECT aggregate, status, reason, total, lines, extract(epoch FROM changed_at - placed_at) * 1000 AS ms
  FROM order_view WHERE aggregate LIKE 'o:%'`
const EVENTS = "SELECT aggregate, version, type FROM events WHERE aggregate LIKE 'o:%' ORDER BY aggregate, version"

/** @typedef {Awaited<ReturnType<typeof startFleet>>} Fleet */
/**
 * @typedef {{ technique: string, replicas: number, everywhere: boolean, autoscaled: boolean, redisUrl: string, keyPrefix: string }} Order
 *   `everywhere`: replicas of gateways and readers too, behind proxies, and a limit of each process; without it, of consumers;
 *   `autoscaled`: they begin with one
 * @typedef {ReturnType<typeof createStarter>} Starter
 * @typedef {import('./service.js').Service} Service
 */
/** @typedef {import('../serving/process.js').Process} Process */
/** @typedef {{ pid: number, cpuSeconds: number, memoryBytes: number }} ProcessUsage */

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
  const run = (/** @type {string} */ command, /** @type {string[]} */ flags, program = [FRESHET, command]) =>
    start(`the ${command}`, [...program, ...flags, '--log-level', 'error'])
  return {
    start,
    run,
    closers,
    /** @param {string[]} flags */
    payments: (...flags) =>
      openService((port) => run('payments', ['--port', port, '--payment-secret', SECRET, ...flags]), 1),
    async close () { for (const one of closers) await one() }
  }
}

/** Replicas as published; clients are spread over them. @param {Order} order @param {Starter} starter */
async function startLocal ({ technique, replicas, redisUrl, keyPrefix }, { start, payments: startPayments }) {
  const payments = await startPayments()
  const all = Array.from({ length: technique === NOOP ? 1 : replicas }, () => start('a replica of the lab', [REPLICA]))
  const urls = await Promise.all(all.map(async (one) => {
    await one.receive('ready')
    one.send({ event: 'open', technique, redisUrl, keyPrefix, paymentUrl: payments.urls[0] })
    return String((await one.receive('opened', UP_MS)).url)
  }))
  return {
    payments,
    commandUrls: urls,
    queryUrls: urls,
    services: /** @type {Record<string, { processes: Process[] }>} */ ({ consumers: { processes: all } }),
    ended: all.map(({ ended }) => ended),
    isLimited: false,
    // what these hold would be lost
    async kill () {},
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
async function startProduct ({ technique, replicas, everywhere, autoscaled }, { run: start, closers, payments: startPayments }) {
  const postgres = await startPostgres()
  closers.unshift(postgres.close)
  const database = openDatabase({ url: postgres.url, name: 'lab', max: 2, deadlineMs: DEADLINE_MS, log: silent })
  closers.unshift(() => database.close())
  const folder = await mkdtemp(join(tmpdir(), 'freshet-lab-'))
  closers.unshift(() => rm(folder, { recursive: true }))
  const quota = everywhere ? await createQuota({ cores: LIMIT_CORES }) : null
  if (quota) closers.push(quota.close)
  const limits = /** @type {Promise<void>[]} */ ([])
  /** @type {typeof start} */
  const run = (...words) => {
    const one = start(...words)
    if (quota) limits.push(quota.limit(Number(one.pid)))
    return one
  }
  const shared = [...FLAGS[technique], '--keep-ms', KEEP_MS]
  const ofConsumers = autoscaled ? 1 : replicas
  const ofOthers = everywhere ? ofConsumers : 1
  const gateway = await openService((port) =>
    run('gateway', [...shared, '--port', port, '--payment-secret', SECRET, '--request-ms', REQUEST_MS]), ofOthers)
  const proxied = async (/** @type {Service} */ service) => {
    if (!everywhere) return service.urls[0]
    const proxy = await startProxy(() => service.urls)
    closers.unshift(proxy.close)
    return proxy.url
  }
  const commandUrl = await proxied(gateway)
  const payments = await startPayments('--callback-url', `${commandUrl}/v1/payments/callbacks`, '--ledger', join(folder, 'ledger'))
  const [reader, consumers] = await Promise.all([
    openService((port) => run('reader', ['--port', port, '--database-url', postgres.url]), ofOthers),
    openService(() => run('consumers', [...shared, '--systems', 'orders', '--database-url', postgres.url,
      '--payment-url', payments.urls[0], '--payment-timeout-ms', PAYMENT_TIMEOUT_MS],
    technique === POLLED ? [POLLING_CONSUMERS] : undefined), ofConsumers)
  ])
  await Promise.all(limits)
  const services = { gateway, reader, consumers }
  if (autoscaled) closers.unshift(startAutoscaler(Object.values(services)))
  return {
    payments,
    commandUrls: [commandUrl],
    queryUrls: [await proxied(reader)],
    services: /** @type {Record<string, { processes: Process[] }>} */ (services),
    ended: [gateway, reader].flatMap(({ processes }) => processes.map(({ ended }) => ended)),
    isLimited: quota?.isLimited ?? false,

    /** Kills a process, and starts it again. @param {import('./faults.js').Killed} what */
    kill: (what) => what === 'database' ? postgres.crash() : ({ ...services, payments })[what].kill(),

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
    const { ended, services, payments, kill, ...rest } = await (isProduct(order.technique) ? startProduct : startLocal)(order, starter)
    const [paymentUrl] = payments.urls
    let known = {}
    /** @param {object} faults of the provider */
    async function fail (faults) {
      known = faults
      const response = await fetch(`${paymentUrl}/faults`,
        { method: 'PUT', body: JSON.stringify(faults), headers: { 'content-type': 'application/json' } })
      if (!response.ok) throw new FreshetError('LOAD_FAILED', `the payment provider refused ${JSON.stringify(faults)}`)
    }
    return {
      ...rest,
      fail,
      /** Rejects when a process ends that must not. */
      ended: Promise.race([...ended, ...payments.processes.map((one) => one.ended)]),

      /** Kills a process, which is started again. @param {import('./faults.js').Killed} what */
      async kill (what) {
        await kill(what)
        if (what === 'payments') await fail(known)
      },

      /** @returns {Promise<import('./history.js').Payment[]>} */
      async payments () {
        /** @type {import('./history.js').Payment[]} */
        const all = []
        for (let after = 0; ; after += LEDGER_PAGE) {
          const { items } = /** @type {any} */ (await (await fetch(`${paymentUrl}/ledger?limit=${LEDGER_PAGE}&after=${after}`)).json())
          for (const { key, captures, captured, refunded } of items) all.push({ id: idOf(key), captures, captured, refunded })
          if (items.length < LEDGER_PAGE) return all
        }
      },

      /** What the processes of each service have used, of those that live. @returns {Promise<Record<string, ProcessUsage[]>>} */
      usage: async () => Object.fromEntries(await Promise.all(Object.entries(services).map(async ([name, { processes }]) =>
        [name, await Promise.all(processes.map(async (one) => ({ pid: Number(one.pid), ...await one.usage() })))]))),
      close: starter.close
    }
  } catch (error) {
    await starter.close()
    throw error
  }
}
