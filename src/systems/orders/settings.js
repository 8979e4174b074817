/** Settings of orders. `--help` of every process shows them, so they import nothing. */

/** @type {import('freshet-feed/systems').System['settings']} */
export const SETTINGS = {
  orderDeadlineMs: {
    description: 'Time after which an order is cancelled whose payment was not requested',
    uses: ['gateway'],
    type: 'integer',
    minimum: 100,
    maximum: 86_400_000,
    default: 60_000,
    unit: 'ms'
  },
  paymentProvider: {
    description: 'Provider that takes the payments of orders; local = that of npm start payments',
    uses: ['consumers'],
    type: 'string',
    enum: ['local', 'stripe'],
    default: 'local'
  },
  paymentUrl: { description: 'URL of the provider, where it is not the usual one', uses: ['consumers'], type: 'url' },
  paymentKey: {
    description: 'Key of the API of the provider',
    uses: ['consumers'],
    type: 'string',
    pattern: '^[\\x21-\\x7e]+$',
    expects: 'a key, without spaces',
    secret: true
  },
  paymentTimeoutMs: {
    description: 'Reply timeout of the provider; the result is then looked up',
    uses: ['consumers'],
    type: 'integer',
    minimum: 10,
    maximum: 60_000,
    default: 2_000,
    unit: 'ms'
  },
  paymentSecret: {
    description: 'Secret of the signatures of callbacks; without it, a gateway accepts none',
    uses: ['gateway', 'payments'],
    type: 'string',
    pattern: '^[\\x21-\\x7e]+$',
    expects: 'text, without spaces',
    secret: true
  }
}
