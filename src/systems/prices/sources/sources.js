/**
 * The sources of prices, asked in parallel.
 *
 * @typedef {import('./call.js').Tick} Tick
 * @typedef {import('./source.js').SourceFigures} SourceFigures
 * @typedef {ReturnType<typeof createSources>} Sources
 */
import { calls } from 'freshet-feed/systems'
import { createSource } from './source.js'

/** Most calls in flight. The sources share them equally, so that one that hangs takes nothing from the others. */
const MAX_CALLS = 64
const CALL_MS = 400

/** @param {number} sources how many there are @returns {number} calls in flight, of one of them */
const limitOf = (sources) => Math.floor(MAX_CALLS / sources)

/**
 * Calls that a source which died gets at most, before its breaker is open.
 * @param {number} sources how many there are
 */
export const thresholdOf = (sources) => Math.max(limitOf(sources), calls.minFailures)

/**
 * @param {{ exchanges: (import('../exchanges/exchanges.js').Exchange | import('./own.js').OwnSource)[], callMs?: number,
 *   resetMs?: number, log?: import('pino').Logger }} options `callMs`: deadline of a call, from its start; `resetMs`: how long a breaker
 *   stays open
 */
export function createSources ({ exchanges, callMs = CALL_MS, resetMs, log }) {
  const limit = limitOf(exchanges.length)
  const sources = exchanges.map((exchange) => createSource({ exchange, limit, callMs, resetMs, log }))
  return {
    /** Never rejects. @param {string} asset an id of prices @returns {Promise<Tick[]>} one of each source, in their order */
    ticks: (asset) => Promise.all(sources.map(({ tick }) => tick(asset))),

    /** @returns {SourceFigures[]} */
    figures: () => sources.map(({ figures }) => figures()),

    /** A source answers, but its price is too old to count. @param {string} exchange */
    noteOld (exchange) { for (const source of sources) if (source.name === exchange) source.noteOld() },

    /** See `thresholdOf`. */
    threshold: thresholdOf(exchanges.length),

    /** Ends calls: their reason is `closed`. */
    close () { for (const source of sources) source.close() }
  }
}

/**
 * What each process that refreshes has published, as one figure for each source: the worst breaker, the slowest latency and the last
 * error that one sees.
 * @param {SourceFigures[][]} all @returns {SourceFigures[]}
 */
export function mergeFigures (all) {
  /** @type {Map<string, SourceFigures>} */
  const merged = new Map()
  for (const one of all.flat()) {
    const before = merged.get(one.exchange) ?? one
    const { breaker, latencyMs } = before
    const { lastError, lastErrorAt } = Number(before.lastErrorAt) > Number(one.lastErrorAt) ? before : one
    merged.set(one.exchange, {
      ...one,
      breaker: calls.states.indexOf(breaker) >= calls.states.indexOf(one.breaker) ? breaker : one.breaker,
      latencyMs: latencyMs === null ? one.latencyMs : Math.max(latencyMs, Number(one.latencyMs)),
      lastError,
      lastErrorAt
    })
  }
  return [...merged.values()]
}
