/**
 * Order statistics: rates, times and the latest orders of each step since this reader started, and how many are on their way, which the
 * processes that drive them report.
 */
import { idOfKey } from './keys.js'
import { isFinal } from './replies.js'

const WINDOW_MS = 10_000
const MAX_RUNNING = 10_000
const TRIM_AT = 20_000
const SHOWN = 12
const STEPS = Object.freeze(['placed', 'held', 'capturing', 'captured', 'cancelling', 'confirmed', 'cancelled'])

export function createFlow () {
  /** When each order that has not ended was placed, by key. @type {Map<string, number>} */
  const running = new Map()
  /** The last orders that came to each step. @type {Record<string, string[]>} */
  const recent = Object.fromEntries(STEPS.map((step) => [step, []]))
  /** Orders that were placed or ended; `tookMs`: NaN if unknown. @type {{ step: string, atMs: number, tookMs: number }[]} */
  let moves = []

  function trim () {
    const sinceMs = performance.now() - WINDOW_MS
    moves = moves.filter(({ atMs }) => atMs > sinceMs)
  }

  return {
    /** @param {import('freshet-feed/systems').RawEntry} entry */
    note ({ rule, key, fields: { type, status, ts } }) {
      if (rule !== 'step' || status === undefined) return
      if (type === 'placed' && running.size < MAX_RUNNING) running.set(key, Number(ts))
      if (type === 'placed' || isFinal(status)) {
        moves.push({ step: status, atMs: performance.now(), tookMs: Math.max(0, Number(ts) - Number(running.get(key) ?? NaN)) })
      }
      if (isFinal(status)) running.delete(key)
      const list = recent[status]
      if (list.length === SHOWN) list.shift()
      list.push(idOfKey(key))
      if (moves.length > TRIM_AT && moves[0].atMs < performance.now() - 2 * WINDOW_MS) trim()
    },

    /** Rates are those of the last ten seconds. @param {Pick<import('./handlers.js').Worker, 'driven'>[]} workers */
    figures (workers) {
      trim()
      const perSecond = (/** @type {string} */ wanted) => moves.filter(({ step }) => step === wanted).length * 1000 / WINDOW_MS
      const confirmed = moves.filter(({ step, tookMs }) => step === 'confirmed' && tookMs >= 0)
      const times = confirmed.map(({ tookMs }) => tookMs).sort((a, b) => a - b)
      const quantile = (/** @type {number} */ share) => times[Math.min(times.length - 1, Math.floor(share * times.length))] ?? null
      const drivenAt = (/** @type {string} */ step) => workers.reduce((sum, { driven }) => sum + (driven[step] ?? 0), 0)
      return {
        placedPerSecond: perSecond('placed'),
        confirmedPerSecond: perSecond('confirmed'),
        cancelledPerSecond: perSecond('cancelled'),
        confirmedMsP50: quantile(0.5),
        confirmedMsP95: quantile(0.95),
        running: STEPS.reduce((sum, step) => sum + drivenAt(step), 0),
        steps: STEPS.map((step) => ({ step, orders: isFinal(step) ? null : drivenAt(step), recent: [...recent[step]].reverse() }))
      }
    }
  }
}
