/**
 * Orders: sagas on the rules `step` (the order), `bounded` (the stock of a product) and `once` (a customer) of src/admission.
 *
 *     gateway    routes -> commands.js -> admission
 *     consumers  scheduled task `run` -> saga.js -> admission, payment provider; outbox -> archive.js -> SQL
 *     reader     outbox -> key view -> queries.js -> routes; SQL for orders that have left the servers
 *
 * Gateways and readers hold no state of a saga, so any of them answers for any order.
 *
 * @typedef {import('./commands.js').Orders} Orders
 * @typedef {import('./queries.js').OrderQueries} OrderQueries
 * @typedef {import('./payments/payments.js').Payments} Payments
 * @typedef {import('./lines.js').Line} Line
 * @typedef {import('./lines.js').Wanted} Wanted
 */
import './errors.js'

export const SYSTEM = 'orders'

export { createArchive } from './archive.js'
export { createOrders } from './commands.js'
export { createFlow } from './flow.js'
export { sagaIdOf } from './keys.js'
export { MAX_LINES, mergeLines } from './lines.js'
export { createOrderLive } from './live.js'
export { callbackOf, signatureOf } from './payments/callbacks.js'
export { createPayments } from './payments/payments.js'
export { createOrderQueries } from './queries.js'
export { rebuildViews } from './rebuild.js'
export { publishReplica, readReplicas } from './replicas.js'
export { createSaga } from './saga.js'
export { isLetterNeeded } from './sagas.js'
