/** Work at a constant rate, and work that is done a few at a time. */
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Waits until something is due. A timer takes whole milliseconds and may fire early: nothing begins before its time.
 * @param {number} dueMs @param {{ now?: () => number, signal?: AbortSignal }} [on] `now`: the clock of `dueMs`
 * @returns {Promise<void>} at once when it is due already, or aborted
 */
export async function untilDue (dueMs, { now = () => performance.now(), signal } = {}) {
  for (let aheadMs = dueMs - now(); aheadMs > 0 && !signal?.aborted; aheadMs = dueMs - now()) {
    await sleep(Math.ceil(aheadMs), undefined, { signal }).catch(() => {})
  }
}

/**
 * Begins work at a constant rate, whatever becomes of what has begun.
 * @param {{ rate: number, seconds: number, signal: AbortSignal }} how `rate`: 1/s
 * @param {(n: number, dueMs: number) => void} begin `dueMs` on the clock of `performance.now()`
 */
export async function atRate ({ rate, seconds, signal }, begin) {
  const startMs = performance.now()
  for (let n = 0; n < rate * seconds; n++) {
    const dueMs = startMs + n * 1000 / rate
    await untilDue(dueMs, { signal })
    if (signal.aborted) return
    begin(n, dueMs)
  }
}

/**
 * @template One, Result
 * @param {readonly One[]} all @param {number} most at once @param {(one: One) => Promise<Result>} run
 * @returns {Promise<Result[]>}
 */
export async function fewAtOnce (all, most, run) {
  const results = []
  for (let from = 0; from < all.length; from += most) results.push(...await Promise.all(all.slice(from, from + most).map(run)))
  return results
}

/** @param {number} count @returns {number[]} from 0 */
export const numbersTo = (count) => Array.from({ length: count }, (_, n) => n)
