/** Orders when something fails: the payment provider, consumers, the database, a clock. Each ends in one final status. */
import pg from 'pg'
import t from 'tap'
import { paymentsOfOrders } from '../../../lab/systems/orders/history.js'
import { admissionKey } from '../../../src/admission/index.js'
import { partitionOf } from '../../../src/item/index.js'
import { endOfMain } from '../../bin/in-process.js'
import { sharedDatabase } from '../../database.js'
import { commandsIn, exampleOf } from '../../docs/examples.js'
import { isProblem } from '../../gateway/requests.js'
import { connectFor, eventually } from '../../servers.js'
import { startReader } from '../../services.js'
import { sharedDeployment } from '../../shared.js'
import { PARTITIONS, runPayments, startOrders, startPayments } from './ordering.js'

const COUNT = Number(PARTITIONS[1])
const CONFIRMED = "SELECT 1 FROM order_view WHERE aggregate = $1 AND status = 'confirmed'"
const SOLD = "SELECT 1 FROM events WHERE aggregate = 'p:lamp' AND type = 'sold' AND data->>'claim' = $1"
/** @param {string} keyPrefix @param {string} key */
const placeOf = (keyPrefix, key) => admissionKey(keyPrefix, 'orders', partitionOf(Buffer.from(key), COUNT), COUNT)

/** A dead letter of an order without ids and times. @param {string} text */
const withoutWhatDiffers = (text) => text.trim().replace(/"\d+:\d+-\d+"/, '"ID"').replace(/"o:[\w-]+"/g, '"ORDER"').replace(/"at":\d+/, '"at":AT')

t.test('orders when something fails', async (t) => {
  const whole = t
  const [database, { primary, keyPrefix }] = await Promise.all([sharedDatabase(t), sharedDeployment(t)])
  const gatewayFlags = ['--order-deadline-ms', '3000']
  const { gateway, reader, payments: provider, product, customer, place, order, final, stock, startMore, first, redisUrl } =
    await startOrders(t, { primary, keyPrefix, databaseUrl: database.url, gatewayFlags, isKilled: true, payWith: runPayments })
  const payments = /** @type {Awaited<ReturnType<typeof runPayments>>} */ (provider)
  const ann = await customer()
  await product('lamp', { quantity: 100_000, price: '1' })
  const lamp = [{ sku: 'lamp', quantity: 1 }]
  const entryOf = async (/** @type {string} */ orderId) =>
    (await payments.entries()).find((/** @type {any} */ { key }) => key === orderId)

  await t.test('a payment whose reply is lost is looked up: it is taken once', async (t) => {
    await payments.fail({ silentRate: 1 })
    const { id: orderId, status } = await order(ann, lamp)
    t.equal(status, 'confirmed')
    t.match(await entryOf(orderId), { captures: 1, captured: 100 })
    await payments.fail({})
  })

  /** that has seen no event of the orders before it @type {Awaited<ReturnType<typeof startReader>>} */
  let late
  await t.test('a provider that is down before the capture: cancelled at the deadline, once it answers', async (t) => {
    await payments.fail({ isDown: true })
    const { id: orderId } = (await place(ann, lamp)).json
    await eventually(async () => (await reader.get(`/v1/orders/${orderId}`)).json.step === 'cancelling')
    t.match((await reader.get('/v1/orders?status=running')).json.items.map((/** @type {any} */ one) => one.id), [orderId])
    late = await startReader(whole, { redisUrl, keyPrefix, flags: ['--database-url', database.url] })
    const figures = () => late.get('/v1/orders/figures').then(({ json }) => json)
    const { steps, workers } = await eventually(async () => {
      const found = await figures()
      return found.running === 1 && found.workers[0].driven.cancelling === 1 && found
    })
    t.same(workers.map((/** @type {any} */ { driven }) => driven), [{ cancelling: 1 }], 'also while its next attempt is due later')
    t.equal(steps.find((/** @type {any} */ { step }) => step === 'cancelling').orders, 1)
    await payments.fail({})
    t.match(await final(orderId), { status: 'cancelled', reason: 'deadline' })
    await eventually(async () => (await figures()).running === 0)
    t.notOk((await entryOf(orderId))?.captured)
    t.same((await stock('lamp')).held, 0)
  })

  await t.test('a capture that is declined cancels the order: its units are free, and nothing is captured', async (t) => {
    const before = await stock('lamp')
    await payments.fail({ captureDeclineRate: 1 })
    const { id: orderId, status, reason } = await order(ann, lamp)
    await payments.fail({})
    t.match({ status, reason }, { status: 'cancelled', reason: 'capture_declined' })
    t.match(await entryOf(orderId), { status: 'declined', captured: 0, captures: 0 })
    t.match(await stock('lamp'), { available: before.available, held: before.held, sold: before.sold })
  })

  await t.test('errors of the provider, and callbacks that come late and twice', async (t) => {
    await payments.fail({ errorRate: 0.3, callbacks: 2, callbackAfterMs: 200 })
    const all = await Promise.all(Array.from({ length: 20 }, () => order(ann, lamp)))
    await payments.fail({})
    for (const { id: orderId, status } of all) {
      const { captured = 0, refunded = 0, captures = 0 } = await entryOf(orderId) ?? {}
      t.equal(captured - refunded, status === 'confirmed' ? 100 : 0, `${orderId} ${status}`)
      t.ok(captures < 2)
    }
    await eventually(async () => (await reader.get('/v1/orders?status=running')).json.items.length === 0)
  })

  await t.test('a provider that never calls back: its orders end no later', async (t) => {
    await payments.fail({ callbacks: 0 })
    const all = await Promise.all(Array.from({ length: 5 }, () => order(ann, lamp)))
    await payments.fail({})
    for (const { id: orderId, status } of all) {
      t.equal(status, 'confirmed')
      t.match(await entryOf(orderId), { captures: 1, captured: 100 })
    }
  })

  await t.test('a payment that is captured although the order is cancelled is paid back', async (t) => {
    // out of stock, so there was no authorization
    const { id: orderId, status } = await order(ann, [{ sku: 'lamp', quantity: 1_000_000 }])
    t.equal(status, 'cancelled')
    const { placedAt } = (await reader.get(`/v1/orders/${orderId}/timeline`)).json
    const key = `${orderId}.${placedAt.toString(36)}`
    // no callback, so that the capture comes before the owner looks
    await payments.fail({ callbacks: 0 })
    t.match(await payments.ask('/v1/payments', 'POST', { key, amount: 100_000_000, currency: 'usd' }), { status: 200 })
    await payments.fail({ callbacks: 2 })
    await payments.ask(`/v1/payments/${key}/capture`, 'POST')
    await eventually(async () => (await entryOf(orderId)).status === 'refunded')
    t.match(await entryOf(orderId), { captured: 100_000_000, refunded: 100_000_000 })
    await payments.fail({})
    await eventually(async () => (await reader.get('/v1/orders?status=running')).json.items.length === 0)
  })

  await t.test('the deadline cancels what was not paid for', async (t) => {
    await payments.fail({ latencyMs: 400, errorRate: 1 })
    const { id: orderId } = (await place(ann, lamp)).json
    await eventually(async () => (await reader.get(`/v1/orders/${orderId}`)).json.step === 'cancelling')
    await payments.fail({})
    t.match(await final(orderId), { status: 'cancelled', reason: 'deadline' })
  })

  /** @type {import('../../services.js').Service} */
  let owner
  await t.test('a killed owner is replaced, and its orders end', async (t) => {
    owner = (await startMore()).service
    await payments.fail({ latencyMs: 100 })
    const ids = await Promise.all(Array.from({ length: 30 }, async () => (await place(ann, lamp)).json.id))
    await first.kill()
    const all = await Promise.all(ids.map(final))
    await payments.fail({})
    const entries = paymentsOfOrders((await payments.entries()).map((/** @type {any} */ one) => ({ ...one, id: one.key })))
    for (const { id: orderId, status } of all) {
      const { captured = 0, refunded = 0 } = entries.get(orderId) ?? {}
      t.equal(captured - refunded, status === 'confirmed' ? 100 : 0)
    }
    t.equal((await stock('lamp')).held, 0)
  })

  await t.test('the provider is killed, and comes back with its ledger', async (t) => {
    const ids = await Promise.all(Array.from({ length: 10 }, async () => (await place(ann, lamp)).json.id))
    await payments.command.kill('SIGKILL')
    await startPayments(whole, { flags: ['--ledger', payments.ledger], port: Number(new URL(payments.url).port) })
    for (const { id: orderId, status } of await Promise.all(ids.map(final))) {
      const { captured = 0, captures = 0 } = await entryOf(orderId) ?? {}
      t.equal(captured, status === 'confirmed' ? 100 : 0)
      t.ok(captures < 2)
    }
  })

  await t.test('what cannot go on is parked; its dead letter resumes it, once', async (t) => {
    await payments.fail({ latencyMs: 500 })
    const { id: orderId } = (await place(ann, [{ sku: 'lamp', quantity: 3 }], 'parked')).json
    await eventually(async () => (await reader.get(`/v1/orders/${orderId}`)).json.step === 'held')
    const connection = await connectFor(t, primary.url)
    const [members, claim] = [placeOf(keyPrefix, 'p:lamp')('members:p:lamp'), `claim o:${orderId}:0`]
    const hold = String(await connection.send('HGET', members, claim))
    await connection.send('HDEL', members, claim)
    await payments.fail({})
    await eventually(async () => (await reader.get(`/v1/orders/${orderId}`)).json.parked !== undefined)
    t.match((await reader.get('/v1/orders?status=parked')).json,
      { items: [{ id: orderId, status: 'pending', step: 'captured', parked: /unknown_claim/ }] })
    const { items: [letter] } = (await gateway.send('GET', '/v1/systems/orders/dead-letters')).json
    t.match(letter, { consumer: 'saga', key: `o:${orderId}`, attempts: 5 })
    await owner.until(new RegExp(`"sagaId":"${orderId}","correlationId":"parked",.*"dead letter"`))
    const discard = () => gateway.send('DELETE', `/v1/systems/orders/dead-letters/${letter.id}`)
    isProblem(t, await discard(), 409, 'DEAD_LETTER_BLOCKS_KEY')
    const where = ['--redis-url', redisUrl, '--key-prefix', keyPrefix]
    const [command, shown] = await exampleOf('docs/orders.md', 'parked')
    const { stdout } = await endOfMain(['dead-letters', ...commandsIn(command)['dead-letters'], ...where])
    t.equal(withoutWhatDiffers(stdout), withoutWhatDiffers(shown))
    t.match(await endOfMain(['dead-letters', 'discard', letter.id, '--system', 'orders', ...where]),
      { code: 1, stderr: /is parked until its letter/ })
    await connection.send('HSET', members, claim, hold)
    const replay = () => gateway.send('POST', `/v1/systems/orders/dead-letters/${letter.id}/replay`)
    t.same((await Promise.all([replay(), replay()])).map(({ status }) => status).sort(), [200, 404])
    t.match(await final(orderId), { status: 'confirmed' })
    t.same((await reader.get('/v1/orders?status=parked')).json.items, [])
    // a letter of an order that went on without it
    const dead = placeOf(keyPrefix, `o:${orderId}`)('dead')
    const id = String(await connection.send('XADD', dead, '*', 'consumer', 'saga', 'entry', '0-0', 'key', `o:${orderId}`, 'reason', 'r',
      'attempts', '5', 'fields', '[]'))
    t.match(await gateway.send('DELETE', `/v1/systems/orders/dead-letters/${partitionOf(Buffer.from(`o:${orderId}`), COUNT)}:${id}`),
      { status: 200, json: { status: 'discarded' } })
  })

  await t.test('an order that was sold, and waited for its owner until its product had forgotten that, is confirmed', async (t) => {
    const { id: orderId } = await order(ann, lamp)
    const claim = `o:${orderId}:0`
    await eventually(async () => (await database.query(SOLD, [claim])).length === 1)
    const connection = await connectFor(t, primary.url)
    const [product, key] = [placeOf(keyPrefix, 'p:lamp'), placeOf(keyPrefix, `o:${orderId}`)]
    t.equal(await connection.send('HDEL', product('members:p:lamp'), `claim ${claim}`), 1)
    await connection.send('HSET', key(`state:o:${orderId}`), 'status', 'captured')
    await connection.send('ZADD', key('tasks'), 0, `step o:${orderId} run`)
    await eventually(async () => String(await connection.send('HGET', key(`state:o:${orderId}`), 'status')) === 'confirmed')
    t.same((await gateway.send('GET', '/v1/systems/orders/dead-letters')).json.items, [])
  })

  await t.test('events and views are in the database, and a rebuild finds them as they are', async (t) => {
    const { id: orderId } = await order(ann, lamp)
    await eventually(async () => (await database.query(CONFIRMED, [`o:${orderId}`])).length === 1)
    const events = await database.query('SELECT version, type FROM events WHERE aggregate = $1 ORDER BY version', [`o:${orderId}`])
    t.same(events.map(({ version, type }) => [Number(version), type]),
      [[1, 'placed'], [2, 'held'], [3, 'capture_requested'], [4, 'captured'], [5, 'confirmed']])
    // the archive writes each partition when it is its turn
    await eventually(async () => {
      const [units] = await database.query("SELECT available, held, sold FROM stock_view WHERE aggregate = 'p:lamp'")
      const { available, held, sold } = await stock('lamp')
      return Number(units.available) === available && Number(units.held) === held && Number(units.sold) === sold
    })
    t.equal((await database.query('SELECT about FROM customer_view WHERE aggregate = $1', [`c:${ann}`]))[0].about.name, 'Ann')
    const rebuild = async () => JSON.parse((await endOfMain(['orders', 'rebuild', '--database-url', database.url])).stdout)
    const [rebuilt] = await exampleOf('docs/orders.md', 'rebuilt')
    t.same({ ...await rebuild(), aggregates: 0 }, { ...JSON.parse(rebuilt), aggregates: 0 })
    await database.query("UPDATE order_view SET status = 'held' WHERE aggregate = $1", [`o:${orderId}`])
    t.match(await rebuild(), { changed: 1 })
    t.match(await database.query('SELECT status FROM order_view WHERE aggregate = $1', [`o:${orderId}`]), [{ status: 'confirmed' }])

    const other = new pg.Client({ connectionString: database.url })
    await other.connect()
    await other.query("SELECT pg_advisory_lock(hashtext('freshet orders rebuild'))")
    const second = await endOfMain(['orders', 'rebuild', '--database-url', database.url])
    await other.end()
    t.match(second, { code: 1, stderr: /another process rebuilds the views of orders; wait until it has ended/ })
  })

  await t.test('an order that has left the servers comes from the database', async (t) => {
    const { id: orderId } = await order(ann, lamp)
    await eventually(async () => (await database.query(CONFIRMED, [`o:${orderId}`])).length === 1)
    const connection = await connectFor(t, primary.url)
    const key = placeOf(keyPrefix, `o:${orderId}`)
    t.equal(await connection.send('DEL', key(`state:o:${orderId}`), key(`events:o:${orderId}`)), 2)
    t.match((await eventually(async () => {
      const answer = await late.get(`/v1/orders/${orderId}`)
      return answer.status === 200 && answer
    })).json, { id: orderId, status: 'confirmed', seq: 5, total: '1.00' })
    t.equal((await late.get(`/v1/orders/${orderId}/events`)).json.items.length, 5)
  })
})
