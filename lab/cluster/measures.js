/** Measures of several primaries, and of what happens to a feed while its servers are replaced or its slots move. */
import { CPU, HIGHER, per, rowsOf, THROUGHPUT } from '../analysis/measure.js'

const row = rowsOf(({ disturbed }) => disturbed)
const ofNodes = rowsOf(({ nodes }) => nodes.length > 0 ? nodes : null)
const ofSample = rowsOf((sample) => sample)

/** @param {import('../servers/figures.js').SampleNode[]} nodes @param {number} items @returns {number | null} us */
const cpuPerItem = (nodes, items) => per(nodes.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0) * 1e6, items)

/** @param {import('../servers/figures.js').SampleNode[]} nodes */
const primariesIn = (nodes) => nodes.filter(({ role }) => role === 'primary')

/** @type {Record<string, import('../analysis/measure.js').Measure>} */
export const CLUSTER_MEASURES = Object.freeze({
  primariesCpuMicrosPerItem: ofNodes('CPU time of all primaries per item', 'us', 'costs',
    (nodes, { items }) => cpuPerItem(primariesIn(nodes), items), CPU),
  serversCpuMicrosPerItem: ofNodes('CPU time of all servers per item', 'us', 'costs', (nodes, { items }) => cpuPerItem(nodes, items), CPU),
  busiestPrimaryPercent: ofNodes('CPU of the busiest primary', '% of a core', 'costs',
    (nodes) => primariesIn(nodes).length > 0 ? Math.max(...primariesIn(nodes).map(({ cpuPercent }) => cpuPercent)) : null, CPU),
  idlestPrimaryPercent: ofNodes('CPU of the idlest primary', '% of a core', 'costs',
    (nodes) => primariesIn(nodes).length > 0 ? Math.min(...primariesIn(nodes).map(({ cpuPercent }) => cpuPercent)) : null, CPU),
  itemsPerBatch: ofSample('Items per batch', 'items', 'sends',
    ({ items, batches }) => items > 0 ? per(items, batches) : null, HIGHER),
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
  itemsPerSecondMoving: row('Items acknowledged per second while slots move', 'items/s', 'reaches',
    ({ itemsPerSecond }) => itemsPerSecond, THROUGHPUT),
  writesPerSecondMoving: row('Commands per second that write, while slots move', '/s', 'reaches',
    ({ writesPerSecond }) => writesPerSecond, THROUGHPUT)
})
