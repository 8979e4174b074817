/**
 * Prices straight from the sources, for a reader whose servers are away: for assets that it has in memory, one call for all who ask, and
 * no more than a few assets at a time. What was found is served until its soft expiry, by this reader only.
 *
 * @typedef {import('../../admission/index.js').Fields} Fields
 */
import { aggregate } from './aggregate.js'

const MAX_ASSETS = 16
const MAX_KEPT = 1000

/** @param {{ sources: { ticks: (asset: string) => Promise<import('./aggregate.js').Tick[]> }, now: () => number }} parts */
export function createDirect ({ sources, now }) {
  /** the oldest first @type {Map<string, { one: Fields, untilMs: number }>} */
  const kept = new Map()
  /** @type {Map<string, Promise<Fields | null>>} */
  const running = new Map()

  /** @param {import('../../admission/index.js').Known} known @returns {Promise<Fields | null>} */
  async function ask ({ key, fields }) {
    const nowMs = now()
    const before = fields.asOf ?? fields.ts
    const found = aggregate(await sources.ticks(key), {
      nowMs, last: { price: fields.price, hard: Number(fields.hard) }, candidate: null, hardMs: Number(fields.hard) - Number(before)
    })
    if ('failure' in found) return null
    const lives = (/** @type {string} */ until) => String(found.asOf + Number(until) - Number(before))
    const { price, sources: said } = found
    const one = {
      ...fields,
      price,
      ts: String(nowMs),
      asOf: String(found.asOf),
      sources: JSON.stringify(said),
      failures: '0',
      soft: lives(fields.soft),
      hard: lives(fields.hard)
    }
    // reused from the time of the call: a price with old ticks is past its soft age at once, and each request would call the sources
    kept.set(key, { one, untilMs: nowMs + Number(fields.soft) - Number(before) })
    if (kept.size > MAX_KEPT) kept.delete(String(kept.keys().next().value))
    return one
  }

  return {
    /**
     * @param {import('../../admission/index.js').Known} known with a price, which has expired
     * @returns {Promise<Fields | null>} null: no price was found, or too many are being asked for
     */
    async fetch (known) {
      const found = kept.get(known.key)
      if (found && now() < found.untilMs) return found.one
      kept.delete(known.key)
      const asked = running.get(known.key)
      if (asked) return asked
      if (running.size >= MAX_ASSETS || known.fields.price === '') return null
      const asking = ask(known).finally(() => running.delete(known.key))
      running.set(known.key, asking)
      return asking
    }
  }
}
