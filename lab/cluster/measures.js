/** Measures of several primaries, and of what happens to a feed while its servers are replaced or its slots move. */

/** @typedef {import('../run/sample.js').Sample} Sample */
/** @typedef {import('./figures.js').DisturbedFigures} DisturbedFigures */

const sum = (/** @type {number[]} */ values) => values.reduce((total, one) => total + one, 0)

/** @param {Sample} sample @param {(role: string) => boolean} which @returns {number | null} us */
const cpuPerItem = ({ nodes, items }, which) => items > 0 && nodes.length > 0
  ? sum(nodes.filter(({ role }) => which(role)).map(({ cpuSeconds }) => cpuSeconds)) * 1e6 / items
  : null

/** @param {string} title @param {string} unit @param {string} verb @param {(disturbed: DisturbedFigures) => number | null} read */
const row = (title, unit, verb, read) => ({
  title, unit, verb, of: (/** @type {Sample} */ { disturbed }) => disturbed ? read(disturbed) : null
})

/** @type {Record<string, import('../analysis/measures.js').Measure>} */
export const CLUSTER_MEASURES = Object.freeze({
  primariesCpuMicrosPerItem: {
    title: 'CPU time of all primaries per item',
    unit: 'us',
    verb: 'costs',
    noun: 'CPU',
    of: (sample) => cpuPerItem(sample, (role) => role === 'primary')
  },
  serversCpuMicrosPerItem: {
    title: 'CPU time of all servers per item', unit: 'us', verb: 'costs', noun: 'CPU', of: (sample) => cpuPerItem(sample, () => true)
  },
  busiestPrimaryPercent: {
    title: 'CPU of the busiest primary',
    unit: '% of a core',
    verb: 'costs',
    noun: 'CPU',
    of: ({ nodes }) => {
      const primaries = nodes.filter(({ role }) => role === 'primary')
      return primaries.length > 0 ? Math.max(...primaries.map(({ cpuPercent }) => cpuPercent)) : null
    }
  },
  itemsPerBatch: {
    title: 'Items per batch',
    unit: 'items',
    verb: 'sends',
    isBetter: 'higher',
    of: ({ items, batches }) => items > 0 && batches > 0 ? items / batches : null
  },
  writerPauseMs: row('Longest time in which nothing was acknowledged', 'ms', 'pauses writers for', ({ writerPauseMs }) => writerPauseMs),
  deliveryPauseMs: row('Longest time in which nothing was delivered', 'ms', 'pauses delivery for',
    ({ deliveryPauseMs }) => deliveryPauseMs),
  recoveryMs: row("The servers' own recovery", 'ms', 'recovers after', ({ recoveryMs }) => recoveryMs),
  wholeMs: row('Time until the new primary has a replica in sync', 'ms', 'is whole after', ({ wholeMs }) => wholeMs),
  clientAddsMs: row("Pause of delivery beyond the servers' own recovery", 'ms', 'adds',
    ({ deliveryPauseMs, recoveryMs }) => recoveryMs === null ? null : deliveryPauseMs - recoveryMs),
  itemsLost: row('Acknowledged items lost', 'items', 'loses', ({ lost }) => lost),
  batchesAgain: row('Batches sent again', 'batches', 'sends again', ({ retried }) => retried),
  slotMs: row('Time to move a slot', 'ms', 'moves a slot in', ({ slots, movingMs }) => slots > 0 ? movingMs / slots : null),
  slotsMoved: row('Slots moved', 'slots', 'moves', ({ slots }) => slots),
  movesFailed: row('Moves that failed and were repeated', 'moves', 'repeats', ({ movesFailed }) => movesFailed),
  redirects: row('Redirects', 'replies', 'causes', ({ redirects }) => redirects),
  itemsPerSecondMoving: {
    title: 'Items acknowledged per second while slots move',
    unit: 'items/s',
    verb: 'reaches',
    noun: 'throughput',
    isBetter: 'higher',
    of: ({ disturbed }) => disturbed?.itemsPerSecond ?? null
  },
  writesPerSecondMoving: {
    title: 'Commands per second that write, while slots move',
    unit: '/s',
    verb: 'reaches',
    noun: 'throughput',
    isBetter: 'higher',
    of: ({ disturbed }) => disturbed?.writesPerSecond ?? null
  }
})
