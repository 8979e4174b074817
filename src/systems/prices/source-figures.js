/**
 * How the sources are: each process that refreshes stores what it sees, readers merge it. A key per process, which expires with it.
 *
 * @typedef {{ exchange: string, breaker: 'closed' | 'half-open' | 'open', latencyMs: number | null, lastError: string | null }}
 *   SourceFigure
 * @typedef {SourceFigure & { url?: string }} PublishedFigure `url`: of an exchange of this machine, whose faults a page may switch
 */
const EVERY_MS = 1000
const LIVES_MS = 5000
const THIS_MACHINE = Object.freeze(['127.0.0.1', 'localhost'])
const BREAKERS = Object.freeze(['closed', 'half-open', 'open'])

/** @param {(part: string) => string} key of partition 0 @param {string} process */
const keyOf = (key, process) => key(`sources:${process}`)

/**
 * @param {{ connection: () => import('../../store/index.js').Connection, key: (part: string) => string, id: string,
 *   exchanges: import('./exchanges/exchanges.js').Exchange[], figures: () => SourceFigure[] }} parts `connection` to the primary of
 *   partition 0; `id` of the process, as in its heartbeats
 */
export function publishSources ({ connection, key, id, exchanges, figures }) {
  const here = exchanges.filter(({ base }) => THIS_MACHINE.includes(new URL(base).hostname))
  const urls = Object.fromEntries(here.map(({ name, base }) => [name, base]))
  const text = () => JSON.stringify(figures().map((one) => ({ ...one, url: urls[one.exchange] })))
  const timer = setInterval(async () => {
    try {
      await connection().send('SET', keyOf(key, id), text(), 'PX', LIVES_MS)
    } catch {
      // the servers are away; the key expires
    }
  }, EVERY_MS).unref()
  return { close () { clearInterval(timer) } }
}

/**
 * @param {import('../../store/index.js').Connection} connection @param {(part: string) => string} key of partition 0
 * @returns {Promise<PublishedFigure[]>} the worst breaker and the slowest latency that a process sees
 */
export async function readSources (connection, key) {
  const ids = (await connection.send('ZRANGE', key('consumers'), 0, -1)).map(String)
  if (ids.length === 0) return []
  const texts = await connection.send('MGET', ...ids.map((/** @type {string} */ id) => keyOf(key, id)))
  /** @type {Map<string, PublishedFigure>} */
  const merged = new Map()
  for (const text of texts) {
    if (text === null) continue
    for (const one of /** @type {PublishedFigure[]} */ (JSON.parse(String(text)))) {
      const known = merged.get(one.exchange)
      merged.set(one.exchange, known ? worse(known, one) : one)
    }
  }
  return [...merged.values()]
}

/** @param {PublishedFigure} a @param {PublishedFigure} b @returns {PublishedFigure} */
function worse (a, b) {
  const breaker = BREAKERS.indexOf(a.breaker) >= BREAKERS.indexOf(b.breaker) ? a.breaker : b.breaker
  const latencies = [a.latencyMs, b.latencyMs].filter((one) => one !== null)
  return { ...a, breaker, latencyMs: latencies.length > 0 ? Math.max(...latencies) : null, lastError: a.lastError ?? b.lastError }
}
