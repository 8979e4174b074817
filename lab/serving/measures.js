/** What can be read from the serving part of a sample. */
import { median } from 'simple-statistics'
import { CPU, HIGHER, per, rowsOf, THROUGHPUT } from '../analysis/measure.js'
import { growthOf } from './following-figures.js'

const row = rowsOf(({ serving }) => serving)
const fresh = rowsOf(({ serving }) => serving?.freshness)
const all = rowsOf(({ serving }) => serving?.everything)
const followed = rowsOf(({ serving }) =>
  serving?.following && { ...serving.following, seconds: serving.seconds, cpuSeconds: serving.cpuSeconds })
const DELAY = Object.freeze({ noun: 'delay' })

/** @param {number[]} values */
const middle = (values) => values.length > 0 ? median(values) : null

/** @type {Record<string, import('../analysis/measure.js').Measure>} */
export const SERVING_MEASURES = Object.freeze({
  itemsReadPerSecond: row('Items read per second', 'items/s', 'reads',
    ({ itemsPerAnswer, requestsPerSecond }) => itemsPerAnswer === undefined ? null : itemsPerAnswer * Number(requestsPerSecond), HIGHER),
  replicaCpuMicrosPerItemRead: row('Replica CPU time per item read, with what it applies meanwhile', 'us', 'costs a replica',
    ({ itemsPerAnswer, requestsPerSecond, seconds }, { nodes }) => {
      const replicas = nodes.filter(({ role }) => role === 'replica')
      return replicas.length === 0 || !itemsPerAnswer
        ? null
        : per(replicas.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0) * 1e6, Number(requestsPerSecond) * seconds * itemsPerAnswer)
    }, { noun: 'replica CPU' }),
  newestAgeMsP99: row('Age of the newest item when a page arrives, 99th percentile', 'ms', 'shows a newest item of',
    ({ newestAgeMs }) => newestAgeMs?.p99, { noun: 'age' }),
  requestsPerSecond: row('Responses per second', 'responses/s', 'reaches', ({ requestsPerSecond }) => requestsPerSecond, THROUGHPUT),
  servingCpuMicrosPerRequest: row('Serving CPU time per request', 'us', 'costs', ({ cpuMicrosPerRequest }) => cpuMicrosPerRequest, CPU),
  servingCpuPercent: row('Serving CPU', '% of a core', 'costs', ({ cpuSeconds, seconds }) => per(cpuSeconds * 100, seconds), CPU),
  servingCpuMicrosPerItem: row('Serving CPU time per written item', 'us', 'costs',
    (serving, { items, seconds }) => per(serving.cpuSeconds * 1e6, serving.seconds * items / seconds)),
  servingMemoryBytes: row('Serving memory', 'bytes', 'holds', ({ memoryBytes }) => memoryBytes),
  latencyMsP50: row('Response time, median', 'ms', 'responds in', ({ latencyMs }) => latencyMs?.p50),
  latencyMsP99: row('Response time, 99th percentile', 'ms', 'responds in', ({ latencyMs }) => latencyMs?.p99),
  freshnessMsP50: fresh('Freshness: from append to visible in a response, median', 'ms', 'shows an item after', ({ p50 }) => p50, DELAY),
  freshnessMsP99: fresh('Freshness: from append to visible in a response, 99th percentile', 'ms', 'shows an item after',
    ({ p99 }) => p99, DELAY),
  betweenProbesMsP99: fresh('Interval between two freshness probes, 99th percentile', 'ms', 'is probed every',
    ({ betweenMs }) => betweenMs.p99),
  everythingMs: all('All live items, to the last byte', 'ms', 'takes', ({ lastMs }) => middle(lastMs), { noun: 'time' }),
  everythingFirstByteMs: all('All live items, to the first byte', 'ms', 'begins after', ({ firstMs }) => middle(firstMs)),
  everythingDelayMsMax: all('Event loop delay while all live items are sent, maximum', 'ms', 'delays others by',
    ({ delayMs }) => delayMs.length > 0 ? Math.max(...delayMs) : null),
  everythingItems: all('Items in a response with all live items', 'items', 'sends', ({ items }) => middle(items)),
  startUpMs: all('Start-up time of a reader', 'ms', 'is ready after', ({ startUpMs }) => startUpMs),
  deliveryMsP50: followed('Delivery: from append to a following client, median', 'ms', 'delivers an item after',
    ({ delayMs }) => delayMs?.p50, DELAY),
  deliveryMsP99: followed('Delivery: from append to a following client, 99th percentile', 'ms', 'delivers an item after',
    ({ delayMs }) => delayMs?.p99, DELAY),
  newestMsP99: followed('Delivery of the newest item of an event, 99th percentile', 'ms', 'delivers the newest after',
    ({ newestMs }) => newestMs?.p99),
  eventsPerSecond: followed('Events or responses to clients per second', 'events/s', 'sends',
    ({ events, seconds }) => per(events, seconds), HIGHER),
  deliveredPercent: followed('Items delivered, of those due', '%', 'delivers',
    ({ dueItems, items }) => dueItems ? items * 100 / dueItems : null, HIGHER),
  bytesPerEvent: followed('Bytes of an event or response', 'bytes', 'sends', ({ bytes, events }) => per(bytes, events)),
  deliveredBytesPerSecond: followed('Bytes to clients per second', 'bytes/s', 'sends', ({ bytes, seconds }) => per(bytes, seconds)),
  servingCpuMicrosPerEvent: followed('Serving CPU time per event or response', 'us', 'costs',
    ({ cpuSeconds, events }) => per(cpuSeconds * 1e6, events)),
  servingCpuMillisPerMegabyte: followed('Serving CPU time per megabyte', 'ms', 'costs',
    ({ cpuSeconds, bytes }) => per(cpuSeconds * 1e9, bytes)),
  servingMemoryGrowthBytes: followed('Serving memory, growth over the window', 'bytes', 'grows by',
    ({ memoryBytes }) => growthOf(memoryBytes)),
  servingLiveGrowthBytes: followed('Serving memory in use after garbage collection, growth over the window', 'bytes', 'grows by',
    ({ liveBytes }) => liveBytes[1] - liveBytes[0]),
  servingDelayMsP99: followed('Event loop delay of serving, 99th percentile', 'ms', 'is delayed by',
    ({ loopDelayMsP99 }) => loopDelayMsP99),
  clientLoopPercent: row('Event loop utilization of the client', '% of the time', 'takes of its client',
    ({ client }) => client.loopUse * 100)
})
