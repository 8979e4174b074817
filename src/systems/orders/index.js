/**
 * Orders: sagas on the rules `step` (the order), `bounded` (the stock of a product) and `once` (a customer) of src/admission.
 *
 *     gateway    commands.js -> admission
 *     consumers  scheduled task `run` -> saga.js -> admission, payment provider; outbox -> archive.js -> SQL
 *     reader     outbox -> key view -> queries.js; SQL for orders that have left the servers
 *
 * Gateways and readers hold no state of a saga, so any of them answers for any order.
 */
import { rules } from 'freshet-feed/systems'
import { createArchive } from './archive.js'
import { COMMANDS, createOrders } from './commands.js'
import { ERRORS } from './errors.js'
import { createOrderHandlers, createOrderMetrics } from './handlers.js'
import { isLetterNeeded, sagaIdOf } from './keys.js'
import { createOrderQueries, QUERIES, STREAM } from './queries.js'
import { SETTINGS } from './settings.js'

/** @type {import('freshet-feed/systems').System} */
export default {
  name: 'orders',
  rules: { step: rules.step, bounded: rules.bounded, once: rules.once },
  errors: ERRORS,
  settings: SETTINGS,
  unknown: 'ORDER_UNKNOWN',
  durability: 'replica',
  withoutReplica: 'memory',
  driver: 'tasks',
  // the stock of a product changes with every order
  isUncached: true,
  needsDatabase: true,
  keepsSecret: true,
  keepsUnread: true,
  demo: {
    about: '100 customers place orders, which any number of consumers drive to their payment',
    commands: 'POST orders here',
    tasks: 'orders are driven to their end',
    beside: 'payments',
    settings: ['workers'],
    crowd: () => import('./crowd.js')
  },
  page: { file: 'orders.html', summary: 'Orders on their way', isOfCommands: true, hasFaults: true },
  commands: COMMANDS,
  queries: QUERIES,
  stream: STREAM,
  migrations: new URL('./migrations/', import.meta.url),
  metrics: { consumers: createOrderMetrics },
  isLetterNeeded,
  logged: (key) => ({ sagaId: sagaIdOf(key) }),
  reader: createOrderQueries,
  consumers: createOrderHandlers,
  gateway: (parts) => ({ commands: createOrders(parts) })
}

export { MAX_ORDERS, ordersOf, signatureOf } from './payments/callbacks.js'
export { createPayments } from './payments/payments.js'
export { rebuildViews } from './archive.js'
export { createSaga } from './saga.js'
export { createArchive }
