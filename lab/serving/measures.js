/** What can be read from the serving part of a sample (measures.js). */
import { median } from 'simple-statistics'
import { growthOf } from './following-figures.js'

/** @type {Record<string, import('../analysis/measures.js').Measure>} */
export const SERVING_MEASURES = Object.freeze({
  itemsReadPerSecond: {
    title: 'Items read per second',
    unit: 'items/s',
    verb: 'reads',
    isBetter: 'higher',
    of: ({ serving }) => serving?.itemsPerAnswer === undefined ? null : serving.itemsPerAnswer * Number(serving.requestsPerSecond)
  },
  newestAgeMsP99: {
    title: 'Age of the newest item when a page arrives, 99th percentile',
    unit: 'ms',
    verb: 'shows a newest item of',
    noun: 'age',
    of: ({ serving }) => serving?.newestAgeMs?.p99 ?? null
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
  deliveredPercent: {
    title: 'Items delivered, of those due',
    unit: '%',
    verb: 'delivers',
    isBetter: 'higher',
    of: ({ serving }) => serving?.following?.dueItems ? serving.following.items * 100 / serving.following.dueItems : null
  },
  bytesPerEvent: {
    title: 'Bytes of an event or response',
    unit: 'bytes',
    verb: 'sends',
    of: ({ serving }) => serving?.following ? per(serving.following.bytes, serving.following.events) : null
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
  }
})

/** @param {number[] | undefined} values */
const middle = (values) => values?.length ? median(values) : null

/** @param {number} amount @param {number} among @returns {number | null} */
export const per = (amount, among) => among > 0 && Number.isFinite(amount) ? amount / among : null
