/**
 * Sales: first come, first served, on rule `bounded` of src/admission.
 *
 *     gateway    routes -> commands.js -> admission
 *     consumers  outbox -> orders.js -> SQL; restore.js after the servers were replaced
 *     reader     outbox -> key view -> queries.js -> routes; waiting room -> routes
 *
 * @typedef {import('./commands.js').Sales} Sales
 * @typedef {import('./commands.js').Reply} Reply
 * @typedef {import('./queries.js').SaleQueries} SaleQueries
 */
import './errors.js'

export const SYSTEM = 'sales'
export const RULE = 'bounded'

export { createSales } from './commands.js'
export { createSaleLive } from './live.js'
export { createOrderWriter } from './orders.js'
export { createSaleQueries } from './queries.js'
export { createRestorer } from './restore.js'
export { createSettlement } from './settlement.js'
export { ALGORITHMS, createTokens } from './tokens.js'
