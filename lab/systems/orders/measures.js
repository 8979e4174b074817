/** Measures of orders. */
import { HIGHER, rowsOf } from '../../analysis/measure.js'
import { SERVICES } from './figures.js'

/**
 * Three c7i.2xlarge of 8 vCPU for 1.18 USD, 2026-02-20: the medium tier of the published deployment, whose report has the prices
 * (myawnhc/hazelcast-microservices-framework).
 */
const USD_PER_VCPU_HOUR = 1.18 / 24

const sum = (/** @type {number[]} */ values) => values.reduce((total, one) => total + one, 0)

const row = rowsOf(({ orders }) => orders)

/** @typedef {import('./figures.js').OrderFigures} OrderFigures */

/** @param {OrderFigures} orders @returns {number} CPU seconds of gateway, reader and consumers */
const servedSeconds = ({ cpuSeconds }) => sum(SERVICES.flatMap((service) => cpuSeconds[service] ?? []))

/**
 * Processor time of all processes but the load, with servers and database.
 * @param {OrderFigures} orders @param {import('../../run/sample.js').Sample} sample @returns {number | null} seconds; null: not known
 */
function allSeconds ({ kills, cpuSeconds, hasServers = true }, { nodes, windowSeconds }) {
  if (kills > 0 || !cpuSeconds.database || !windowSeconds) return null
  return sum(Object.values(cpuSeconds).flat()) + sum((hasServers ? nodes : []).map(({ cpuPercent }) => cpuPercent / 100 * windowSeconds))
}

/** Cost of 10,000 requests that ended in time, USD. @param {OrderFigures} orders @param {number} cores that are paid for */
function usdOf ({ answered, placed, inTime, seconds }, cores) {
  const perHour = 3600 * (answered - placed + inTime) / seconds
  return perHour > 0 ? 10_000 * cores * USD_PER_VCPU_HOUR / perHour : null
}

/** A percentile beyond which customers gave up. @param {number} percentile */
const cutAt = (percentile) => ({
  isCut: (/** @type {OrderFigures} */ { timeOuts, tracked }) => tracked > 0 && timeOuts / tracked >= 1 - percentile / 100
})

/** @type {Record<string, import('../../analysis/measure.js').Measure>} */
export const ORDER_MEASURES = Object.freeze({
  timeOutPercent: row('Tracked orders that were not final after 10 s', '%', 'leaves open',
    ({ timeOuts, tracked }) => tracked > 0 ? 100 * timeOuts / tracked : null),
  stuckPercent: row('Orders that never end', '%', 'loses', ({ stuck, placed }) => placed > 0 ? 100 * stuck / placed : null),
  sagaMsP50: row('Time from placing to the end, on the server, median', 'ms', 'ends after', ({ serverMs }) => serverMs.p50),
  sagaMsP95: row('Time from placing to the end, on the server, 95th percentile', 'ms', 'ends after', ({ serverMs }) => serverMs.p95),
  sagaMsP99: row('Time from placing to the end, on the server, 99th percentile', 'ms', 'ends after', ({ serverMs }) => serverMs.p99),
  sagaMsMax: row('Time from placing to the end, on the server, longest', 'ms', 'ends after', ({ serverMs }) => serverMs.max),
  polledMsP50: row('Time to the end as a polling customer sees it, median', 'ms', 'shows after', ({ polledMs }) => polledMs?.p50,
    cutAt(50)),
  polledMsP95: row('Time to the end as a polling customer sees it, 95th percentile', 'ms', 'shows after',
    ({ polledMs }) => polledMs?.p95, cutAt(95)),
  pushedMsP95: row('Time to the end as a waiting customer sees it, 95th percentile', 'ms', 'shows after',
    ({ pushedMs }) => pushedMs?.p95, cutAt(95)),
  seenAfterMsP95: row('Time from the end of an order until a polling customer sees it, 95th percentile', 'ms', 'shows after',
    ({ seenAfterMs }) => seenAfterMs?.p95),
  handOverMsP50: row('Time from a kill of consumers until all their partitions went on, median', 'ms', 'goes on after',
    ({ handOverMs }) => handOverMs?.p50),
  handOverMsMax: row('Time from a kill of consumers until all their partitions went on, longest', 'ms', 'goes on after',
    ({ handOverMs }) => handOverMs?.max),
  pollsPerOrder: row('Requests of a polling customer', 'requests', 'takes', ({ polls }) => polls),
  httpMsP50: row('Time to a reply of a command, median', 'ms', 'replies after', ({ httpMs }) => httpMs.p50),
  httpMsP95: row('Time to a reply of a command, 95th percentile', 'ms', 'replies after', ({ httpMs }) => httpMs.p95),
  orderMsP95: row('Time to the reply to an order, 95th percentile', 'ms', 'replies after', ({ orderMs }) => orderMs?.p95),
  reservationMsP95: row('Time to the reply to a reservation, 95th percentile', 'ms', 'replies after',
    ({ reservationMs }) => reservationMs?.p95),
  customerMsP95: row('Time to the reply to a new customer, 95th percentile', 'ms', 'replies after', ({ customerMs }) => customerMs?.p95),
  commandsPerSecond: row('Commands answered per second', 'requests/s', 'answers',
    ({ answered, seconds }) => answered / seconds, { noun: 'commands', ...HIGHER }),
  errorPercent: row('Commands without a reply, or refused by a fault', '%', 'fails',
    ({ errors, answered }) => 100 * errors / Math.max(1, errors + answered)),
  ordersPerSecond: row('Orders ended per second', 'orders/s', 'ends', ({ final, seconds }) => final / seconds, { noun: 'rate', ...HIGHER }),
  cpuMsPerOrder: row('CPU of gateway, reader and replicas per ended order', 'ms', 'costs',
    (orders) => orders.final > 0 && orders.kills === 0 ? 1000 * servedSeconds(orders) / orders.final : null),
  allCpuMsPerOrder: row('CPU of all processes but the load per ended order', 'ms', 'costs', (orders, sample) => {
    const seconds = allSeconds(orders, sample)
    return seconds === null || orders.final === 0 ? null : 1000 * seconds / orders.final
  }),
  allCpuMillicores: row('CPU of all processes but the load', 'thousandths of a core', 'takes', (orders, sample) => {
    const seconds = allSeconds(orders, sample)
    return seconds === null ? null : 1000 * seconds / orders.seconds
  }),
  busiestReplicaPercent: row('Share of the busiest replica in the CPU of all', '%', 'gives one replica',
    ({ cpuSeconds: { consumers }, kills }) => kills > 0 ? null : 100 * Math.max(...consumers) / sum(consumers)),
  gatewayReplicas: row('Gateways at the end', 'processes', 'needs', ({ cpuSeconds: { gateway } }) => gateway?.length),
  readerReplicas: row('Readers at the end', 'processes', 'needs', ({ cpuSeconds: { reader } }) => reader?.length),
  consumerReplicas: row('Processes of consumers at the end', 'processes', 'needs', ({ cpuSeconds: { consumers } }) => consumers.length),
  usdPer10k: row('Cost of 10,000 requests that ended in time, on a machine of these cores', 'USD', 'costs',
    (orders) => usdOf(orders, orders.cores)),
  usdPer10kUsed: row('Cost of 10,000 requests that ended in time, of the CPU that they used', 'USD', 'costs', (orders, sample) => {
    const seconds = allSeconds(orders, sample)
    return seconds === null ? null : usdOf(orders, seconds / orders.seconds)
  }),
  serviceMemoryBytes: row('Memory of gateway, reader and replicas at the end', 'bytes', 'holds', ({ memoryBytes }) => memoryBytes),
  replicasKilled: row('Processes killed', 'processes', 'loses', ({ kills }) => kills)
})
