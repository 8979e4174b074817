/** Figures of the orders that a reader sees going by: rates, times, and which order is at which step. Since the reader has started. */
import { idOfKey } from './keys.js'
import { isFinal } from './replies.js'

const WINDOW_MS = 10_000
const MAX_RUNNING = 10_000
const MAX_TIMES = 1000
const SHOWN = 12
const STEPS = Object.freeze(['placed', 'held', 'capturing', 'captured', 'cancelling', 'confirmed', 'cancelled'])

/** @typedef {ReturnType<typeof createFlow>} Flow */

/** @param {{ elapsed?: () => number }} [options] monotonic, ms */
export function createFlow ({ elapsed = () => performance.now() } = {}) {
  /** by key, the first placed first @type {Map<string, { step: string, placedAt: number }>} */
  const running = new Map()
  /** of each step, the last orders that came there @type {Record<string, string[]>} */
  const recent = Object.fromEntries(STEPS.map((step) => [step, []]))
  /** @type {{ step: string, atMs: number, tookMs: number }[]} */
  let ended = []
  /** @type {number[]} times of placing */
  let placed = []

  function trim () {
    const sinceMs = elapsed() - WINDOW_MS
    placed = placed.filter((atMs) => atMs > sinceMs)
    ended = ended.filter(({ atMs }) => atMs > sinceMs)
  }

  return {
    /** @param {import('../../admission/index.js').Entry} entry */
    note ({ rule, key, fields: { type, status, ts } }) {
      if (rule !== 'step' || status === undefined) return
      if (type === 'placed') {
        placed.push(elapsed())
        if (running.size < MAX_RUNNING) running.set(key, { step: status, placedAt: Number(ts) })
      }
      const one = running.get(key)
      if (one) one.step = status
      if (isFinal(status)) {
        if (one && ended.length < MAX_TIMES * WINDOW_MS) ended.push({ step: status, atMs: elapsed(), tookMs: Number(ts) - one.placedAt })
        running.delete(key)
      }
      const list = recent[status]
      if (list.length === SHOWN) list.shift()
      list.push(idOfKey(key))
      if (placed.length > MAX_TIMES * 10) trim()
    },

    /** Rates are those of the last ten seconds. */
    figures () {
      trim()
      const perSecond = (/** @type {number} */ n) => n * 1000 / WINDOW_MS
      const times = ended.filter(({ step }) => step === 'confirmed').map(({ tookMs }) => tookMs).sort((a, b) => a - b)
      const quantile = (/** @type {number} */ share) => times[Math.min(times.length - 1, Math.floor(share * times.length))] ?? null
      const counts = Object.fromEntries(STEPS.map((step) => [step, 0]))
      for (const { step } of running.values()) counts[step]++
      return {
        placedPerSecond: perSecond(placed.length),
        confirmedPerSecond: perSecond(times.length),
        cancelledPerSecond: perSecond(ended.length - times.length),
        confirmedMsP50: quantile(0.5),
        confirmedMsP95: quantile(0.95),
        running: running.size,
        steps: STEPS.map((step) => ({ step, orders: isFinal(step) ? null : counts[step], recent: [...recent[step]].reverse() }))
      }
    }
  }
}
