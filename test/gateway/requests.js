/** What several tests of the gateway need. */

/** longer than anything here takes, also on a busy machine */
export const GENEROUS_MS = 5000

/** @param {string} prefix @param {number} n @param {number} [bytes] */
export const itemsOf = (prefix, n, bytes = 10) => Array.from({ length: n }, (_, i) => ({ id: `${prefix}-${i}`, value: 'x'.repeat(bytes) }))

/** @template T @param {() => Promise<T>} work @returns {Promise<T & { ms: number }>} */
export async function timed (work) {
  const startedMs = performance.now()
  const answer = await work()
  return { ...answer, ms: performance.now() - startedMs }
}
