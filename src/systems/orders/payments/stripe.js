/**
 * Stripe, by its documented HTTP format (https://docs.stripe.com/api/payment_intents): a payment is a PaymentIntent with manual capture.
 *
 * A PaymentIntent is found again by repeating the request that creates it with the same Idempotency-Key, which returns the first reply
 * (https://docs.stripe.com/api/idempotent_requests), so a lookup and a void begin with it. Stripe keeps a reply of 500 for a key too, so
 * what the state makes harmless, capture and cancel, has none. The test payment method stands for that of the customer, which orders do
 * not have.
 */
import { FreshetError } from '../errors.js'

const FORM_TYPE = Object.freeze({ 'content-type': 'application/x-www-form-urlencoded' })
const PAYMENT_METHOD = 'pm_card_visa'
const NOT_CREATED = Object.freeze(/** @type {import('./payments.js').Result} */ ({ status: 'declined', id: '' }))

/** @type {Readonly<Record<string, import('./payments.js').PaymentStatus>>} */
const STATUSES = Object.freeze({
  requires_capture: 'authorized', succeeded: 'captured', canceled: 'voided', requires_payment_method: 'declined'
})

/**
 * @param {import('./payments.js').Call} call @param {{ currency: string }} options
 * @returns {import('./payments.js').Adapter}
 */
export function stripe (call, { currency }) {
  /** @param {string} path @param {Record<string, string>} fields @param {string} [idempotencyKey] */
  const postRaw = (path, fields, idempotencyKey) => call('POST', `/v1/${path}`, {
    body: String(new URLSearchParams(fields)), headers: { ...FORM_TYPE, ...(idempotencyKey ? { 'idempotency-key': idempotencyKey } : {}) }
  })
  /** @param {Parameters<typeof postRaw>} request */
  const post = async (...request) => read(await postRaw(...request))

  /** @param {import('./payments.js').Payment} payment */
  const create = async ({ key, amount }) => declinedIf400(await postRaw('payment_intents', {
    amount: String(amount),
    currency,
    capture_method: 'manual',
    confirm: 'true',
    payment_method: PAYMENT_METHOD,
    'automatic_payment_methods[enabled]': 'true',
    'automatic_payment_methods[allow_redirects]': 'never',
    'metadata[order]': key
  }, `${key}:authorize`))

  /** @param {import('./payments.js').Payment} payment */
  const idOf = async (payment) => payment.id || (await create(payment)).id

  /** The payment as it is now. @param {import('./payments.js').Payment} payment */
  async function found (payment) {
    const id = await idOf(payment)
    if (id === '') return NOT_CREATED
    return read(await call('GET', `/v1/payment_intents/${encodeURIComponent(id)}`))
  }

  return {
    authorize: create,

    async capture (payment) {
      const id = await idOf(payment)
      return id === '' ? NOT_CREATED : post(`payment_intents/${encodeURIComponent(id)}/capture`, {})
    },

    async void (payment) {
      const now = await found(payment)
      if (now.status !== 'authorized') return now
      return post(`payment_intents/${encodeURIComponent(now.id)}/cancel`, {})
    },

    async refund (payment) {
      const { id } = await found(payment)
      const reply = await postRaw('refunds', { payment_intent: id }, `${payment.key}:refund`)
      if (reply.status !== 200 && reply.json.error?.code !== 'charge_already_refunded') throw refused(reply)
      return { status: 'refunded', id }
    },

    lookup: found
  }
}

/**
 * What Stripe does not create, such as an amount below its minimum, is declined for good.
 * @param {{ status: number, json: any }} reply
 */
const declinedIf400 = (reply) =>
  reply.status === 400 ? NOT_CREATED : read(reply)

/** @param {{ status: number, json: any }} reply @returns {import('./payments.js').Result} */
function read ({ status, json }) {
  const error = json.error ?? {}
  // a card that is declined is 402, and the error holds its PaymentIntent
  if (error.type === 'card_error') return { status: 'declined', id: error.payment_intent?.id ?? '' }
  if (error.code === 'payment_intent_unexpected_state') return read({ status: 200, json: error.payment_intent })
  const mapped = STATUSES[json.status]
  if (status === 200 && mapped) return { status: mapped, id: json.id }
  throw refused({ status, json })
}

/** @param {{ status: number, json: any }} reply */
const refused = ({ status, json }) => new FreshetError('PAYMENT_REFUSED',
  `the payment provider rejected a request (${status}): ${json.error?.message ?? json.status}`)
