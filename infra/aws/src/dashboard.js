/** The dashboard: each node side by side, as in the published charts, then the services and Freshet's own figures. */
import { Duration } from 'aws-cdk-lib'
import { Dashboard, GraphWidget, Metric, PeriodOverride, TextWidget } from 'aws-cdk-lib/aws-cloudwatch'
import { serviceMetric } from './services.js'

const WIDTH = 24
/** of nodes: title, metric, statistic */
const OF_NODES = Object.freeze([
  ['The core that runs commands, %', 'EngineCPUUtilization', 'Average'],
  ['The whole node, % (2 vCPU: one core is 50)', 'CPUUtilization', 'Average'],
  ['Replication lag, s', 'ReplicationLag', 'Maximum'], ['Memory, %', 'DatabaseMemoryUsagePercentage', 'Maximum'],
  ['Bytes in per minute', 'NetworkBytesIn', 'Sum'], ['Bytes out per minute', 'NetworkBytesOut', 'Sum'],
  ['Packets beyond the allowance, in', 'NetworkBandwidthInAllowanceExceeded', 'Sum'],
  ['Packets beyond the allowance, out', 'NetworkBandwidthOutAllowanceExceeded', 'Sum'],
  ['Packets beyond the allowed rate', 'NetworkPacketsPerSecondAllowanceExceeded', 'Sum'], ['Evictions', 'Evictions', 'Sum'],
  ['Writes not yet in the log (durability), ms', 'DurabilityLag', 'Maximum'],
  ['Connections', 'CurrConnections', 'Maximum'], ['New connections', 'NewConnections', 'Sum'],
  ['Commands that write', 'SetTypeCmds', 'Sum'], ['Commands of sorted sets', 'SortedSetBasedCmds', 'Sum'],
  ['Commands of streams', 'StreamBasedCmds', 'Sum'], ['Scripts', 'EvalBasedCmds', 'Sum']
])
/** of Freshet: title, service, metric, statistic */
const OWN = Object.freeze([
  ['Items acknowledged', 'writer', 'freshet_items_total', 'Sum'], ['Items acknowledged over HTTP', 'gateway', 'freshet_items_total', 'Sum'],
  ['Requests to readers', 'reader', 'freshet_http_requests_total', 'Sum'], ['Streams', 'reader', 'freshet_streams', 'Sum'],
  ['Items in views', 'reader', 'freshet_view_items', 'Average'], ['Views behind, s', 'reader', 'freshet_view_behind_seconds', 'Maximum'],
  ['Consumers behind, s', 'consumers', 'freshet_consumer_lag_seconds', 'Maximum'],
  ['Dead letters', 'consumers', 'freshet_dead_letters', 'Maximum']
])

/**
 * @param {import('aws-cdk-lib').Stack} stack
 * @param {{ config: import('./config.js').Config, cache: import('./stores.js').Cache, services: import('./services.js').Services }} figures
 */
export function createDashboard (stack, { cache, services }) {
  const dashboard = new Dashboard(stack, 'Dashboard', { periodOverride: PeriodOverride.INHERIT, defaultInterval: Duration.hours(3) })
  const shards = shardsOf(cache)
  const row = (/** @type {GraphWidget[]} */ ...widgets) => dashboard.addWidgets(...widgets)
  const title = (/** @type {string} */ text) => dashboard.addWidgets(new TextWidget({ markdown: `## ${text}`, width: WIDTH, height: 1 }))

  title('Servers: the first node of a row is the primary until a failover')
  for (const [name, metric, statistic] of OF_NODES.slice(0, 2)) {
    for (const nodes of shards) {
      row(...nodes.map((node, i) => new GraphWidget({
        title: `${i === 0 ? 'Primary' : `Replica ${i}`}: ${name}`,
        width: Math.floor(WIDTH / nodes.length),
        left: [nodeMetric(node, metric, statistic)],
        leftYAxis: { min: 0, max: 100 }
      })))
    }
  }
  const widths = (/** @type {GraphWidget[]} */ widgets) => {
    for (let i = 0; i < widgets.length; i += 3) row(...widgets.slice(i, i + 3))
  }
  widths(OF_NODES.slice(2).map(([name, metric, statistic]) =>
    new GraphWidget({ title: name, width: WIDTH / 3, left: shards.flat().map((node) => nodeMetric(node, metric, statistic)) })))

  title('Processes')
  const all = Object.entries({ ...services.serving, writer: services.writers })
  widths(all.map(([name, service]) => new GraphWidget({
    title: `${name}: CPU and memory, %`,
    width: WIDTH / 3,
    left: [(service).metricCpuUtilization(), /** @type {any} */ (service).metricMemoryUtilization()]
  })))
  title('Freshet')
  widths(OWN.map(([name, service, metric, statistic]) =>
    new GraphWidget({ title: name, width: WIDTH / 3, left: [serviceMetric(service, metric, statistic)] })))
}

/**
 * The nodes of each shard, as ElastiCache derives their names from the group; without cluster mode there is one.
 * @param {import('./stores.js').Cache} cache @returns {string[][]}
 */
export const shardsOf = ({ replicationGroup: { ref }, shards, nodesOfShard, inCluster }) => Array.from({ length: shards }, (_, shard) =>
  Array.from({ length: nodesOfShard }, (_, node) => [ref, ...inCluster ? [padded(shard, 4)] : [], padded(node, 3)].join('-')))

const padded = (/** @type {number} */ index, /** @type {number} */ digits) => String(index + 1).padStart(digits, '0')

/** @param {string} node @param {string} metric */
export const nodeMetric = (node, metric, statistic = 'Average') => new Metric({
  namespace: 'AWS/ElastiCache', metricName: metric, dimensionsMap: { CacheClusterId: node }, statistic, period: Duration.minutes(1)
})
