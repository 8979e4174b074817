/**
 * The part of a sample that is about bids, sales, prices or orders.
 *
 * @typedef {{ mean?: number, p50: number, p95: number, p99: number, max: number }} Percentiles the mean: absent in older results
 * @typedef {{ accepted: number, calls: number, attemptsPerAccepted: number | null, latencyMs: Percentiles,
 *   latencyMsByCode: Record<string, { n: number } & Percentiles> }} Decided of the window; `calls`: requests to the server
 * @typedef {{ count: number, exact: number, people: number, seconds: number, requests: number, selloutMs: number | null,
 *   everybodyMs: number, unanswered: number,
 *   latencyMs: Percentiles & { mean: number }, winnersMs: Percentiles, losersMs: Percentiles, busy: number, waiting: number,
 *   untrue: number, neighbours?: { ms: Percentiles, idleMs: Percentiles, failed: number } | null }} Sales `untrue`: people whose reply
 *   contradicts the stored rows; `neighbours`: a route beside the burst, and without one;
 *   `seconds` in which people waited; `exact`: those in which every invariant held; `busy`, `waiting`: connections to the database, at most
 */

/** of systems, in their summaries */
const PARTS = ['sales', 'prices', 'orders', 'disturbed']

/**
 * @param {import('../../run/child.js').Ended} ended of ../load-process.js
 * @returns {Pick<import('../../run/sample.js').Sample, 'invariants' | 'valid' | 'itemsAcknowledged' | 'itemsPresent'> &
 *   { decided: Decided, sales?: Sales, prices?: import('../prices/figures.js').PriceFigures,
 *   orders?: import('../orders/figures.js').OrderFigures, disturbed?: import('../../cluster/figures.js').DisturbedFigures }}
 */
export function decidedOf ({ summary }) {
  const { accepted, calls, attemptsPerAccepted, latencyMs, latencyMsByCode, invariants, items } = summary
  return {
    decided: { accepted, calls, attemptsPerAccepted, latencyMs, latencyMsByCode },
    ...Object.fromEntries(PARTS.filter((part) => summary[part]).map((part) => [part, summary[part]])),
    // the invariants compare clients with the stored events
    itemsAcknowledged: items,
    itemsPresent: items,
    invariants,
    valid: invariants.every((/** @type {{ ok: boolean }} */ { ok }) => ok)
  }
}
