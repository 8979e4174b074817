/** Metrics of orders, in the processes that drive them. */
import { calls as services } from 'freshet-feed/systems'
import { Counter, Gauge, Histogram } from 'prom-client'

const SAGA_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60]
const CALL_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

/** @param {import('prom-client').Registry} registry */
export function createOrderMetrics (registry) {
  const common = { registers: [registry] }
  const took = new Histogram({
    ...common,
    name: 'freshet_order_seconds',
    help: 'Time from placing an order to its final status, by outcome: confirmed, or why it was cancelled',
    labelNames: ['outcome'],
    buckets: SAGA_SECONDS
  })
  const calls = new Histogram({
    ...common,
    name: 'freshet_payment_call_seconds',
    help: 'Time of a call of the payment provider, by operation and outcome',
    labelNames: ['operation', 'outcome'],
    buckets: CALL_SECONDS
  })
  const different = new Counter({
    ...common, name: 'freshet_order_events_different_total', help: 'Total events whose number has another content in the database'
  })
  let breaker = () => 'closed'
  /** @type {Gauge} */
  const state = new Gauge({
    ...common,
    name: 'freshet_payment_breaker',
    help: 'Circuit breaker of the payment provider: 0 closed, 1 half-open, 2 open',
    collect () { state.set(services.states.indexOf(breaker())) }
  })

  return {
    ended: (/** @type {string} */ outcome, /** @type {number} */ seconds) => took.observe({ outcome }, seconds),
    called: (/** @type {string} */ operation, /** @type {string} */ outcome, /** @type {number} */ seconds) =>
      calls.observe({ operation, outcome }, seconds),
    differed: () => different.inc(),
    follow (/** @type {() => string} */ read) { breaker = read }
  }
}
