/** How fast the order writer is, and how long partitions have no owner: figures, with bounds that a busy machine keeps too. */
import { Registry } from 'prom-client'
import { admissionKey, createAdmission, createAgreement } from '../../src/admission/index.js'
import { createAdmissionMetrics } from '../../src/metrics/index.js'
import { createPrimaries } from '../../src/store/index.js'
import { runConsumers } from '../../test/commands.js'
import { startMigratedDatabase } from '../../test/database.js'
import { nightTest, scopedEngines } from '../../test/scope.js'
import { connectFor, engineName, eventually, startServer } from '../../test/servers.js'

const PARTITIONS = 16
const FLAGS = ['--system-partitions', String(PARTITIONS), '--systems', 'sales']
const SALES = 32
const ORDERS = 20_000
const AT_ONCE = 2000
const DEADLINE_MS = 60_000
const KEEP_MS = 3_600_000

/** @template T @param {() => Promise<T>} check */
const untilSo = (check) => eventually(check, { deadlineMs: DEADLINE_MS })

/** Sells units while no consumer runs. @param {import('tap').Test} t @param {string} redisUrl */
async function sell (t, redisUrl) {
  const routes = createPrimaries(redisUrl, { name: 'rates', deadlineMs: DEADLINE_MS })
  t.teardown(() => routes.close())
  await routes.opened
  const metrics = createAdmissionMetrics(new Registry())('sales')
  const { submit } = createAdmission({
    route: routes.route,
    agreement: createAgreement({ router: routes.router, keyPrefix: 'fr:', system: 'sales', partitions: PARTITIONS }),
    requestMs: KEEP_MS,
    keepMs: KEEP_MS,
    deadlineMs: DEADLINE_MS,
    metrics
  })
  const order = (/** @type {string} */ key, /** @type {string} */ requestId, /** @type {string[]} */ args) =>
    submit({ rule: 'bounded', key, scope: '', requestId, args })
  for (let n = 0; n < SALES; n++) await order(`s${n}`, 'create', ['create', '100000', '1', '0', '2000000000000', '0', 'direct', '1', '0'])
  for (let n = 0; n < ORDERS; n += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, (_, i) =>
      order(`s${(n + i) % SALES}`, String(n + i), ['claim', `u${n + i}`, '1', `c${n + i}`, 'sold', 'direct'])))
  }
}

/** @param {import('../../src/store/index.js').Connection} connection @returns {Promise<string[]>} ids of the owners that hold a lease */
const ownersIn = async (connection) => Promise.all(Array.from({ length: PARTITIONS }, async (_, partition) => {
  const key = admissionKey('fr:', 'sales', partition, PARTITIONS)('owner')
  const [id, until] = (await connection.send('HMGET', key, 'id', 'until')).map(String)
  return Number(until) > Date.now() ? id : ''
}))

const [engine] = await scopedEngines()
nightTest(`${engineName(engine)}: order rows per second, and the time of a hand-over`, async (t) => {
  const [{ url: redisUrl }, database] = await Promise.all([startServer(t, { engine }), startMigratedDatabase(t)])
  await sell(t, redisUrl)
  const start = () => runConsumers(t, { redisUrl, flags: [...FLAGS, '--database-url', database.url] })
  const rows = async () => Number((await database.query('SELECT count(*) AS n FROM orders'))[0].n)

  const { command: first } = await start()
  const begun = await untilSo(rows)
  const beganMs = performance.now()
  await untilSo(async () => await rows() === ORDERS)
  t.comment(`one process writes ${Math.round(1000 * (ORDERS - begun) / (performance.now() - beganMs))} rows/s`)

  const connection = await connectFor(t, redisUrl)
  let victim = first
  for (const signal of /** @type {const} */ (['SIGTERM', 'SIGKILL'])) {
    const leaving = await untilSo(async () => {
      const ids = await ownersIn(connection)
      return ids.every((id) => id === ids[0]) && ids[0]
    })
    const { command: next } = await start()
    const isShared = async () => (await ownersIn(connection)).filter((id) => id !== leaving && id !== '').length > 2
    await untilSo(isShared)
    const leftMs = performance.now()
    victim.kill(signal)
    await untilSo(async () => (await ownersIn(connection)).every((id) => id !== leaving && id !== ''))
    t.comment(`${signal}: all partitions have another owner after ${Math.round(performance.now() - leftMs)} ms`)
    victim = next
  }
  t.equal(await rows(), ORDERS)
})
