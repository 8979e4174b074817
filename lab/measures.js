/**
 * What can be read from a sample: one row for each measure. A measure without a value in a sample (no replicas, no items, an
 * engine that does not report it) is null, never 0.
 *
 * `verb` is what an arm does in the sentence of a ratio: "`values` costs 0.58 x `ids`". `noun` is what it has in the title of a
 * chart: "Values: 58 % of the CPU of ids".
 *
 * @typedef {{ title: string, unit: string, verb: string, noun?: string, isBetter?: 'higher', of: (sample: Sample) => number | null }}
 *   Measure `isBetter`: default lower
 * @typedef {import('./servers/figures.js').SampleNode} SampleNode
 * @typedef {import('./sample.js').Sample} Sample
 */
import { mean, median } from 'simple-statistics'
import { growthOf } from './serving/following-figures.js'

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
    of: ({ items, seconds }) => per(items, seconds)
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
  requestsPerSecond: {
    title: 'Responses per second',
    unit: 'responses/s',
    verb: 'reaches',
    noun: 'throughput',
    isBetter: 'higher',
    of: ({ serving }) => serving?.requestsPerSecond ?? null
  },
  servingCpuMicrosPerRequest: {
    title: 'Serving CPU time per request',
    unit: 'us',
    verb: 'costs',
    noun: 'CPU',
    of: ({ serving }) => serving?.cpuMicrosPerRequest ?? null
  },
  servingCpuPercent: {
    title: 'Serving CPU',
    unit: '% of a core',
    verb: 'costs',
    noun: 'CPU',
    of: ({ serving }) => serving ? per(serving.cpuSeconds * 100, serving.seconds) : null
  },
  servingCpuMicrosPerItem: {
    title: 'Serving CPU time per written item',
    unit: 'us',
    verb: 'costs',
    of: ({ serving, items, seconds }) => serving ? per(serving.cpuSeconds * 1e6, serving.seconds * items / seconds) : null
  },
  servingMemoryBytes: {
    title: 'Serving memory', unit: 'bytes', verb: 'holds', of: ({ serving }) => serving?.memoryBytes ?? null
  },
  latencyMsP50: {
    title: 'Response time, median',
    unit: 'ms',
    verb: 'responds in',
    of: ({ serving }) => serving?.latencyMs?.p50 ?? null
  },
  latencyMsP99: {
    title: 'Response time, 99th percentile',
    unit: 'ms',
    verb: 'responds in',
    of: ({ serving }) => serving?.latencyMs?.p99 ?? null
  },
  freshnessMsP50: {
    title: 'Freshness: from append to visible in a response, median',
    unit: 'ms',
    verb: 'shows an item after',
    noun: 'delay',
    of: ({ serving }) => serving?.freshness?.p50 ?? null
  },
  freshnessMsP99: {
    title: 'Freshness: from append to visible in a response, 99th percentile',
    unit: 'ms',
    verb: 'shows an item after',
    noun: 'delay',
    of: ({ serving }) => serving?.freshness?.p99 ?? null
  },
  betweenProbesMsP99: {
    title: 'Interval between two freshness probes, 99th percentile',
    unit: 'ms',
    verb: 'is probed every',
    of: ({ serving }) => serving?.freshness?.betweenMs.p99 ?? null
  },
  everythingMs: {
    title: 'All live items, to the last byte',
    unit: 'ms',
    verb: 'takes',
    noun: 'time',
    of: ({ serving }) => middle(serving?.everything?.lastMs)
  },
  everythingFirstByteMs: {
    title: 'All live items, to the first byte',
    unit: 'ms',
    verb: 'begins after',
    of: ({ serving }) => middle(serving?.everything?.firstMs)
  },
  everythingDelayMsMax: {
    title: 'Event loop delay while all live items are sent, maximum',
    unit: 'ms',
    verb: 'delays others by',
    of: ({ serving }) => serving?.everything?.delayMs.length ? Math.max(...serving.everything.delayMs) : null
  },
  everythingItems: {
    title: 'Items in a response with all live items',
    unit: 'items',
    verb: 'sends',
    of: ({ serving }) => middle(serving?.everything?.items)
  },
  startUpMs: {
    title: 'Start-up time of a reader',
    unit: 'ms',
    verb: 'is ready after',
    of: ({ serving }) => serving?.everything?.startUpMs ?? null
  },
  deliveryMsP50: {
    title: 'Delivery: from append to a following client, median',
    unit: 'ms',
    verb: 'delivers an item after',
    noun: 'delay',
    of: ({ serving }) => serving?.following?.delayMs?.p50 ?? null
  },
  deliveryMsP99: {
    title: 'Delivery: from append to a following client, 99th percentile',
    unit: 'ms',
    verb: 'delivers an item after',
    noun: 'delay',
    of: ({ serving }) => serving?.following?.delayMs?.p99 ?? null
  },
  newestMsP99: {
    title: 'Delivery of the newest item of an event, 99th percentile',
    unit: 'ms',
    verb: 'delivers the newest after',
    of: ({ serving }) => serving?.following?.newestMs?.p99 ?? null
  },
  eventsPerSecond: {
    title: 'Events or responses to clients per second',
    unit: 'events/s',
    verb: 'sends',
    isBetter: 'higher',
    of: ({ serving }) => serving?.following ? per(serving.following.events, serving.seconds) : null
  },
  deliveredBytesPerSecond: {
    title: 'Bytes to clients per second',
    unit: 'bytes/s',
    verb: 'sends',
    of: ({ serving }) => serving?.following ? per(serving.following.bytes, serving.seconds) : null
  },
  servingCpuMicrosPerEvent: {
    title: 'Serving CPU time per event or response',
    unit: 'us',
    verb: 'costs',
    of: ({ serving }) => serving?.following ? per(serving.cpuSeconds * 1e6, serving.following.events) : null
  },
  servingCpuMillisPerMegabyte: {
    title: 'Serving CPU time per megabyte',
    unit: 'ms',
    verb: 'costs',
    of: ({ serving }) => serving?.following ? per(serving.cpuSeconds * 1e9, serving.following.bytes) : null
  },
  servingMemoryGrowthBytes: {
    title: 'Serving memory, growth over the window',
    unit: 'bytes',
    verb: 'grows by',
    of: ({ serving }) => serving?.following ? growthOf(serving.following.memoryBytes) : null
  },
  servingLiveGrowthBytes: {
    title: 'Serving memory in use after garbage collection, growth over the window',
    unit: 'bytes',
    verb: 'grows by',
    of: ({ serving }) => serving?.following ? serving.following.liveBytes[1] - serving.following.liveBytes[0] : null
  },
  servingDelayMsP99: {
    title: 'Event loop delay of serving, 99th percentile',
    unit: 'ms',
    verb: 'is delayed by',
    of: ({ serving }) => serving?.following?.loopDelayMsP99 ?? null
  },
  clientLoopPercent: {
    title: 'Event loop utilization of the client',
    unit: '% of the time',
    verb: 'takes of its client',
    of: ({ serving }) => serving ? serving.client.loopUse * 100 : null
  },
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
const perItem = ({ items }, amount) => amount === null ? null : per(amount, items)

/** @param {number[] | undefined} values */
const middle = (values) => values?.length ? median(values) : null

/** @param {number} amount @param {number} among @returns {number | null} */
const per = (amount, among) => among > 0 && Number.isFinite(amount) ? amount / among : null
