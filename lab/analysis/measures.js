/**
 * What can be read from a sample: one row for each measure. A measure without a value in a sample (no replicas, no items, an
 * engine that does not report it) is null, never 0.
 *
 * `verb` is what an arm does in the sentence of a ratio: "`values` costs 0.58 x `ids`". `noun` is what it has in the title of a
 * chart: "Values: 58 % of the CPU of ids".
 *
 * @typedef {{ title: string, unit: string, verb: string, noun?: string, isBetter?: 'higher', of: (sample: Sample) => number | null }}
 *   Measure `isBetter`: default lower
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
import { per, SERVING_MEASURES } from '../serving/measures.js'

/** @type {Record<string, Measure>} by name; the first of a plan is its main measure */
export const MEASURES = Object.freeze({
  primaryCpuMicrosPerItem: {
    title: 'Primary CPU time per item',
    unit: 'us',
    verb: 'costs',
    noun: 'CPU',
    of: (sample) => ofNodes(sample, 'primary', ({ cpuMicrosPerItem }) => cpuMicrosPerItem)
  },
  replicaCpuMicrosPerItem: {
    title: 'Replica CPU time per item',
    unit: 'us',
    verb: 'costs a replica',
    noun: 'replica CPU',
    of: (sample) => ofNodes(sample, 'replica', ({ cpuMicrosPerItem }) => cpuMicrosPerItem)
  },
  primaryCpuPercent: {
    title: 'Primary CPU',
    unit: '% of a core',
    verb: 'costs',
    noun: 'CPU',
    of: (sample) => ofNodes(sample, 'primary', ({ cpuPercent }) => cpuPercent)
  },
  replicaCpuPercent: {
    title: 'Replica CPU',
    unit: '% of a core',
    verb: 'costs a replica',
    noun: 'replica CPU',
    of: (sample) => ofNodes(sample, 'replica', ({ cpuPercent }) => cpuPercent)
  },
  itemsPerSecond: {
    title: 'Items acknowledged per second',
    unit: 'items/s',
    verb: 'reaches',
    noun: 'throughput',
    isBetter: 'higher',
    of: (sample) => per(decidedOf(sample), sample.seconds)
  },
  behindMsP99: {
    title: 'Flushes behind, 99th percentile',
    unit: 'ms',
    verb: 'is behind by',
    of: ({ behindMs }) => behindMs?.p99 ?? null
  },
  flushMsP50: {
    title: 'Time to acknowledge a batch, median',
    unit: 'ms',
    verb: 'acknowledges a batch after',
    of: ({ flushMs }) => flushMs?.p50 ?? null
  },
  flushMsP99: {
    title: 'Time to acknowledge a batch, 99th percentile',
    unit: 'ms',
    verb: 'acknowledges a batch after',
    of: ({ flushMs }) => flushMs?.p99 ?? null
  },
  replicaLagMsP99: {
    title: 'Replica lag, 99th percentile',
    unit: 'ms',
    verb: 'has a lag of',
    noun: 'replica lag',
    of: ({ lagMs }) => lagMs?.p99 ?? null
  },
  primaryOutBytesPerSecond: {
    title: 'Bytes sent by the primary per second',
    unit: 'bytes/s',
    verb: 'sends',
    noun: 'bytes',
    of: (sample) => per(ofNodes(sample, 'primary', ({ netOutputBytes }) => netOutputBytes) ?? NaN, sample.windowSeconds ?? 0)
  },
  replicaOutBytesPerSecond: {
    title: 'Bytes sent by a replica per second',
    unit: 'bytes/s',
    verb: 'sends',
    noun: 'bytes',
    of: (sample) => per(ofNodes(sample, 'replica', ({ netOutputBytes }) => netOutputBytes) ?? NaN, sample.windowSeconds ?? 0)
  },
  ...SERVING_MEASURES,
  ...CONTENTION_MEASURES,
  ...FIRST_COME_MEASURES,
  ...PRICE_MEASURES,
  ...ORDER_MEASURES,
  ...CLUSTER_MEASURES,
  netBytesPerItem: {
    title: 'Bytes to the primary per item',
    unit: 'bytes',
    verb: 'sends',
    noun: 'bytes',
    of: (sample) => perItem(sample, ofNodes(sample, 'primary', ({ netInputBytes }) => netInputBytes))
  },
  replicatedBytesPerItem: {
    title: 'Bytes replicated per item, to each replica',
    unit: 'bytes',
    verb: 'replicates',
    noun: 'bytes',
    of: (sample) => perItem(sample, ofNodes(sample, 'primary', ({ replicatedBytes }) => replicatedBytes))
  },
  generatorCpuMicrosPerItem: {
    title: 'CPU time of the load per item',
    unit: 'us',
    verb: 'costs the writer',
    noun: "writer's CPU",
    of: (sample) => sample.generator ? perItem(sample, sample.generator.cpuSeconds * 1e6) : null
  },
  commandsPerItem: {
    title: 'Commands per item',
    unit: 'commands',
    verb: 'sends',
    of: (sample) => perItem(sample, ofNodes(sample, 'primary', ({ commands }) => commands))
  },
  scriptMicrosPerItem: {
    title: 'Script time per item',
    unit: 'us',
    verb: 'spends in scripts',
    of: (sample) => perItem(sample, ofNodes(sample, 'primary', ({ scriptSeconds }) => scriptSeconds === null ? null : scriptSeconds * 1e6))
  },
  memoryBytesPerLiveItem: {
    title: 'Memory of the keys per live item',
    unit: 'bytes',
    verb: 'holds',
    of: ({ dataBytes, ledger }) => per(dataBytes ?? NaN, ledger?.liveItems ?? 0)
  },
  memoryBytesPerVersion: {
    title: 'Memory of the keys per stored version',
    unit: 'bytes',
    verb: 'holds',
    of: ({ dataBytes, ledger }) => per(dataBytes ?? NaN, ledger?.stored ?? 0)
  },
  usedMemoryBytes: {
    title: 'Memory of the primary at the end',
    unit: 'bytes',
    verb: 'holds',
    of: (sample) => ofNodes(sample, 'primary', ({ usedMemoryBytes }) => usedMemoryBytes)
  }
})

/** Counters of the servers and the wire: only these can show a cause (L18). */
export const COUNTERS = Object.freeze(['commandsPerItem', 'netBytesPerItem', 'replicatedBytesPerItem', 'scriptMicrosPerItem'])

/**
 * The mean over the nodes of a role; null when there are none, or one of them has no value.
 * @param {Sample} sample @param {'primary' | 'replica'} role @param {(node: SampleNode) => number | null} read
 * @returns {number | null}
 */
function ofNodes ({ nodes }, role, read) {
  const values = nodes.filter((node) => node.role === role).map(read)
  return values.length > 0 && values.every((value) => Number.isFinite(value)) ? mean(/** @type {number[]} */ (values)) : null
}

/** @param {Sample} sample @param {number | null} amount */
const perItem = (sample, amount) => amount === null ? null : per(amount, decidedOf(sample))
