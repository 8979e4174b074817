/**
 * How the sources are: each process that refreshes stores what it sees, readers merge it. A key per process, which expires with it.
 *
 * @typedef {{ exchange: string, breaker: 'closed' | 'half-open' | 'open', latencyMs: number | null, lastError: string | null }}
 *   SourceFigure
 */
const EVERY_MS = 1000
const LIVES_MS = 5000
const BREAKERS = Object.freeze(['closed', 'half-open', 'open'])

/** @param {(part: string) => string} key of partition 0 @param {string} process */
const keyOf = (key, process) => key(`sources:${process}`)

/**
 * @param {{ connection: () => import('../../store/index.js').Connection, key: (part: string) => string, id: string,
 *   figures: () => SourceFigure[] }} parts `connection` to the primary of partition 0; `id` of the process, as in its heartbeats
 */
export function publishSources ({ connection, key, id, figures }) {
  const timer = setInterval(async () => {
    try {
      await connection().send('SET', keyOf(key, id), JSON.stringify(figures()), 'PX', LIVES_MS)
    } catch {
      // the servers are away; the key expires
    }
  }, EVERY_MS).unref()
  return { close () { clearInterval(timer) } }
}

/**
 * @param {import('../../store/index.js').Connection} connection @param {(part: string) => string} key of partition 0
 * @returns {Promise<SourceFigure[]>} the worst breaker and the slowest latency that a process sees
 */
export async function readSources (connection, key) {
  const ids = (await connection.send('ZRANGE', key('consumers'), 0, -1)).map(String)
  if (ids.length === 0) return []
  const texts = await connection.send('MGET', ...ids.map((/** @type {string} */ id) => keyOf(key, id)))
  /** @type {Map<string, SourceFigure>} */
  const merged = new Map()
  for (const text of texts) {
    if (text === null) continue
    for (const one of /** @type {SourceFigure[]} */ (JSON.parse(String(text)))) {
      const known = merged.get(one.exchange)
      merged.set(one.exchange, known ? worse(known, one) : one)
    }
  }
  return [...merged.values()]
}

/** @param {SourceFigure} a @param {SourceFigure} b @returns {SourceFigure} */
function worse (a, b) {
  const breaker = BREAKERS.indexOf(a.breaker) >= BREAKERS.indexOf(b.breaker) ? a.breaker : b.breaker
  const latencies = [a.latencyMs, b.latencyMs].filter((one) => one !== null)
  return { ...a, breaker, latencyMs: latencies.length > 0 ? Math.max(...latencies) : null, lastError: a.lastError ?? b.lastError }
}
