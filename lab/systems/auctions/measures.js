/** Measures of bids. @type {Record<string, import('../../analysis/measures.js').Measure>} */
export const CONTENTION_MEASURES = Object.freeze({
  decisionsPerSecond: {
    title: 'Decisions per second',
    unit: 'decisions/s',
    verb: 'reaches',
    noun: 'decisions',
    isBetter: 'higher',
    of: ({ decided, items, seconds }) => decided && seconds > 0 ? items / seconds : null
  },
  acceptedPerSecond: {
    title: 'Accepted bids per second',
    unit: 'bids/s',
    verb: 'accepts',
    noun: 'accepted bids',
    isBetter: 'higher',
    of: ({ decided, seconds }) => decided && seconds > 0 ? decided.accepted / seconds : null
  },
  serverCpuMicrosPerBid: {
    title: 'CPU time of the primary per bid',
    unit: 'us',
    verb: 'costs',
    noun: 'CPU',
    of: ({ decided, nodes }) => decided ? nodes.find(({ role }) => role === 'primary')?.cpuMicrosPerItem ?? null : null
  },
  callsPerBid: {
    title: 'Requests to the server per bid',
    unit: 'requests',
    verb: 'sends',
    of: ({ decided, items }) => decided && items > 0 ? decided.calls / items : null
  },
  attemptsPerAccepted: {
    title: 'Attempts per accepted bid',
    unit: 'attempts',
    verb: 'needs',
    of: ({ decided }) => decided?.attemptsPerAccepted ?? null
  },
  decisionMsP50: {
    title: 'Time to a decision, median', unit: 'ms', verb: 'decides after', of: ({ decided }) => decided?.latencyMs.p50 ?? null
  },
  decisionMsP95: {
    title: 'Time to a decision, 95th percentile', unit: 'ms', verb: 'decides after', of: ({ decided }) => decided?.latencyMs.p95 ?? null
  },
  decisionMsP99: {
    title: 'Time to a decision, 99th percentile', unit: 'ms', verb: 'decides after', of: ({ decided }) => decided?.latencyMs.p99 ?? null
  }
})
