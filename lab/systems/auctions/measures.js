/** Measures of bids. */
import { CPU, HIGHER, rowsOf } from '../../analysis/measure.js'

const row = rowsOf(({ decided }) => decided)

/** @type {Record<string, import('../../analysis/measure.js').Measure>} */
export const CONTENTION_MEASURES = Object.freeze({
  decisionsPerSecond: row('Decisions per second', 'decisions/s', 'reaches',
    (_, { items, seconds }) => seconds > 0 ? items / seconds : null, { noun: 'decisions', ...HIGHER }),
  acceptedPerSecond: row('Accepted bids per second', 'bids/s', 'accepts',
    ({ accepted }, { seconds }) => seconds > 0 ? accepted / seconds : null, { noun: 'accepted bids', ...HIGHER }),
  serverCpuMicrosPerBid: row('CPU time of the primary per bid', 'us', 'costs',
    (_, { nodes }) => nodes.find(({ role }) => role === 'primary')?.cpuMicrosPerItem, CPU),
  serverCpuMicrosPerDecision: row('CPU time of the primary per decision', 'us', 'costs',
    (_, { nodes }) => nodes.find(({ role }) => role === 'primary')?.cpuMicrosPerItem, CPU),
  callsPerBid: row('Requests to the server per bid', 'requests', 'sends', ({ calls }, { items }) => items > 0 ? calls / items : null),
  attemptsPerAccepted: row('Attempts per accepted bid', 'attempts', 'needs', ({ attemptsPerAccepted }) => attemptsPerAccepted),
  decisionMsMean: row('Time to a decision, mean', 'ms', 'decides after', ({ latencyMs }) => latencyMs.mean),
  decisionMsP50: row('Time to a decision, median', 'ms', 'decides after', ({ latencyMs }) => latencyMs.p50),
  decisionMsP95: row('Time to a decision, 95th percentile', 'ms', 'decides after', ({ latencyMs }) => latencyMs.p95),
  decisionMsP99: row('Time to a decision, 99th percentile', 'ms', 'decides after', ({ latencyMs }) => latencyMs.p99)
})
