/**
 * Prices: one price per asset from several exchanges.
 */
export { syntheticTick } from './exchanges/synthetic.js'
