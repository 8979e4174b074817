/**
 * How the sources are: each process that refreshes publishes what it sees, readers merge it.
 *
 * @typedef {{ exchange: string, breaker: 'closed' | 'half-open' | 'open', latencyMs: number | null, lastError: string | null }}
 *   SourceFigure
 * @typedef {SourceFigure & { url?: string }} PublishedFigure `url`: of an exchange of this machine, whose faults a page may switch
 */
import { BREAKERS } from '../breaker.js'
import { localUrl } from '../process-figures.js'

/** @param {import('./exchanges/exchanges.js').Exchange[]} exchanges @param {SourceFigure[]} figures @returns {PublishedFigure[]} */
export const withUrls = (exchanges, figures) => figures.map((one) => {
  const { base } = /** @type {import('./exchanges/exchanges.js').Exchange} */ (exchanges.find(({ name }) => name === one.exchange))
  const url = localUrl(base)
  return url === null ? one : { ...one, url }
})

/** @param {PublishedFigure[][]} all of each process @returns {PublishedFigure[]} the worst breaker and the slowest latency that one sees */
export function mergeSources (all) {
  /** @type {Map<string, PublishedFigure>} */
  const merged = new Map()
  for (const one of all.flat()) {
    const before = merged.get(one.exchange)
    merged.set(one.exchange, before ? worse(before, one) : one)
  }
  return [...merged.values()]
}

/** @param {PublishedFigure} a @param {PublishedFigure} b @returns {PublishedFigure} */
function worse (a, b) {
  const breaker = BREAKERS.indexOf(a.breaker) >= BREAKERS.indexOf(b.breaker) ? a.breaker : b.breaker
  const latencies = [a.latencyMs, b.latencyMs].filter((one) => one !== null)
  return { ...a, breaker, latencyMs: latencies.length > 0 ? Math.max(...latencies) : null, lastError: a.lastError ?? b.lastError }
}
