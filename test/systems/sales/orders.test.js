/** Sales and the database: orders, durability db, dead letters, servers that were replaced. */
import { Registry } from 'prom-client'
import t from 'tap'
import { admissionKey, createAdmission, createAgreement, fieldsOf } from '../../../src/admission/index.js'
import { createAdmissionMetrics } from '../../../src/metrics/index.js'
import { openDatabase } from '../../../src/sql/index.js'
import { newest } from '../../../src/embedded/engine.js'
import { createPrimaries } from '../../../src/store/index.js'
import { createOrderWriter } from '../../../src/systems/sales/index.js'
import { endOfMain } from '../../bin/in-process.js'
import { sharedDatabase } from '../../database.js'
import { commandsIn, exampleOf } from '../../docs/examples.js'
import { isProblem } from '../../gateway/requests.js'
import { startProxy } from '../../proxy.js'
import { eventually, silentLog, startServer, testEngines } from '../../servers.js'
import { startConsumers, startReader } from '../../services.js'
import { sharedDeployment } from '../../shared.js'
import { startSaleGateway, startSales } from './selling.js'

const PARTITIONS = ['--system-partitions', '2']
const database = await sharedDatabase(t)
const ORDERS = 'SELECT user_id, claim, seq, quantity, status FROM orders WHERE sale = $1 ORDER BY seq'

/** A dead letter without ids, times and counts. @param {string} text */
const withoutWhatDiffers = (text) => {
  const { id, key, entry, at, fields: { ts, request, claim, key: same, ...fields }, ...letter } = JSON.parse(text)
  return { ...letter, fields }
}

t.test('sales with a database', async (t) => {
  const flags = ['--database-url', database.url]
  const deployment = await sharedDeployment(t)
  const { gateway, reader, sale, redisUrl, keyPrefix } =
    await startSales(t, { ...deployment, readerFlags: flags, consumerFlags: flags })
  const { create, claim, confirm, release, turn, order } = gateway

  await t.test('what is sold becomes a row; what is held does not', async (t) => {
    const id = 'rows'
    await create(id, { stock: 5, perUser: 3 })
    t.equal((await claim(id, 'ann', { quantity: 2, key: 'at-once' })).status, 201, 'a new sale sells at once')
    const first = (await claim(id, 'ann', { quantity: 2, key: 'at-once' })).json
    await claim(id, 'bob')
    const revoked = (await claim(id, 'cid')).json
    await release(id, revoked.claimId, 'cid')
    await eventually(async () => (await sale(id)).orderRows === 2)
    await eventually(async () => (await database.query(ORDERS, [id])).length === 3)
    t.match(await database.query(ORDERS, [id]), [
      { user_id: 'ann', claim: first.claimId, seq: '1', quantity: '2', status: 'sold' }, { user_id: 'bob' }, { status: 'revoked' }
    ])
    const held = 'held'
    await create(held, { stock: 1, holdMs: 60_000 })
    const { json } = await claim(held, 'ann')
    await confirm(held, json.claimId)
    await eventually(async () => (await sale(held)).orderRows === 1)
    const { items, next } = (await reader.get('/v1/users/ann/claims?limit=2')).json
    t.match(items, [{ saleId: held, claimId: json.claimId, quantity: 1, status: 'sold', ts: Number }, { saleId: id, quantity: 2 }])
    if (next) t.notMatch((await reader.get(`/v1/users/ann/claims?after=${next}`)).body, id)
  })

  await t.test('a row that the database rejects is a dead letter; the partition goes on, and it can be replayed', async (t) => {
    const id = 'poison'
    await database.query("ALTER TABLE orders ADD CONSTRAINT poison CHECK (user_id <> 'mallory')")
    await create(id, { stock: 5 })
    await claim(id, 'ann')
    await claim(id, 'mallory')
    await claim(id, 'bob')
    await eventually(async () => (await sale(id)).orderRows === 2)
    const list = async () => (await gateway.send('GET', '/v1/systems/sales/dead-letters')).json
    await eventually(async () => (await list()).items.length === 1)
    const [letter] = (await list()).items
    t.match(letter, { consumer: 'orders', key: id, reason: /poison/, fields: { user: 'mallory', type: 'sold' } })
    const [command, shown] = await exampleOf('docs/consumers.md', 'letter')
    const { 'dead-letters': words } = commandsIn(command)
    const { stdout } = await endOfMain(['dead-letters', ...words, '--redis-url', redisUrl, '--key-prefix', keyPrefix])
    t.match(JSON.parse(stdout), { id: letter.id })
    t.same(withoutWhatDiffers(stdout), withoutWhatDiffers(shown))
    const act = (/** @type {string} */ method, rest = '') =>
      gateway.send(method, `/v1/systems/sales/dead-letters/${letter.id}${rest}`)
    await database.query('ALTER TABLE orders DROP CONSTRAINT poison')
    const both = await Promise.all([act('POST', '/replay'), act('POST', '/replay')])
    t.same(both.map(({ status }) => status).sort(), [200, 404])
    await eventually(async () => (await sale(id)).orderRows === 3)
    t.equal((await list()).items.length, 0)
    isProblem(t, await act('DELETE'), 404, 'DEAD_LETTER_UNKNOWN')
  })

  await t.test('durability db: a claim counts when its row is committed; without the database nothing is half done', async (t) => {
    const proxy = await startProxy(t, Number(new URL(database.url).port), { isCounting: false })
    const url = database.url.replace(/:\d+\//, `:${proxy.port}/`)
    const durable = await startSaleGateway(t, {
      redisUrl, keyPrefix, flags: [...PARTITIONS, '--durability', 'db', '--database-url', url, '--ack-within-ms', '1500']
    })
    const id = 'durable'
    await eventually(async () => (await durable.create(id, { stock: 3 })).status === 201)
    await eventually(async () => (await durable.claim(id, 'ann')).status === 201)
    t.match(await database.query(ORDERS, [id]), [{ user_id: 'ann', status: 'sold' }], 'committed before the reply')
    await database.query("ALTER TABLE orders ADD CONSTRAINT refused CHECK (user_id <> 'eve')")
    isProblem(t, await durable.claim(id, 'eve'), 409, 'CLAIM_REJECTED')
    await database.query('ALTER TABLE orders DROP CONSTRAINT refused')
    t.match(await sale(id), { sold: 1, held: 0, available: 2 }, 'the unit is free again')
    proxy.goSilent()
    await turn(id, 'restock', { quantity: 1000 })
    let n = 0
    // consumers still have their connection
    await eventually(async () => (await durable.claim(id, `u${n++}`)).json.code === 'DATABASE_DOWN')
    const { sold } = await eventually(async () => {
      const one = await sale(id)
      return one.held === 0 && one
    })
    isProblem(t, await durable.claim(id, 'zoe'), 503, 'DATABASE_DOWN')
    t.equal((await sale(id)).sold, sold)
    proxy.speak()
    await eventually(async () => (await durable.claim(id, 'zoe')).status === 201)
    t.equal((await database.query(ORDERS, [id])).length, sold + 1)
  })

  await t.test('an empty server in place of the old one: the sale is restored before it sells again', async (t) => {
    const engine = /** @type {import('../../servers.js').Engine} */ (newest(await testEngines()))
    const server = await startServer(t, { engine })
    const replaced = await startSaleGateway(t, { redisUrl: server.url, flags: [...PARTITIONS, ...flags] })
    const [fresh] = await Promise.all([
      startReader(t, { redisUrl: server.url, flags: ['--read-from', 'primary', ...flags] }),
      startConsumers(t, { redisUrl: server.url, flags: [...PARTITIONS, '--systems', 'sales', ...flags] })
    ])
    const id = 'replaced'
    await replaced.create(id, { stock: 3 })
    await eventually(async () => (await replaced.claim(id, 'ann')).status === 201)
    await eventually(async () => (await replaced.claim(id, 'bob')).status === 201)
    await eventually(async () => (await fresh.ask(`/v1/sales/${id}`)).json.orderRows === 2)
    await server.kill()
    await server.restart()
    // seller and buyers are quicker than the consumers
    await eventually(async () => [200, 201, 409].includes((await replaced.create(id, { stock: 3 })).status))
    await eventually(async () => {
      const { status, json } = await replaced.claim(id, 'ann')
      t.not(status, 201, 'ann has one')
      return json?.code === 'SALE_ALREADY_CLAIMED'
    })
    t.match(await replaced.claim(id, 'cid'), { status: 201, json: { remaining: 0 } })
    isProblem(t, await replaced.claim(id, 'dan'), 409, 'SALE_SOLD_OUT')
    await eventually(async () => (await database.query(ORDERS, [id])).length === 3)
  })

  await t.test('what an owner sends after another has taken over changes nothing', async (t) => {
    const { writer, order, stateOf, row } = await openWriter(t, { redisUrl, keyPrefix, id: 'late' })
    await order('create', '9', '9', '0', '2000000000000', '0', 'direct', '1', '0')
    const pending = async (/** @type {string} */ claim) =>
      /** @type {any} */ ({ ...await order('claim', 'ann', '1', claim, 'pending', 'direct'), claim })
    const [kept, freed] = [await pending('kept'), await pending('freed')]
    t.ok(await writer.rejected(freed), 'the earlier owner: the database rejected it')
    await writer.write(freed)
    await writer.after(freed)
    t.equal(await row('freed'), 'revoked', 'the later owner had written its row')
    await writer.write(kept)
    await writer.after(kept)
    await writer.rejected(kept)
    await writer.after(kept)
    t.equal(await row('kept'), 'sold')
    t.match(await stateOf(), { available: '8', held: '0', sold: '1' })
    for (const task of ['expire', 'due', 'open']) await order(task)
    t.match(await stateOf(), { status: 'open', available: '8', held: '0', sold: '1', seq: '4' })
  })

  await t.test('a pending claim whose sale must be restored is settled after that', async (t) => {
    const { writer, order, stateOf, row, beginLineage } = await openWriter(t, { redisUrl, keyPrefix, id: 'recorded' })
    await order('create', '9', '9', '0', '2000000000000', '0', 'direct', '1', '1')
    await order('adopt')
    const claimed = await order('claim', 'ann', '1', 'c', 'pending', 'direct')
    await beginLineage()
    t.match(await order('settle', '', 'c'), { code: 'restoring' })
    await writer.write({ ...claimed, claim: 'c' })
    await writer.after({ ...claimed, claim: 'c' })
    t.equal(await row('c'), 'sold')
    t.match(await stateOf(), { available: '8', held: '0', sold: '1' })
  })

  t.equal((await order('GET', 'none')).status, 405)
  t.match((await turn('none', 'close')).status, 404)
})

/**
 * The order writer of one sale, in this process.
 * @param {import('tap').Test} t @param {{ redisUrl: string, keyPrefix: string, id: string }} options
 */
async function openWriter (t, { redisUrl, keyPrefix, id }) {
  const routes = createPrimaries(redisUrl, { name: 'late', deadlineMs: 5000 })
  const own = openDatabase({ url: database.url, name: 'late', max: 1, deadlineMs: 5000, log: silentLog })
  t.teardown(() => Promise.all([routes.close(), own.close()]))
  await routes.opened
  const metrics = createAdmissionMetrics(new Registry())('late')
  const { submit } = createAdmission({
    route: routes.route,
    agreement: createAgreement({ router: routes.router, keyPrefix, system: 'late', partitions: 1 }),
    requestMs: 60_000,
    keepMs: 60_000,
    deadlineMs: 5000,
    metrics
  })
  const key = admissionKey(keyPrefix, 'late', 0)
  const { connection } = routes.route('')
  const stateOf = async () => fieldsOf((await connection.send('HGETALL', key(`state:${id}`))).map(String))
  let requests = 0
  const order = (/** @type {string[]} */ ...args) =>
    submit({ rule: 'bounded', key: id, scope: '', requestId: `${id} ${requests++}`, args })
  const restore = async () => { await order('adopt') }
  const writer = createOrderWriter({ stateOf, restore, database: own, submit })
  /** @param {{ seq: number, claim: string }} decision */
  const entryOf = ({ seq, claim }) =>
    ({ id: '1-0', rule: 'bounded', key: id, seq, fields: { type: 'pending', claim, user: 'ann', quantity: '1', request: claim, ts: '1' } })
  return {
    stateOf,
    order,
    beginLineage: () => connection.send('HSET', key('generation'), 'lineage', 'other'),
    row: async (/** @type {string} */ claim) =>
      (await own.query('SELECT status FROM orders WHERE sale = $1 AND claim = $2', [id, claim])).rows[0].status,
    writer: {
      write: (/** @type {any} */ one) => own.transaction((client) => writer.write(client, [entryOf(one)])),
      after: async (/** @type {any} */ one) => writer.after?.([entryOf(one)]),
      rejected: async (/** @type {any} */ one) => writer.rejected?.(entryOf(one))
    }
  }
}
