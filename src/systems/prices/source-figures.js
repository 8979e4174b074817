/**
 * How the sources are: each process that refreshes stores what it sees, readers merge it (../process-figures.js).
 *
 * @typedef {{ exchange: string, breaker: 'closed' | 'half-open' | 'open', latencyMs: number | null, lastError: string | null }}
 *   SourceFigure
 * @typedef {SourceFigure & { url?: string }} PublishedFigure `url`: of an exchange of this machine, whose faults a page may switch
 */
import { publishFigures, readFigures } from '../process-figures.js'

const PART = 'sources'
const THIS_MACHINE = Object.freeze(['127.0.0.1', 'localhost'])
const BREAKERS = Object.freeze(['closed', 'half-open', 'open'])

/**
 * @param {Omit<Parameters<typeof publishFigures>[0], 'part' | 'figures'> & { exchanges: import('./exchanges/exchanges.js').Exchange[],
 *   figures: () => SourceFigure[] }} parts
 */
export function publishSources ({ exchanges, figures, ...parts }) {
  const here = exchanges.filter(({ base }) => THIS_MACHINE.includes(new URL(base).hostname))
  const urls = Object.fromEntries(here.map(({ name, base }) => [name, base]))
  return publishFigures({ ...parts, part: PART, figures: () => figures().map((one) => ({ ...one, url: urls[one.exchange] })) })
}

/**
 * @param {import('../../store/index.js').Connection} connection @param {(part: string) => string} key of partition 0
 * @returns {Promise<PublishedFigure[]>} the worst breaker and the slowest latency that a process sees
 */
export async function readSources (connection, key) {
  /** @type {Map<string, PublishedFigure>} */
  const merged = new Map()
  for (const one of (await readFigures(connection, key, PART)).flat()) {
    const known = merged.get(one.exchange)
    merged.set(one.exchange, known ? worse(known, one) : one)
  }
  return [...merged.values()]
}

/** @param {PublishedFigure} a @param {PublishedFigure} b @returns {PublishedFigure} */
function worse (a, b) {
  const breaker = BREAKERS.indexOf(a.breaker) >= BREAKERS.indexOf(b.breaker) ? a.breaker : b.breaker
  const latencies = [a.latencyMs, b.latencyMs].filter((one) => one !== null)
  return { ...a, breaker, latencyMs: latencies.length > 0 ? Math.max(...latencies) : null, lastError: a.lastError ?? b.lastError }
}
