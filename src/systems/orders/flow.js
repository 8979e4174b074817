/**
 * Order statistics: rates, times and the latest orders of each step since this reader started, and how many are on their way, which the
 * processes that drive them report.
 */
import { idOfKey } from './keys.js'
import { isFinal } from './replies.js'

const WINDOW_MS = 10_000
const MAX_RUNNING = 10_000
const MAX_TIMES = 1000
const SHOWN = 12
const STEPS = Object.freeze(['placed', 'held', 'capturing', 'captured', 'cancelling', 'confirmed', 'cancelled'])

export function createFlow () {
  /** When each order that has not ended was placed, by key. @type {Map<string, number>} */
  const running = new Map()
  /** The last orders that came to each step. @type {Record<string, string[]>} */
  const recent = Object.fromEntries(STEPS.map((step) => [step, []]))
  /** @type {{ step: string, atMs: number, tookMs: number }[]} */
  let ended = []
  /** @type {number[]} when orders were placed */
  let placed = []

  function trim () {
    const sinceMs = performance.now() - WINDOW_MS
    placed = placed.filter((atMs) => atMs > sinceMs)
    ended = ended.filter(({ atMs }) => atMs > sinceMs)
  }

  return {
    /** @param {import('../../admission/index.js').Entry} entry */
    note ({ rule, key, fields: { type, status, ts } }) {
      if (rule !== 'step' || status === undefined) return
      if (type === 'placed') {
        placed.push(performance.now())
        if (running.size < MAX_RUNNING) running.set(key, Number(ts))
      }
      if (isFinal(status)) {
        const placedAt = running.get(key)
        if (placedAt !== undefined && ended.length < MAX_TIMES * WINDOW_MS) {
          ended.push({ step: status, atMs: performance.now(), tookMs: Number(ts) - placedAt })
        }
        running.delete(key)
      }
      const list = recent[status]
      if (list.length === SHOWN) list.shift()
      list.push(idOfKey(key))
      if (placed.length > MAX_TIMES * 10) trim()
    },

    /** Rates are those of the last ten seconds. @param {Pick<import('./handlers.js').Worker, 'driven'>[]} workers */
    figures (workers) {
      trim()
      const perSecond = (/** @type {number} */ n) => n * 1000 / WINDOW_MS
      const times = ended.filter(({ step }) => step === 'confirmed').map(({ tookMs }) => tookMs).sort((a, b) => a - b)
      const quantile = (/** @type {number} */ share) => times[Math.min(times.length - 1, Math.floor(share * times.length))] ?? null
      const drivenAt = (/** @type {string} */ step) => workers.reduce((sum, { driven }) => sum + (driven[step] ?? 0), 0)
      return {
        placedPerSecond: perSecond(placed.length),
        confirmedPerSecond: perSecond(times.length),
        cancelledPerSecond: perSecond(ended.length - times.length),
        confirmedMsP50: quantile(0.5),
        confirmedMsP95: quantile(0.95),
        running: STEPS.reduce((sum, step) => sum + drivenAt(step), 0),
        steps: STEPS.map((step) => ({ step, orders: isFinal(step) ? null : drivenAt(step), recent: [...recent[step]].reverse() }))
      }
    }
  }
}
