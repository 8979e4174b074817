/** Bounded waits for servers, and no second request while the first one is pending. */

/**
 * @template T @param {Promise<T>} answer never rejects @param {number} ms
 * @returns {Promise<T | null>} null = not in time
 */
export async function within (answer, ms) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const late = /** @type {Promise<null>} */ (new Promise((resolve) => { timer = setTimeout(resolve, ms, null) }))
  const first = await Promise.race([answer, late])
  clearTimeout(timer)
  return first
}

/**
 * Concurrent callers share one call of `work`.
 * @template T @param {() => Promise<T>} work
 * @returns {() => Promise<T | null>} null = it failed
 */
export function oneAtATime (work) {
  /** @type {Promise<T | null> | null} */
  let pending = null
  return () => {
    pending ??= work().catch(() => null).finally(() => { pending = null })
    return pending
  }
}
