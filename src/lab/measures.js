/**
 * What can be read from a sample: one row a measure. A measure that a sample has no value for (no replicas, no items, an
 * engine that does not say) is null there, never 0.
 *
 * `verb` is what an arm does in a sentence of a ratio: "`values` costs 0.58 x `ids`".
 *
 * @typedef {{ title: string, unit: string, verb: string, of: (sample: Sample) => number | null }} Measure
 * @typedef {import('./servers/figures.js').SampleNode} SampleNode
 *
 * @typedef {object} Sample one arm at one level in one round. When it ended by a fault, numbers are 0, lists empty, and
 *   `ledger`, `behindMs`, `flushMs`, `generator`, `machine` null
 * @property {string} arm
 * @property {string} level
 * @property {number} round from 1
 * @property {string} startedAt ISO time
 * @property {number} seconds of the window, as the load has it
 * @property {number} [windowSeconds] between the figures before and after, by which percent of a core are reckoned
 * @property {number | null} planned items of the window; null = as fast as it goes
 * @property {number} offered items
 * @property {number} items acknowledged in the window
 * @property {Record<string, number>} refused items by code
 * @property {number} dropped items
 * @property {number} failed items
 * @property {number} retried items sent again
 * @property {number} batches
 * @property {number} bytes
 * @property {number} itemsAcknowledged since the load began, warm-up included
 * @property {number} itemsPresent of these, by what the servers hold
 * @property {{ acknowledged: number, versions: number, missing: number, foreign: number, misplaced: number, detail: string[], nodesEqual?: boolean,
 *   verified?: number, liveItems?: number, stored?: number, released?: number, doubled?: number }} ledger `verified`: of the versions that must
 *   be there, which were found and looked at, on each node; the others: see ledger.js
 * @property {number | null} [dataBytes] memory that the keys took on the primary when all was over; absent on servers of others
 * @property {{ p50: number, p95: number, p99: number, max: number } | null} behindMs how late flushes started, by name
 * @property {Sample['behindMs']} [flushMs] how long they took until they were acknowledged; absent in results before 2026-11-22
 * @property {{ processes: number, cpuSeconds: number, loopUse: number }} generator `loopUse`: largest share of an event loop, 0..1
 * @property {SampleNode[]} nodes
 * @property {{ loadAverage: number, stealPercent: number | null, otherCores: number | null }} machine
 * @property {import('./serving/figures.js').ServingFigures} [serving] what was asked over HTTP; absent = nothing was
 * @property {string[]} marks what a reader should know: see marks.js
 * @property {string[]} [notes] what a reader should know of servers that are not ours
 * @property {{ name: string, ok: boolean, detail: string }[]} invariants
 * @property {boolean} valid
 * @property {null | { code: string, message: string }} error by which the measurement ended
 */
import { mean, median } from 'simple-statistics'
import { growthOf } from './serving/following-figures.js'

/** @type {Record<string, Measure>} by name; plans name them, the first of a plan is its main one */
export const MEASURES = Object.freeze({
  primaryCpuMicrosPerItem: {
    title: 'Primary processor time an item', unit: 'us', verb: 'costs', of: (sample) => ofNodes(sample, 'primary', ({ cpuMicrosPerItem }) => cpuMicrosPerItem)
  },
  replicaCpuMicrosPerItem: {
    title: 'Replica processor time an item', unit: 'us', verb: 'costs a replica', of: (sample) => ofNodes(sample, 'replica', ({ cpuMicrosPerItem }) => cpuMicrosPerItem)
  },
  primaryCpuPercent: {
    title: 'Primary processor time', unit: '% of a core', verb: 'costs', of: (sample) => ofNodes(sample, 'primary', ({ cpuPercent }) => cpuPercent)
  },
  replicaCpuPercent: {
    title: 'Replica processor time', unit: '% of a core', verb: 'costs a replica', of: (sample) => ofNodes(sample, 'replica', ({ cpuPercent }) => cpuPercent)
  },
  itemsPerSecond: {
    title: 'Items acknowledged a second', unit: 'items/s', verb: 'reaches', of: ({ items, seconds }) => each(items, seconds)
  },
  behindMsP50: {
    title: 'Flushes behind, median', unit: 'ms', verb: 'is behind by', of: ({ behindMs }) => behindMs?.p50 ?? null
  },
  behindMsP99: {
    title: 'Flushes behind, 99th percentile', unit: 'ms', verb: 'is behind by', of: ({ behindMs }) => behindMs?.p99 ?? null
  },
  flushMsP50: {
    title: 'From sending a batch to its acknowledgement, median', unit: 'ms', verb: 'has a batch acknowledged after', of: ({ flushMs }) => flushMs?.p50 ?? null
  },
  flushMsP99: {
    title: 'From sending a batch to its acknowledgement, 99th percentile', unit: 'ms', verb: 'has a batch acknowledged after', of: ({ flushMs }) => flushMs?.p99 ?? null
  },
  requestsPerSecond: {
    title: 'Requests answered a second', unit: 'requests/s', verb: 'reaches', of: ({ serving }) => serving?.requestsPerSecond ?? null
  },
  servingCpuMicrosPerRequest: {
    title: 'Processor time of serving a request', unit: 'us', verb: 'costs', of: ({ serving }) => serving?.cpuMicrosPerRequest ?? null
  },
  servingCpuPercent: {
    title: 'Processor time of serving', unit: '% of a core', verb: 'costs', of: ({ serving }) => serving ? each(serving.cpuSeconds * 100, serving.seconds) : null
  },
  servingCpuMicrosPerItem: {
    title: 'Processor time of serving for an item that was written', unit: 'us', verb: 'costs', of: ({ serving, items, seconds }) => serving ? each(serving.cpuSeconds * 1e6, serving.seconds * items / seconds) : null
  },
  servingMemoryBytes: {
    title: 'Memory of the process that serves', unit: 'bytes', verb: 'holds', of: ({ serving }) => serving?.memoryBytes ?? null
  },
  latencyMsP50: {
    title: 'Time to the end of an answer, median', unit: 'ms', verb: 'answers in', of: ({ serving }) => serving?.latencyMs?.p50 ?? null
  },
  latencyMsP99: {
    title: 'Time to the end of an answer, 99th percentile', unit: 'ms', verb: 'answers in', of: ({ serving }) => serving?.latencyMs?.p99 ?? null
  },
  freshnessMsP50: {
    title: 'From append to visible in an answer, median', unit: 'ms', verb: 'shows an item after', of: ({ serving }) => serving?.freshness?.p50 ?? null
  },
  freshnessMsP99: {
    title: 'From append to visible in an answer, 99th percentile', unit: 'ms', verb: 'shows an item after', of: ({ serving }) => serving?.freshness?.p99 ?? null
  },
  betweenProbesMsP99: {
    title: 'Between two looks at what is visible, 99th percentile', unit: 'ms', verb: 'is looked at every', of: ({ serving }) => serving?.freshness?.betweenMs.p99 ?? null
  },
  everythingMs: {
    title: 'All live items, to the last byte', unit: 'ms', verb: 'takes', of: ({ serving }) => middle(serving?.everything?.lastMs)
  },
  everythingFirstByteMs: {
    title: 'All live items, to the first byte', unit: 'ms', verb: 'begins after', of: ({ serving }) => middle(serving?.everything?.firstMs)
  },
  everythingDelayMsMax: {
    title: 'Event loop held up while all live items are sent, most', unit: 'ms', verb: 'holds up others for', of: ({ serving }) => serving?.everything?.delayMs.length ? Math.max(...serving.everything.delayMs) : null
  },
  everythingItems: {
    title: 'Items in an answer with all of them', unit: 'items', verb: 'sends', of: ({ serving }) => middle(serving?.everything?.items)
  },
  startUpMs: {
    title: 'From starting a reader until it is ready', unit: 'ms', verb: 'is ready after', of: ({ serving }) => serving?.everything?.startUpMs ?? null
  },
  deliveryMsP50: {
    title: 'From append to a client that follows, median', unit: 'ms', verb: 'tells of an item after', of: ({ serving }) => serving?.following?.delayMs?.p50 ?? null
  },
  deliveryMsP99: {
    title: 'From append to a client that follows, 99th percentile', unit: 'ms', verb: 'tells of an item after', of: ({ serving }) => serving?.following?.delayMs?.p99 ?? null
  },
  newestMsP99: {
    title: 'From append to a client that follows, newest item of an event, 99th percentile', unit: 'ms', verb: 'tells of the newest after', of: ({ serving }) => serving?.following?.newestMs?.p99 ?? null
  },
  eventsPerSecond: {
    title: 'Events or answers that came to clients a second', unit: 'events/s', verb: 'sends', of: ({ serving }) => serving?.following ? each(serving.following.events, serving.seconds) : null
  },
  deliveredBytesPerSecond: {
    title: 'Bytes that came to clients a second', unit: 'bytes/s', verb: 'sends', of: ({ serving }) => serving?.following ? each(serving.following.bytes, serving.seconds) : null
  },
  servingCpuMicrosPerEvent: {
    title: 'Processor time of serving an event or answer', unit: 'us', verb: 'costs', of: ({ serving }) => serving?.following ? each(serving.cpuSeconds * 1e6, serving.following.events) : null
  },
  servingCpuMillisPerMegabyte: {
    title: 'Processor time of serving a megabyte', unit: 'ms', verb: 'costs', of: ({ serving }) => serving?.following ? each(serving.cpuSeconds * 1e9, serving.following.bytes) : null
  },
  servingMemoryGrowthBytes: {
    title: 'Memory of the process that serves, growth over the window', unit: 'bytes', verb: 'grows by', of: ({ serving }) => serving?.following ? growthOf(serving.following.memoryBytes) : null
  },
  servingLiveGrowthBytes: {
    title: 'Live memory of the process that serves, growth over the window', unit: 'bytes', verb: 'grows by', of: ({ serving }) => serving?.following ? serving.following.liveBytes[1] - serving.following.liveBytes[0] : null
  },
  servingDelayMsP99: {
    title: 'Event loop of serving held up, 99th percentile', unit: 'ms', verb: 'is held up for', of: ({ serving }) => serving?.following?.loopDelayMsP99 ?? null
  },
  clientLoopPercent: {
    title: 'Event loop of the client, busy', unit: '% of the time', verb: 'takes of its client', of: ({ serving }) => serving ? serving.client.loopUse * 100 : null
  },
  netBytesPerItem: {
    title: 'Bytes sent to the primary an item', unit: 'bytes', verb: 'sends', of: (sample) => anItem(sample, ofNodes(sample, 'primary', ({ netInputBytes }) => netInputBytes))
  },
  replicatedBytesPerItem: {
    title: 'Bytes replicated an item, to each replica', unit: 'bytes', verb: 'replicates', of: (sample) => anItem(sample, ofNodes(sample, 'primary', ({ replicatedBytes }) => replicatedBytes))
  },
  generatorCpuMicrosPerItem: {
    title: 'Processor time of the load an item', unit: 'us', verb: 'costs the writer', of: (sample) => sample.generator ? anItem(sample, sample.generator.cpuSeconds * 1e6) : null
  },
  commandsPerItem: {
    title: 'Commands an item', unit: 'commands', verb: 'sends', of: (sample) => anItem(sample, ofNodes(sample, 'primary', ({ commands }) => commands))
  },
  scriptMicrosPerItem: {
    title: 'Script time an item', unit: 'us', verb: 'spends in scripts', of: (sample) => anItem(sample, ofNodes(sample, 'primary', ({ scriptSeconds }) => scriptSeconds === null ? null : scriptSeconds * 1e6))
  },
  memoryBytesPerLiveItem: {
    title: 'Memory of the keys a live item', unit: 'bytes', verb: 'holds', of: ({ dataBytes, ledger }) => each(dataBytes ?? NaN, ledger?.liveItems ?? 0)
  },
  memoryBytesPerVersion: {
    title: 'Memory of the keys a stored version', unit: 'bytes', verb: 'holds', of: ({ dataBytes, ledger }) => each(dataBytes ?? NaN, ledger?.stored ?? 0)
  },
  usedMemoryBytes: {
    title: 'Memory of the primary at the end', unit: 'bytes', verb: 'holds', of: (sample) => ofNodes(sample, 'primary', ({ usedMemoryBytes }) => usedMemoryBytes)
  }
})

/** What the servers and the wire counted: a cause is claimed only with one of these that shows it (L18). */
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
const anItem = ({ items }, amount) => amount === null ? null : each(amount, items)

/** @param {number[] | undefined} values */
const middle = (values) => values?.length ? median(values) : null

/** @param {number} amount @param {number} among @returns {number | null} */
const each = (amount, among) => among > 0 && Number.isFinite(amount) ? amount / among : null
