/** Adapters of payment providers, each against a server that speaks its format; the ledger, and the breaker. */
import { createServer } from 'node:http'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { createPaymentServer, openLedger } from '../../../demo/payments/server.js'
import { createPayments, ordersOf, signatureOf } from '../../../src/systems/orders/index.js'
import { eventually, silentLog } from '../../servers.js'
import { startPayments } from './ordering.js'

const TIMEOUT_MS = 500

/**
 * A server with PaymentIntents as Stripe documents them.
 * @param {import('tap').Test} t
 */
async function startStripe (t) {
  /** @type {Map<string, any>} by Idempotency-Key */
  const replies = new Map()
  /** @type {Map<string, any>} */
  const intents = new Map()
  const state = { decline: false, isTooSmall: false, failOnce: '', asked: /** @type {string[]} */ ([]) }
  const error = (/** @type {any} */ intent) =>
    ({ error: { code: 'payment_intent_unexpected_state', message: 'no', payment_intent: intent } })

  /** @param {string} path @param {URLSearchParams} form @returns {[number, any]} */
  function answer (path, form) {
    const [, id, operation] = /^\/v1\/payment_intents\/([^/]+)(?:\/(\w+))?$/.exec(path) ?? []
    const intent = intents.get(id)
    if (operation !== undefined && operation === state.failOnce) {
      state.failOnce = ''
      return [500, { error: { message: 'an error at Stripe' } }]
    }
    if (path === '/v1/payment_intents') {
      if (state.isTooSmall) return [400, { error: { code: 'amount_too_small', message: 'too small' } }]
      const status = state.decline ? 'requires_payment_method' : 'requires_capture'
      const made = { id: `pi_${intents.size + 1}`, amount: Number(form.get('amount')), status }
      intents.set(made.id, made)
      const isAsDocumented = form.get('capture_method') === 'manual' && form.get('confirm') === 'true'
      if (!isAsDocumented) return [400, { error: { message: 'not as documented' } }]
      return state.decline ? [402, { error: { type: 'card_error', code: 'card_declined', payment_intent: made } }] : [200, made]
    }
    if (path === '/v1/refunds') return [200, { status: 'succeeded', payment_intent: form.get('payment_intent') }]
    if (operation === undefined) return [200, intent]
    if (intent.status !== 'requires_capture') return [400, error(intent)]
    intent.status = operation === 'capture' ? 'succeeded' : 'canceled'
    return [200, intent]
  }
  const server = createServer(async (request, response) => {
    const body = await text(request)
    state.asked.push(`${request.method} ${request.url}`)
    const key = String(request.headers['idempotency-key'] ?? '')
    const isKnown = key !== '' && replies.has(key)
    const [status, json] = isKnown ? replies.get(key) : answer(String(request.url), new URLSearchParams(body))
    if (key !== '') replies.set(key, [status, structuredClone(json)])
    if (request.headers.authorization !== 'Bearer sk_test') return response.writeHead(401).end('{"error":{"message":"no such key"}}')
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => { server.close(); server.closeAllConnections() })
  return { url: `http://127.0.0.1:${/** @type {any} */ (server.address()).port}`, state }
}

/** @param {import('tap').Test} t @param {Partial<Parameters<typeof createPayments>[0]>} options */
function open (t, options) {
  const payments = createPayments({ provider: 'local', url: null, key: null, timeoutMs: TIMEOUT_MS, ...options })
  t.teardown(() => payments.close())
  return payments
}

t.test('stripe: authorize, capture, void, refund', async (t) => {
  const stripe = await startStripe(t)
  const payments = open(t, { provider: 'stripe', url: stripe.url, key: 'sk_test' })
  const first = { key: 'a', amount: 500 }
  const { status, id } = await payments.authorize(first)
  t.same({ status, id }, { status: 'authorized', id: 'pi_1' })
  t.match(await payments.authorize(first), { status: 'authorized', id: 'pi_1' }, 'again, without effect')
  t.match(await payments.capture({ ...first, id }), { status: 'captured' })
  t.match(await payments.capture(first), { status: 'captured' }, 'without its id, as after a failover')
  await payments.undo(first)
  t.ok(stripe.state.asked.includes('POST /v1/refunds'), 'what was captured is refunded')
  const second = { key: 'b', amount: 500 }
  await payments.undo(second)
  t.match(await payments.capture(second), { status: 'voided' }, 'never captured, although it was not authorized before')
  const third = { key: 'e', amount: 500 }
  stripe.state.failOnce = 'capture'
  await payments.authorize(third)
  await t.rejects(payments.capture(third), { code: 'PAYMENT_UNKNOWN' })
  t.match(await payments.capture(third), { status: 'captured' }, 'a reply of 500 is not kept')
  stripe.state.isTooSmall = true
  const small = { key: 'f', amount: 1 }
  t.match(await payments.authorize(small), { status: 'declined' })
  t.match(await payments.capture(small), { status: 'declined' })
  await payments.undo(small)
  t.notOk(stripe.state.asked.some((path) => path.includes('payment_intents//') || path.endsWith('payment_intents/')))
  stripe.state.isTooSmall = false
  stripe.state.decline = true
  t.match(await payments.authorize({ key: 'c', amount: 1 }), { status: 'declined' })
  await t.rejects(open(t, { provider: 'stripe', url: stripe.url, key: 'wrong' }).authorize({ key: 'd', amount: 1 }),
    { code: 'PAYMENT_REFUSED', message: /no such key/ })
})

t.test('local: each operation has one effect', async (t) => {
  const provider = await startPayments(t)
  const payments = open(t, { url: provider.url })
  const one = { key: 'a', amount: 500 }
  t.match(await Promise.all([payments.authorize(one), payments.authorize(one)]), [{ status: 'authorized' }, { status: 'authorized' }])
  t.match(await Promise.all([payments.capture(one), payments.capture(one)]), [{ status: 'captured' }, { status: 'captured' }])
  await Promise.all([payments.undo(one), payments.undo(one)])
  t.match(await provider.entries(), [{ key: 'a', captured: 500, refunded: 500, captures: 1 }])
  await payments.undo({ key: 'b', amount: 1 })
  t.match(await payments.authorize({ key: 'b', amount: 1 }), { status: 'voided' })
  t.same(await provider.totals(), { payments: 2, captured: 500, refunded: 500, twice: 0 })
  await t.rejects(payments.authorize({ key: 'a', amount: 1 }), { code: 'PAYMENT_REFUSED', message: /the amount 500, not 1/ })
  t.match(await provider.fail({ declineRate: 2 }), { status: 400 })
  t.match(await provider.fail({ down: true }), { status: 400 })
})

t.test('a lost reply is looked up; many failures open the breaker, and a success closes it', async (t) => {
  const provider = await startPayments(t)
  /** @type {string[]} */
  const calls = []
  const onCall = (/** @type {string} */ operation, /** @type {string} */ outcome) => calls.push(`${operation} ${outcome}`)
  const payments = open(t, { url: provider.url, timeoutMs: 200, resetMs: 300, onCall })
  await provider.fail({ silentRate: 1 })
  t.match(await payments.authorize({ key: 'a', amount: 5 }), { status: 'authorized' })
  t.same(calls, ['authorize unknown', 'lookup authorized'])
  await provider.fail({ isDown: true })
  for (let i = 0; payments.breaker() === 'closed'; i++) {
    if (i > 50) return t.fail('the breaker stays closed')
    await t.rejects(payments.capture({ key: 'a', amount: 5 }), /** @type {any} */ ({ retryable: true }))
  }
  await t.rejects(payments.capture({ key: 'a', amount: 5 }), { code: 'PAYMENT_DOWN' })
  await provider.fail({})
  for (let i = 0; payments.breaker() !== 'closed'; i++) {
    if (i > 100) return t.fail('the breaker stays open')
    await payments.capture({ key: 'a', amount: 5 }).catch(() => {})
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  t.match(await provider.entries(), [{ captures: 1 }])
})

t.test('what is no reply of a provider leaves the result unknown', async (t) => {
  const server = createServer((request, response) => response.writeHead(200).end('<html>'))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => { server.close(); server.closeAllConnections() })
  const payments = open(t, { url: `http://127.0.0.1:${/** @type {any} */ (server.address()).port}` })
  await t.rejects(payments.authorize({ key: 'a', amount: 5 }), { code: 'PAYMENT_UNKNOWN', message: /not JSON/ })
  await t.rejects(open(t, { url: 'http://127.0.0.1:1' }).authorize({ key: 'a', amount: 5 }), { code: 'PAYMENT_UNKNOWN' })
})

t.test('signatures of callbacks', async (t) => {
  const nowMs = 1_700_000_000_000
  const body = '{"key":"a","status":"captured"}'
  const header = signatureOf('secret', body, nowMs / 1000)
  const read = (/** @type {object} */ change) =>
    ordersOf({ secret: 'secret', headers: { 'payment-signature': header }, body, nowMs, ...change })
  t.same(read({}), ['a'])
  t.same(read({ headers: { 'stripe-signature': header } }), ['a'])
  const signed = (/** @type {string} */ text) =>
    read({ body: text, headers: { 'stripe-signature': signatureOf('secret', text, nowMs / 1000) } })
  t.same(signed('{"data":{"object":{"metadata":{"order":"b"}}}}'), ['b'])
  t.same(signed('[{"key":"a.1"},null,7,[],{"data":null},{"key":"c.2"},{},{"key":1},{"key":"a.2"}]'), ['a', 'c'],
    'news of something else hides none of an order')
  const many = (/** @type {number} */ n) => JSON.stringify(Array.from({ length: n }, (_, i) => ({ key: `o${i}.1` })))
  t.equal(signed(many(100)).length, 100)
  t.throws(() => signed(many(101)), { code: 'CALLBACK_TOO_LARGE', message: /101 orders; send at most 100/ })
  for (const other of ['', '[null]', 'null', '1', '{}', '[[]]', '{"data":null}']) t.same(signed(other), [], other)
  for (const change of [{ body: body + ' ' }, { secret: 'other' }, { secret: null }, { headers: {} }, { nowMs: nowMs + 301_000 }]) {
    t.throws(() => read(change), { code: 'CALLBACK_INVALID' })
  }
})

t.test('the local provider repeats a callback that fails once', async (t) => {
  const got = /** @type {string[]} */ ([])
  const server = createServer(async (request, response) => {
    got.push(await text(request))
    response.writeHead(got.length === 1 ? 503 : 204).end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => { server.close(); server.closeAllConnections() })
  const callbackUrl = `http://127.0.0.1:${/** @type {any} */ (server.address()).port}`
  const app = createPaymentServer({ ledger: openLedger(null), latencyMs: 0, callbackUrl, secret: 'secret', log: silentLog })
  t.teardown(() => app.close())
  await app.inject({ method: 'POST', url: '/v1/payments', payload: { key: 'a.1', amount: 5, currency: 'usd' } })
  await eventually(() => got.length === 2)
  t.same(got.map((body) => JSON.parse(body)), Array(2).fill([{ key: 'a.1', status: 'authorized' }]))
})
