/** Asking again while nobody can answer. */
import { setTimeout as sleep } from 'node:timers/promises'

const TRY_AGAIN_MS = 250

/**
 * Repeats a question until it is answered.
 * @template T @param {() => Promise<T>} question @param {AbortSignal} signal
 * @returns {Promise<T | null>} null = aborted
 */
export async function patiently (question, signal) {
  while (!signal.aborted) {
    try {
      return await question()
    } catch (error) {
      if (!error.retryable) throw error
      await sleep(TRY_AGAIN_MS, undefined, { signal }).catch(() => {})
    }
  }
  return null
}
