/** The processes of a measurement: a payment provider, and the product with a database of its own, or replicas of the lab. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openDatabase } from '../../../src/sql/index.js'
import { ROOT } from '../../../src/embedded/index.js'
import { silent } from '../auctions/silent.js'
import { FreshetError } from '../../errors.js'
import { startPostgres } from '../../servers/postgres.js'
import { cpuSecondsBeside } from '../../servers/process-tree.js'
import { startProcess } from '../../serving/process.js'
import { openProcess, startOpened } from '../process.js'
import { startAutoscaler } from './autoscaler.js'
import { partitionsOf } from './owners.js'
import { createQuota } from './quota.js'
import { eventOf, EVENTS_OF_ORDERS, idOf, orderOf, ORDERS } from './rows.js'
import { openService } from './service.js'
import { flagsOf, isOfSql, isProduct, NOOP } from './techniques.js'

const FRESHET = join(ROOT, 'bin/freshet.js')
const REPLICA = fileURLToPath(new URL('local-process.js', import.meta.url))
const SQL_PROCESS = fileURLToPath(new URL('sql-process.js', import.meta.url))
const PROXY = new URL('proxy-process.js', import.meta.url)
const SECRET = 'whsec_lab'
const PAYMENT_TIMEOUT_MS = '500'
const REQUEST_MS = '60000'
/** so that memory has a limit */
const KEEP_MS = '30000'
export const ORDER_DEADLINE_MS = 5000
/** of the lab: a soak has millions of events */
const DEADLINE_MS = 120_000
const LEDGER_PAGE = 10_000

/** @typedef {Awaited<ReturnType<typeof startFleet>>} Fleet */
/**
 * @typedef {{ technique: string, replicas: number, everywhere: boolean, autoscaled: boolean, redisUrl: string, keyPrefix: string }} Order
 *   `everywhere`: replicas of gateways and readers too, behind proxies, and a limit of each process; without it, of consumers;
 *   `autoscaled`: they begin with one
 * @typedef {ReturnType<typeof createStarter>} Starter
 * @typedef {import('./service.js').Service} Service
 */
/** @typedef {import('../../serving/process.js').Process} Process */
/** @typedef {{ pid: number, cpuSeconds: number, memoryBytes: number }} ProcessUsage */
/** @typedef {{ atMs: number, partitions: number[] }} Killed of consumers: when, ms since 1970, and what they owned */

/** Starts processes, and ends them, the last first. @param {Order} order */
function createStarter ({ redisUrl, keyPrefix }) {
  /** @type {Record<string, string | undefined>} */
  const env = { ...process.env, FRESHET_REDIS_URL: redisUrl, FRESHET_KEY_PREFIX: keyPrefix, FRESHET_PAYMENT_SECRET: SECRET }
  /** @type {(() => Promise<unknown>)[]} */
  const closers = []
  let isClosed = false
  const start = (/** @type {string} */ what, /** @type {string[]} */ args) => {
    // what was killed may be started again just then
    if (isClosed) throw new FreshetError('LOAD_FAILED', 'the measurement is over')
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
    /** In the environment, because other users of the machine see flags; for processes that start later. @param {string} url */
    useDatabase (url) { env.FRESHET_DATABASE_URL = url },
    /** @param {string[]} flags */
    payments: (...flags) =>
      openService((port) => run('payments', ['--port', port, ...flags]), 1),
    async close () {
      isClosed = true
      for (const one of closers) await one()
    }
  }
}

/** A PostgreSQL, and a connection of the lab to it. @param {Starter['closers']} closers */
async function startDatabase (closers) {
  const postgres = await startPostgres()
  closers.unshift(postgres.close)
  const database = openDatabase({ url: postgres.url, name: 'lab', max: 2, deadlineMs: DEADLINE_MS, log: silent })
  closers.unshift(() => database.close())
  return {
    ...postgres,
    database,
    async cpuSeconds () {
      const { rows: [{ pid }] } = await database.query('SELECT pg_backend_pid() AS pid')
      return await cpuSecondsBeside(pid) ?? 0
    }
  }
}

/** Replicas of the lab. @param {Order} order @param {Starter} starter */
async function startLocal ({ technique, replicas, redisUrl, keyPrefix }, { start, closers, payments: startPayments }) {
  const sql = isOfSql(technique) ? await startDatabase(closers) : null
  const payments = await startPayments()
  const started = Array.from({ length: sql || technique === NOOP ? 1 : replicas }, () =>
    start('a replica of the lab', [sql ? SQL_PROCESS : REPLICA]))
  const all = await Promise.all(started.map((one) =>
    openProcess(one, { technique, redisUrl, keyPrefix, paymentUrl: payments.urls[0], databaseUrl: sql?.url })))
  const stored = (/** @type {'orders' | 'events'} */ what) =>
    Promise.all(all.map(({ ask }) => ask('stored'))).then((each) => each.flatMap((one) => one[what] ?? []))
  const urls = all.map(({ url }) => url)
  return {
    payments,
    commandUrls: urls,
    queryUrls: urls,
    databaseCpuSeconds: sql?.cpuSeconds ?? (async () => 0),
    killed: /** @type {Killed[]} */ ([]),
    services: /** @type {Record<string, { processes: Process[] }>} */ ({ consumers: { processes: all } }),
    ended: all.map(({ ended }) => ended),
    isLimited: false,
    // what these hold would be lost
    async kill () {},
    orders: async () => /** @type {import('./history.js').Order[]} */ (await stored('orders')),
    events: async () => /** @type {import('./history.js').Event[]} */ (await stored('events'))
  }
}

/** @param {Order} order @param {Starter} starter */
async function startProduct (order, { run: start, closers, useDatabase, payments: startPayments }) {
  const { technique, replicas, everywhere, autoscaled } = order
  const { database, url, crash, cpuSeconds } = await startDatabase(closers)
  useDatabase(url)
  const folder = await mkdtemp(join(tmpdir(), 'freshet-lab-'))
  closers.unshift(() => rm(folder, { recursive: true }))
  const quota = everywhere ? await createQuota() : null
  if (quota) closers.push(quota.close)
  const limits = /** @type {Promise<void>[]} */ ([])
  /** @type {typeof start} */
  const run = (...words) => {
    const one = start(...words)
    if (quota) limits.push(quota.limit(Number(one.pid)))
    return one
  }
  const shared = [...flagsOf(technique), '--keep-ms', KEEP_MS]
  const ofConsumers = autoscaled ? 1 : replicas
  const ofOthers = everywhere ? ofConsumers : 1
  /** @param {(port: string) => Process} runOne @returns {Promise<Service & { url: string }>} `url`: of one, or of a proxy to all */
  async function reachable (runOne) {
    if (!everywhere) return openService(runOne, ofOthers).then((service) => Object.assign(service, { url: service.urls[0] }))
    const { url, send, stop } = await startOpened('a proxy', PROXY, {})
    closers.unshift(stop)
    return Object.assign(await openService(runOne, ofOthers, (urls) => send({ event: 'replicas', urls })), { url })
  }
  const gateway = await reachable((port) => run('gateway', [...shared, '--port', port,
    '--request-ms', REQUEST_MS, '--order-deadline-ms', String(ORDER_DEADLINE_MS)]))
  const payments = await startPayments('--callback-url', `${gateway.url}/v1/payments/callbacks`, '--ledger', join(folder, 'ledger'))
  const [reader, consumers] = await Promise.all([
    reachable((port) => run('reader', ['--port', port])),
    openService(() => run('consumers', [...shared, '--systems', 'orders',
      '--payment-url', payments.urls[0], '--payment-timeout-ms', PAYMENT_TIMEOUT_MS]), ofConsumers)
  ])
  await Promise.all(limits)
  const services = { gateway, reader, consumers }
  if (autoscaled) closers.unshift(startAutoscaler(Object.values(services)))
  /** @type {Killed[]} */
  const killed = []
  return {
    payments,
    commandUrls: [gateway.url],
    queryUrls: [reader.url],
    killed,
    databaseCpuSeconds: cpuSeconds,
    services: /** @type {Record<string, { processes: Process[] }>} */ (services),
    ended: [gateway, reader].flatMap(({ processes }) => processes.map(({ ended }) => ended)),
    isLimited: quota?.isLimited ?? false,

    /** Kills a process, and starts it again. @param {Exclude<import('./faults.js').Killed, 'primary'>} what */
    async kill (what) {
      if (what === 'database') return crash()
      if (what !== 'consumers') return ({ ...services, payments })[what].kill()
      return consumers.kill(async (pid) => {
        const partitions = await partitionsOf(order, pid)
        killed.push({ atMs: Date.now(), partitions })
      })
    },

    /** @returns {Promise<import('./history.js').Order[]>} */
    orders: async () => (await database.query(ORDERS)).rows.map(orderOf),

    /** @returns {Promise<import('./history.js').Event[]>} */
    events: async () => (await database.query(EVENTS_OF_ORDERS("aggregate LIKE 'o:%'"))).rows.map(eventOf)
  }
}

/** @param {Order} order */
export async function startFleet (order) {
  const starter = createStarter(order)
  try {
    const { ended, services, payments, kill, databaseCpuSeconds, ...rest } =
      await (isProduct(order.technique) ? startProduct : startLocal)(order, starter)
    const [paymentUrl] = payments.urls
    let known = {}
    /** of the provider, ms since 1970 @type {[number, number][]} */
    const outages = []
    /** @param {{ isDown?: boolean }} faults of the provider */
    async function fail (faults) {
      known = faults
      const response = await fetch(`${paymentUrl}/faults`,
        { method: 'PUT', body: JSON.stringify(faults), headers: { 'content-type': 'application/json' } })
      if (!response.ok) throw new FreshetError('LOAD_FAILED', `the payment provider refused ${JSON.stringify(faults)}`)
      if (faults.isDown) outages.push([Date.now(), Infinity])
      else for (const one of outages) one[1] = Math.min(one[1], Date.now())
    }
    return {
      ...rest,
      fail,
      outages,
      /** Rejects when a process ends that must not. */
      ended: Promise.race([...ended, ...payments.processes.map((one) => one.ended)]),

      /** Kills a process, which is started again. @param {Exclude<import('./faults.js').Killed, 'primary'>} what */
      async kill (what) {
        if (what === 'payments') outages.push([Date.now(), Infinity])
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

      /**
       * What the processes of each service, the provider and the database have used, of those that live.
       * @returns {Promise<Record<string, ProcessUsage[]>>}
       */
      async usage () {
        const [each, cpuSeconds] = await Promise.all([
          Promise.all(Object.entries({ ...services, payments }).map(async ([name, { processes }]) =>
            [name, await Promise.all(processes.map(async (one) => ({ pid: Number(one.pid), ...await one.usage() })))])),
          databaseCpuSeconds()
        ])
        return { ...Object.fromEntries(each), database: [{ pid: 0, cpuSeconds, memoryBytes: 0 }] }
      },
      close: starter.close
    }
  } catch (error) {
    await starter.close()
    throw error
  }
}
