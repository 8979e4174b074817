/**
 * The part of a sample that is about bids.
 *
 * @typedef {{ p50: number, p95: number, p99: number, max: number }} Percentiles
 * @typedef {{ accepted: number, calls: number, attemptsPerAccepted: number | null, latencyMs: Percentiles,
 *   latencyMsByCode: Record<string, { n: number } & Percentiles> }} Decided of the window; `calls`: requests to the server
 */

/**
 * @param {import('../child.js').Ended} ended of load-process.js
 * @returns {Pick<import('../sample.js').Sample, 'invariants' | 'valid' | 'itemsAcknowledged' | 'itemsPresent'> & { decided: Decided }}
 */
export function decidedOf ({ summary }) {
  const { accepted, calls, attemptsPerAccepted, latencyMs, latencyMsByCode, invariants, items } = summary
  return {
    decided: { accepted, calls, attemptsPerAccepted, latencyMs, latencyMsByCode },
    // the invariants compare clients with the stored events
    itemsAcknowledged: items,
    itemsPresent: items,
    invariants,
    valid: invariants.every((/** @type {{ ok: boolean }} */ { ok }) => ok)
  }
}
