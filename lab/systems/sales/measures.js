/** Measures of sales. @type {Record<string, import('../../analysis/measures.js').Measure>} */
export const FIRST_COME_MEASURES = Object.freeze({
  repliesPerSecond: {
    title: 'People who learn the outcome, per second',
    unit: 'people/s',
    verb: 'tells',
    noun: 'replies',
    isBetter: 'higher',
    of: ({ sales }) => sales ? sales.people / sales.seconds : null
  },
  selloutMs: {
    title: 'Time until the last unit is sold', unit: 'ms', verb: 'sells out after', of: ({ sales }) => sales?.selloutMs ?? null
  },
  outcomeMsP99: {
    title: 'Time until a person knows, 99th percentile', unit: 'ms', verb: 'tells after', of: ({ sales }) => sales?.latencyMs.p99 ?? null
  },
  outcomeMsP95: {
    title: 'Time until a person knows, 95th percentile', unit: 'ms', verb: 'tells after', of: ({ sales }) => sales?.latencyMs.p95 ?? null
  },
  outcomeMsMean: {
    title: 'Time until a person knows, mean', unit: 'ms', verb: 'tells after', of: ({ sales }) => sales?.latencyMs.mean ?? null
  },
  winnerMsP99: {
    title: 'Time until a winner knows, 99th percentile', unit: 'ms', verb: 'tells after', of: ({ sales }) => sales?.winnersMs.p99 ?? null
  },
  loserMsP99: {
    title: 'Time until a loser knows, 99th percentile', unit: 'ms', verb: 'tells after', of: ({ sales }) => sales?.losersMs.p99 ?? null
  },
  requestsPerPerson: {
    title: 'Requests per person', unit: 'requests', verb: 'needs', of: ({ sales }) => sales ? sales.requests / sales.people : null
  },
  everybodyMs: {
    title: 'Time until everybody knows, or gave up', unit: 'ms', verb: 'ends after', of: ({ sales }) => sales?.everybodyMs ?? null
  },
  unansweredPerThousand: {
    title: 'People who never learn the outcome, per thousand',
    unit: 'people',
    verb: 'leaves without an answer',
    of: ({ sales }) => sales ? 1000 * sales.unanswered / sales.people : null
  },
  untruePerThousand: {
    title: 'People who are told something untrue, per thousand',
    unit: 'people',
    verb: 'misleads',
    of: ({ sales }) => sales ? 1000 * sales.untrue / sales.people : null
  },
  neighbourMsP99: {
    title: 'Response time of a neighbouring route during the burst, 99th percentile',
    unit: 'ms',
    verb: 'answers neighbours after',
    of: ({ sales }) => sales?.neighbours?.ms.p99 ?? null
  },
  neighbourTimesIdle: {
    title: 'The same, compared with no burst',
    unit: 'x',
    verb: 'slows neighbours by',
    of: ({ sales }) => sales?.neighbours?.idleMs.p99 ? sales.neighbours.ms.p99 / sales.neighbours.idleMs.p99 : null
  },
  waitingForConnection: {
    title: 'Requests that waited for a connection to the database, at most',
    unit: 'requests',
    verb: 'lets wait',
    of: ({ sales }) => sales?.waiting ?? null
  }
})
