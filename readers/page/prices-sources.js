/** The sources: the breaker of each, its latency, its last error; and faults of exchanges on this machine, which can be switched. */
import { at, make, put } from './elements.js'
import { BREAKERS, createFaults, IS_HERE } from './system.js'
import { UNKNOWN, duration, timeOfDay } from './text.js'

/** Name, meaning, and what the exchange is sent; null = no fault. @type {readonly [string, string, Record<string, unknown> | null][]} */
const FAULTS = Object.freeze([
  ['none', '', null],
  ['down', ': replies 500', { errorRate: 1 }],
  ['slow', ': replies in 300 ms', { latencyMs: 300 }],
  ['hangs', ': no reply', { hang: true }],
  ['wild', ': 10 times the price', { outlier: 10 }],
  ['limited', ': replies 429', { rateLimited: 5 }]
])

/** @typedef {{ exchange: string, breaker: string, latencyMs: number | null, lastError: string | null,
 *   lastErrorAt?: number | null, url?: string }} Source */

/** @type {Map<string, any>} cards by exchange */
const cards = new Map()

/** @param {Source[]} sources */
export function showSources (sources) {
  const keys = sources.map(({ exchange, url }) => `${exchange} ${url}`)
  for (const [key, card] of cards) {
    if (keys.includes(key)) continue
    card.remove()
    cards.delete(key)
  }
  sources.forEach((source, i) => {
    const card = cards.get(keys[i]) ?? createCard(source)
    if (!cards.has(keys[i])) at('exchanges').append(card)
    cards.set(keys[i], card)
    const [, breaker, figures] = card.children
    breaker.dataset.kind = BREAKERS[source.breaker]
    put(breaker, `breaker ${source.breaker}`)
    put(figures, `latency ${source.latencyMs === null ? UNKNOWN : duration(source.latencyMs)}, ${errorOf(source)}`)
  })
  at('no-sources').hidden = sources.length > 0
  at('hint').hidden = !IS_HERE || !sources.some(({ url }) => url)
}

/** @param {Source} source `lastErrorAt`: not of an older process */
const errorOf = ({ lastError, lastErrorAt }) => lastError === null
  ? 'no error so far'
  : `last error: ${lastError.replaceAll('_', ' ')}${lastErrorAt ? ` (${timeOfDay(lastErrorAt)})` : ''}`

/** @param {Source} source */
function createCard ({ exchange, url }) {
  const card = make('li', {}, make('h3', {}, exchange), make('p', { className: 'state' }), make('p', { className: 'quiet' }))
  if (url && IS_HERE) card.append(createFaults(FAULTS, url, exchange))
  return card
}
