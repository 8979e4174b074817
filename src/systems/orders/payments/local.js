/** The provider of `npm start payments` (demo/payments/server.js). A payment is known by its key. */
import { FreshetError } from '../errors.js'

const JSON_TYPE = Object.freeze({ 'content-type': 'application/json' })

/**
 * @param {import('./payments.js').Call} call @param {{ currency: string }} options
 * @returns {import('./payments.js').Adapter}
 */
export function local (call, { currency }) {
  const pathOf = (/** @type {string} */ key) => `/v1/payments/${encodeURIComponent(key)}`

  /** @param {string} key @param {string} operation */
  const post = async (key, operation) => read(await call('POST', `${pathOf(key)}/${operation}`), key)

  return {
    authorize: async ({ key, amount }) =>
      read(await call('POST', '/v1/payments', { body: JSON.stringify({ key, amount, currency }), headers: JSON_TYPE }), key),
    capture: ({ key }) => post(key, 'capture'),
    void: ({ key }) => post(key, 'void'),
    refund: ({ key }) => post(key, 'refund'),

    async lookup ({ key }) {
      const reply = await call('GET', pathOf(key))
      return reply.status === 404 ? null : read(reply, key)
    }
  }
}

/** @param {{ status: number, json: any }} reply @param {string} key @returns {import('./payments.js').Result} */
function read ({ status, json }, key) {
  if (status === 200) return { status: json.status, id: key }
  throw new FreshetError('PAYMENT_REFUSED', `the payment provider rejected a request (${status}): ${json.error ?? 'without a reason'}`)
}
