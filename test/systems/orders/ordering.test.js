/** Orders over HTTP: what clients send, what they get, and what becomes of stock and payments. */
import t from 'tap'
import { sharedDatabase } from '../../database.js'
import { isProblem } from '../../gateway/requests.js'
import { openLive } from '../../push/live-client.js'
import { eventually } from '../../servers.js'
import { sharedDeployment } from '../../shared.js'
import { startOrders } from './ordering.js'

t.test('orders', async (t) => {
  const { url: databaseUrl } = await sharedDatabase(t)
  const { gateway, reader, payments, post, product, customer, place, order, final, stock } =
    await startOrders(t, { ...await sharedDeployment(t), databaseUrl })
  const ann = await customer()
  /** The stock once its holds have ended: a reader may show the end of the order earlier. @param {string} sku @param {number} sold */
  const settled = (sku, sold) => eventually(async () => {
    const one = await stock(sku)
    return one.held === 0 && one.sold === sold && one
  })
  await product('lamp', { quantity: 5, price: '12.50' })
  await product('desk', { quantity: 2, price: '100' })

  await t.test('an order is paid once, and its units are sold', async (t) => {
    const [lamp, desk] = [{ sku: 'lamp', quantity: 1 }, { sku: 'desk', quantity: 1, price: '100.00' }]
    const placed = await place(ann, [lamp, desk, lamp], 'first')
    t.match(placed, { status: 201, json: { status: 'pending', seq: 1, id: /^[\w-]{22}$/ } })
    const { id: orderId } = placed.json
    t.match((await reader.get(`/v1/orders/${orderId}`)), { status: 200 }, 'a replica knows it at once')
    t.match(await final(orderId), {
      id: orderId, customer: /^[\w-]{10}$/, status: 'confirmed', seq: 5, total: '125.00', lines: [{ sku: 'lamp', quantity: 2, price: '12.50' }, { sku: 'desk' }]
    })
    t.match(await settled('lamp', 2), { name: 'the lamp', price: '12.50', available: 3, held: 0, sold: 2 })
    t.match(await payments.entries(), [{ key: orderId, amount: 12500, captured: 12500, captures: 1 }])
    const again = await place(ann, [{ sku: 'lamp', quantity: 2 }, { sku: 'desk', quantity: 1, price: '100.00' }], 'first')
    t.match(again, { status: 201, json: { id: orderId } })
    t.equal(again.headers.get('idempotent-replayed'), 'true')
    for (const other of [{ sku: 'lamp', quantity: 1 }, { sku: 'nothing', quantity: 1 }, { sku: 'lamp', quantity: 2, price: '1' }]) {
      isProblem(t, await place(ann, [other], 'first'), 422, 'IDEMPOTENCY_KEY_REUSED')
    }
    const { items } = (await reader.get(`/v1/orders/${orderId}/events`)).json
    t.same(items.map((/** @type {any} */ { type, seq }) => [seq, type]),
      [[1, 'placed'], [2, 'held'], [3, 'capture_requested'], [4, 'captured'], [5, 'confirmed']])
    const timeline = (await reader.get(`/v1/orders/${orderId}/timeline`)).json
    t.match(timeline, { id: orderId, step: 'confirmed', steps: [{ type: 'placed', afterMs: 0 }] })
    t.equal(timeline.tookMs, timeline.steps.at(-1).afterMs)
  })

  await t.test('without stock nothing is held or paid', async (t) => {
    const { id: orderId, status, reason } = await order(ann, [{ sku: 'lamp', quantity: 1 }, { sku: 'desk', quantity: 2 }])
    t.match({ status, reason }, { status: 'cancelled', reason: 'out_of_stock' })
    t.match(await settled('lamp', 2), { available: 3, held: 0, sold: 2 })
    t.match(await settled('desk', 1), { available: 1, held: 0, sold: 1 })
    t.equal((await payments.entries()).find((/** @type {any} */ { key }) => key === orderId), undefined)
  })

  await t.test('a declined payment releases the units', async (t) => {
    await payments.fail({ declineRate: 1 })
    t.match(await order(ann, [{ sku: 'lamp', quantity: 3 }]), { status: 'cancelled', reason: 'payment_declined' })
    await payments.fail({})
    t.match(await settled('lamp', 2), { available: 3, held: 0, sold: 2 })
  })

  await t.test('an order can be cancelled until its payment was requested', async (t) => {
    await payments.fail({ latencyMs: 300 })
    const { id: orderId } = (await place(ann, [{ sku: 'lamp', quantity: 1 }])).json
    const cancel = () => post(`/v1/orders/${orderId}/cancel`, {})
    t.match(await cancel(), { status: 202, json: { id: orderId, status: 'pending' } })
    t.match(await final(orderId), { status: 'cancelled', reason: 'cancel_requested' })
    t.match(await cancel(), { status: 202, json: { status: 'cancelled' } })
    await payments.fail({})
    await eventually(async () => (await stock('lamp')).held === 0)
    const captured = (await payments.entries()).find((/** @type {any} */ { key }) => key === orderId)
    t.notOk(captured?.captured, 'nothing was captured')
    const { id: paid } = await order(ann, [{ sku: 'lamp', quantity: 1 }])
    isProblem(t, await post(`/v1/orders/${paid}/cancel`, {}), 409, 'ORDER_TOO_LATE')
    isProblem(t, await post('/v1/orders/none/cancel', {}), 404, 'ORDER_UNKNOWN')
  })

  await t.test('a client waits for an event, or for the end', async (t) => {
    await payments.fail({ latencyMs: 200 })
    const { id: orderId } = (await place(ann, [{ sku: 'lamp', quantity: 1 }], 'waited')).json
    const held = (await reader.get(`/v1/orders/${orderId}?waitMs=20000&minSeq=2`)).json
    t.match(held, { status: 'pending' })
    t.ok(held.seq >= 2)
    t.match((await reader.get(`/v1/orders/${orderId}?waitMs=20000`)).json, { status: 'confirmed', seq: 5 })
    await payments.fail({})
    const byRequest = await reader.get(`/v1/orders/${orderId}/by-request/waited?userId=${ann}`)
    t.match(byRequest, { status: 201, json: { id: orderId, status: 'pending' } })
    isProblem(t, await reader.get(`/v1/orders/${orderId}/by-request/other?userId=${ann}`), 404, 'REQUEST_NOT_ACCEPTED')
    isProblem(t, await reader.get('/v1/orders/none'), 404, 'ORDER_UNKNOWN')
    isProblem(t, await reader.get(`/v1/orders/${orderId}?waitMs=30001`), 400, 'REQUEST_INVALID')
  })

  await t.test('a stream has the order, then its steps', async (t) => {
    await payments.fail({ latencyMs: 200 })
    const { id: orderId } = (await place(ann, [{ sku: 'desk', quantity: 1 }])).json
    const stop = new AbortController()
    const response = await fetch(`${reader.url}/v1/orders/${orderId}/live`, { signal: stop.signal })
    let text = ''
    for await (const chunk of /** @type {any} */ (response.body)) {
      text += Buffer.from(chunk)
      if (/"type":"confirmed"/.test(text)) break
    }
    t.match(text, /event: snapshot\ndata: {"id"/)
    t.match(text, /event: step\ndata: {"seq":5,"type":"confirmed"/)
    await payments.fail({})
  })

  await t.test('a stream resumes after Last-Event-ID', async (t) => {
    const { id: orderId } = await order(ann, [{ sku: 'lamp', quantity: 1 }])
    const { items } = (await reader.get(`/v1/orders/${orderId}/events`)).json
    const path = `/v1/orders/${orderId}/live`
    const first = await openLive(t, reader.url, path)
    await eventually(() => first.events.length > 0)
    const [generation] = first.events[0].id.split(':')
    const again = await openLive(t, reader.url, path, { headers: { 'last-event-id': `${generation}:2` } })
    await eventually(() => again.events.at(-1)?.data.seq === items.length)
    t.same(again.events.map(({ event, data, id }) => [event, data.seq, id]),
      [3, 4, 5].map((seq) => ['step', seq, `${generation}:${seq}`]))
    for (const id of ['0123456789ab.0:2', 'no position', '2']) {
      const other = await openLive(t, reader.url, path, { headers: { 'last-event-id': id } })
      await eventually(() => other.events.length > 1)
      t.same(other.events.map(({ event }) => event), ['reset', 'snapshot'], id)
    }
  })

  await t.test('products and reservations', async (t) => {
    isProblem(t, await product('lamp'), 409, 'PRODUCT_EXISTS')
    t.match(await product('chair', { quantity: 2 }), { status: 201, json: { sku: 'chair', seq: 0, available: 2 } })
    t.match(await product('chair', { quantity: 2 }), { status: 200, json: { available: 2 } }, 'the same again')
    isProblem(t, await product('chair', { quantity: 2, price: '3' }), 409, 'PRODUCT_EXISTS')
    isProblem(t, await product('c'.repeat(49)), 400, 'REQUEST_INVALID')
    const reserve = (/** @type {string} */ reservationId, quantity = 1, holdMs = 60_000) =>
      post('/v1/products/chair/reserve', { reservationId, quantity, holdMs })
    t.match(await reserve('r1', 2), { status: 200, json: { status: 'held', available: 0, held: 2, holdUntil: Number } })
    t.match(await reserve('r1', 2), { status: 200, json: { status: 'held', available: 0, held: 2 } }, 'again, without effect')
    isProblem(t, await reserve('r1', 1), 422, 'IDEMPOTENCY_KEY_REUSED')
    isProblem(t, await reserve('r2', 1, 0), 422, 'FIELD_INVALID')
    isProblem(t, await reserve('r2'), 409, 'PRODUCT_INSUFFICIENT')
    isProblem(t, await post('/v1/products/chair', undefined, null, 'DELETE'), 409, 'PRODUCT_HELD')
    t.match(await post('/v1/products/chair/release', { reservationId: 'r1' }),
      { status: 200, json: { status: 'released', available: 2 } })
    isProblem(t, await reserve('r1', 2), 409, 'RESERVATION_ENDED')
    t.match(await reserve('r3', 1, 100), { status: 200 })
    await eventually(async () => (await stock('chair')).available === 2)
    const { status, json: { seq, available } } = await post('/v1/products/chair/restock', { quantity: 3 })
    t.same({ status, available }, { status: 200, available: 5 })
    t.match((await reader.get(`/v1/products/chair?minSeq=${seq}&waitMs=5000`)).json, { seq, available: 5 })
    t.match(await post('/v1/products/chair', undefined, null, 'DELETE'), { status: 200, json: { status: 'deleted' } })
    // a reader follows
    isProblem(t, await eventually(async () => {
      const reply = await reader.get('/v1/products/chair')
      return reply.status === 404 && reply
    }), 404, 'PRODUCT_UNKNOWN')
    isProblem(t, await reserve('r4'), 404, 'PRODUCT_UNKNOWN')
    isProblem(t, await place(ann, [{ sku: 'chair', quantity: 1 }]), 404, 'PRODUCT_UNKNOWN')
    t.match(await product('chair', { quantity: 7, price: '3' }), { status: 201 }, 'it can be created again')
    await eventually(async () => (await stock('chair')).price === '3.00')
    t.match(await stock('chair'), { available: 7, held: 0, sold: 0 })
  })

  await t.test('a hold that arrives after its release is rejected', async (t) => {
    await product('late')
    await post('/v1/products/late/release', { reservationId: 'x' })
    isProblem(t, await post('/v1/products/late/reserve', { reservationId: 'x', quantity: 1 }), 409, 'RESERVATION_ENDED')
    t.match(await stock('late'), { available: 10, held: 0 })
  })

  await t.test('customers', async (t) => {
    const body = { email: 'Bob@Example.org', name: 'Bob', address: 'There 2' }
    const { status, json } = await post('/v1/customers', body, 'bob')
    t.match({ status, json }, { status: 201, json: { id: String } })
    t.match(await post('/v1/customers', body, 'bob'), { status: 201, json })
    isProblem(t, await post('/v1/customers', { ...body, email: ' bob@example.org'.trim() }), 409, 'CUSTOMER_EXISTS')
    for (const [field, value] of [['email', 'bob'], ['name', ''], ['address', 'a\0b'], ['name', 'a\ud800']]) {
      isProblem(t, await post('/v1/customers', { ...body, [field]: value }), 422, 'FIELD_INVALID')
    }
  })

  await t.test('orders that cannot be', async (t) => {
    const lamp = { sku: 'lamp', quantity: 1 }
    for (const lines of [[], Array(101).fill(lamp), [{ sku: 'lamp', quantity: 0 }], [{ sku: 'lamp', quantity: -1 }], [{ sku: 'lamp' }],
      [{ ...lamp, price: '1.234' }], [{ ...lamp, more: 1 }], 'lamp', [{ ...lamp, price: '12.50' }, { ...lamp, price: '13' }]]) {
      isProblem(t, await place(ann, /** @type {any} */ (lines)), 422, 'FIELD_INVALID')
    }
    isProblem(t, await place('no-one', [lamp]), 404, 'CUSTOMER_UNKNOWN')
    isProblem(t, await place(ann, [{ sku: 'nothing', quantity: 1 }]), 404, 'PRODUCT_UNKNOWN')
    isProblem(t, await place(ann, [{ ...lamp, price: '12.49' }]), 409, 'ORDER_PRICE_DIFFERS')
    await product('gold', { price: '90000000000000' })
    isProblem(t, await place(ann, [{ sku: 'gold', quantity: 2 }]), 422, 'FIELD_INVALID')
  })

  await t.test('callbacks need a signature', async (t) => {
    const body = '{"key":"none","status":"captured"}'
    for (const signature of ['', 't=1,v1=00', `t=${Math.floor(Date.now() / 1000)},v1=${'0'.repeat(64)}`]) {
      const headers = { 'content-type': 'application/json', 'payment-signature': signature }
      isProblem(t, await gateway.send('POST', '/v1/payments/callbacks', body, headers), 401, 'CALLBACK_INVALID')
    }
  })
})
