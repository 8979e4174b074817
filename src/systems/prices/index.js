/**
 * Prices, on rule `latest` of src/admission.
 *
 *     consumers  task `refresh` -> sources -> aggregate -> rule `latest` -> state, events, outbox
 *     gateway    routes -> commands.js -> admission
 *     reader     outbox -> key view -> queries.js -> routes
 *
 * @typedef {import('./commands.js').Prices} Prices
 * @typedef {import('./queries.js').PriceQueries} PriceQueries
 * @typedef {import('./queries.js').Store} Store
 * @typedef {import('./replies.js').Found} Found
 * @typedef {import('./sources/sources.js').Sources} Sources
 * @typedef {import('./sources/sources.js').SourceFigures} SourceFigures
 * @typedef {import('./sources/sources.js').Tick} Tick
 */
import './errors.js'

export const SYSTEM = 'prices'
export const RULE = 'latest'
/** @param {string} id as a client gives it @returns {string} */
export const assetOf = (id) => id.toLowerCase()

export { RESET_MS } from '../breaker.js'
export { aggregate } from './aggregate.js'
export { createPrices, timesOf } from './commands.js'
export { createDemand } from './demand.js'
export { createPriceLive } from './live.js'
export { createPriceQueries } from './queries.js'
export { createRefresher } from './refresh.js'
export { exchangesOf } from './exchanges/exchanges.js'
export { syntheticTick } from './exchanges/synthetic.js'
export { createEncoder, STATUSES } from './replies.js'
export { createSources, thresholdOf } from './sources/sources.js'
export { publishSources, readSources } from './source-figures.js'
export { openPriceStore } from './store/index.js'
