/**
 * What can be read from a sample: one row for each measure. A measure without a value in a sample (no replicas, no items, an
 * engine that does not report it) is null, never 0.
 *
 * `verb` is what an arm does in the sentence of a ratio: "`values` costs 0.58 x `ids`". `noun` is what it has in the title of a
 * chart: "Values: 58 % of the CPU of ids".
 *
 * @typedef {import('./measure.js').Measure} Measure
 * @typedef {import('../servers/figures.js').SampleNode} SampleNode
 * @typedef {import('../run/sample.js').Sample} Sample
 */
import { mean } from 'simple-statistics'
import { decidedOf } from '../../src/pipeline/index.js'
import { CLUSTER_MEASURES } from '../cluster/measures.js'
import { CONTENTION_MEASURES } from '../systems/auctions/measures.js'
import { FIRST_COME_MEASURES } from '../systems/sales/measures.js'
import { ORDER_MEASURES } from '../systems/orders/measures.js'
import { PRICE_MEASURES } from '../systems/prices/measures.js'
import { SERVING_MEASURES } from '../serving/measures.js'
import { CPU, per, rowsOf, THROUGHPUT } from './measure.js'

const BYTES = Object.freeze({ noun: 'bytes' })
const OF_REPLICA = Object.freeze({ noun: 'replica CPU' })

const row = rowsOf((sample) => sample)

/**
 * The mean over the nodes of a role; null when there are none, or one of them has no value.
 * @param {'primary' | 'replica'} role @param {(node: SampleNode) => number | null} read
 * @returns {(sample: Sample) => number | null}
 */
const ofNodes = (role, read) => ({ nodes }) => {
  const values = nodes.filter((node) => node.role === role).map(read)
  return values.length > 0 && values.every((value) => Number.isFinite(value)) ? mean(/** @type {number[]} */ (values)) : null
}

/** @param {(sample: Sample) => number | null} read @returns {(sample: Sample) => number | null} of each item */
const perItem = (read) => (sample) => per(read(sample) ?? NaN, decidedOf(sample))

/** @param {(sample: Sample) => number | null} read @returns {(sample: Sample) => number | null} */
const perSecond = (read) => (sample) => per(read(sample) ?? NaN, sample.windowSeconds ?? 0)

/** @param {Sample} sample @returns {number | null} null: without seconds of its window */
function driftOf ({ cpuOverTime: [seconds = []] = [] }) {
  const half = Math.floor(seconds.length / 2)
  return half === 0 ? null : per(mean(seconds.slice(half)), mean(seconds.slice(0, half)))
}

/** @type {Record<string, Measure>} by name; the first of a plan is its main measure */
export const MEASURES = Object.freeze({
  primaryCpuMicrosPerItem: row('Primary CPU time per item', 'us', 'costs',
    ofNodes('primary', ({ cpuMicrosPerItem }) => cpuMicrosPerItem), CPU),
  replicaCpuMicrosPerItem: row('Replica CPU time per item', 'us', 'costs a replica',
    ofNodes('replica', ({ cpuMicrosPerItem }) => cpuMicrosPerItem), OF_REPLICA),
  primaryCpuPercent: row('Primary CPU', '% of a core', 'costs', ofNodes('primary', ({ cpuPercent }) => cpuPercent), CPU),
  replicaCpuPercent: row('Replica CPU', '% of a core', 'costs a replica', ofNodes('replica', ({ cpuPercent }) => cpuPercent), OF_REPLICA),
  primaryCpuDrift: row('Primary CPU in the second half of a window, to that in the first', 'x', 'drifts to', driftOf),
  itemsPerSecond: row('Items acknowledged per second', 'items/s', 'reaches',
    (sample) => per(decidedOf(sample), sample.seconds), THROUGHPUT),
  behindMsP99: row('Flushes behind, 99th percentile', 'ms', 'is behind by', ({ behindMs }) => behindMs?.p99),
  flushMsP50: row('Time to acknowledge a batch, median', 'ms', 'acknowledges a batch after', ({ flushMs }) => flushMs?.p50),
  flushMsP99: row('Time to acknowledge a batch, 99th percentile', 'ms', 'acknowledges a batch after', ({ flushMs }) => flushMs?.p99),
  replicaLagMsP99: row('Replica lag, 99th percentile', 'ms', 'has a lag of', ({ lagMs }) => lagMs?.p99, { noun: 'replica lag' }),
  primaryOutBytesPerSecond: row('Bytes sent by the primary per second', 'bytes/s', 'sends',
    perSecond(ofNodes('primary', ({ netOutputBytes }) => netOutputBytes)), BYTES),
  replicaOutBytesPerSecond: row('Bytes sent by a replica per second', 'bytes/s', 'sends',
    perSecond(ofNodes('replica', ({ netOutputBytes }) => netOutputBytes)), BYTES),
  ...SERVING_MEASURES,
  ...CONTENTION_MEASURES,
  ...FIRST_COME_MEASURES,
  ...PRICE_MEASURES,
  ...ORDER_MEASURES,
  ...CLUSTER_MEASURES,
  netBytesPerItem: row('Bytes to the primary per item', 'bytes', 'sends',
    perItem(ofNodes('primary', ({ netInputBytes }) => netInputBytes)), BYTES),
  replicatedBytesPerItem: row('Bytes replicated per item, to each replica', 'bytes', 'replicates',
    perItem(ofNodes('primary', ({ replicatedBytes }) => replicatedBytes)), BYTES),
  generatorCpuMicrosPerItem: row('CPU time of the load per item', 'us', 'costs the writer',
    perItem(({ generator }) => generator ? generator.cpuSeconds * 1e6 : null), { noun: "writer's CPU" }),
  commandsPerItem: row('Commands per item', 'commands', 'sends', perItem(ofNodes('primary', ({ commands }) => commands))),
  scriptMicrosPerItem: row('Script time per item', 'us', 'spends in scripts',
    perItem(ofNodes('primary', ({ scriptSeconds }) => scriptSeconds === null ? null : scriptSeconds * 1e6))),
  memoryBytesPerLiveItem: row('Memory of the keys per live item', 'bytes', 'holds',
    ({ dataBytes, ledger }) => per(dataBytes ?? NaN, ledger?.liveItems ?? 0)),
  memoryBytesPerVersion: row('Memory of the keys per stored version', 'bytes', 'holds',
    ({ dataBytes, ledger }) => per(dataBytes ?? NaN, ledger?.stored ?? 0)),
  usedMemoryBytes: row('Memory of the primary at the end', 'bytes', 'holds', ofNodes('primary', ({ usedMemoryBytes }) => usedMemoryBytes))
})

/** Counters of the servers and the wire: only these can show a cause (L18). */
export const COUNTERS = Object.freeze(['commandsPerItem', 'netBytesPerItem', 'replicatedBytesPerItem', 'scriptMicrosPerItem'])
