/**
 * Prices: one price per asset from several exchanges.
 *
 * @typedef {import('./sources/sources.js').Sources} Sources
 * @typedef {import('./sources/sources.js').SourceFigures} SourceFigures
 * @typedef {import('./sources/sources.js').Tick} Tick
 */
export { aggregate } from './aggregate.js'
export { exchangesOf } from './exchanges/exchanges.js'
export { syntheticTick } from './exchanges/synthetic.js'
export { createSources } from './sources/sources.js'
