/** Not waiting long for servers, and not asking again what is not answered yet. */

/**
 * @template T @param {Promise<T>} answer that never rejects @param {number} ms
 * @returns {Promise<T | null>} null: not in time
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
 * @template T @param {() => Promise<T>} work that may reject
 * @returns {() => Promise<T | null>} null: it failed. Who comes while it is under way waits for the same
 */
export function oneAtATime (work) {
  /** @type {Promise<T | null> | null} */
  let underWay = null
  return () => {
    underWay ??= work().catch(() => null).finally(() => { underWay = null })
    return underWay
  }
}
