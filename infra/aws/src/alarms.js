/** Alarms, with what to do in their descriptions. */
import { Duration } from 'aws-cdk-lib'
import {
  Alarm, ComparisonOperator, Dashboard, GraphWidget, MathExpression, Metric, PeriodOverride, TextWidget, TreatMissingData
} from 'aws-cdk-lib/aws-cloudwatch'
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions'
import { HttpCodeTarget } from 'aws-cdk-lib/aws-elasticloadbalancingv2'
import { Topic } from 'aws-cdk-lib/aws-sns'
import { ownMetric } from './services.js'

/** The dashboard: each node side by side, as in the published charts, then the services and Freshet's own figures. */

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
    new GraphWidget({ title: name, width: WIDTH / 3, left: [ownMetric(service, metric, statistic)] })))
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

/**
 * @param {import('aws-cdk-lib').Stack} stack
 * @param {{ config: import('./config.js').Config, cache: import('./stores.js').Cache, services: import('./services.js').Services }} figures
 */
export function createAlarms (stack, { config, cache, services }) {
  const action = config.alarmTopicArn && new SnsAction(Topic.fromTopicArn(stack, 'AlarmTopic', config.alarmTopicArn))
  /**
   * @param {string} name @param {string} description @param {import('aws-cdk-lib/aws-cloudwatch').IMetric} metric
   * @param {number} threshold @param {number} [minutes] in a row
   */
  function alarm (name, description, metric, threshold, minutes = 5) {
    const one = new Alarm(stack, name, {
      alarmDescription: description,
      metric,
      threshold,
      evaluationPeriods: minutes,
      comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
      treatMissingData: TreatMissingData.NOT_BREACHING
    })
    if (action) one.addAlarmAction(action)
  }

  const durability = config.cache.cluster?.durability ?? 'disabled'
  for (const [i, node] of shardsOf(cache).flat().entries()) {
    alarm(`EngineCpu${i}`, 'The core that runs commands is nearly full: npx freshet plan --redis-url says what to change first',
      nodeMetric(node, 'EngineCPUUtilization'), 90)
    // one core is half of it
    if (config.cache.vcpu === 2) {
      alarm(`Cpu${i}`, 'The node has little processor time left: a larger type, or layout segments', nodeMetric(node, 'CPUUtilization'), 45)
    }
    alarm(`Memory${i}`, 'A full server refuses writes: a shorter window, or a larger type',
      nodeMetric(node, 'DatabaseMemoryUsagePercentage', 'Maximum'), 80)
    alarm(`Evictions${i}`, 'The parameter group lets no key be evicted: it is not in effect', nodeMetric(node, 'Evictions', 'Sum'), 0, 1)
    for (const [way, advice] of Object.entries({ In: 'layout segments', Out: 'fewer readers of a replica' })) {
      alarm(`Network${way}${i}`, `The node has more to ${way === 'In' ? 'receive' : 'send'} than it may: ${advice}, or a larger type`,
        nodeMetric(node, `NetworkBandwidth${way}AllowanceExceeded`, 'Sum'), 0)
    }
    if (durability === 'async') {
      alarm(`DurabilityLag${i}`, 'A failure now would lose this many ms of acknowledged writes; at 10,000 the primary refuses writes',
        nodeMetric(node, 'DurabilityLag', 'Maximum'), 5000, 1)
    }
    if (durability !== 'disabled') {
      alarm(`Throttled${i}`, 'More is written than the log takes (100 MiB/s a primary): layout segments, --compress brotli, or more shards',
        nodeMetric(node, 'TrafficManagementActive', 'Maximum'), 0)
    }
    if (config.cache.replicas > 0) {
      alarm(`Lag${i}`, 'A replica is behind: readers serve older items', nodeMetric(node, 'ReplicationLag', 'Maximum'), 1)
    }
  }
  for (const [name, group] of Object.entries(services.targets)) {
    alarm(`Unhealthy-${name}`, `A ${name} is not ready: see its log, and /readyz`, group.metrics.unhealthyHostCount(), 0, 3)
    alarm(`Errors-${name}`, `A ${name} answers with 5xx`, new MathExpression({
      // without data where there was no request, or no error
      expression: '100 * errors / all',
      usingMetrics: {
        errors: group.metrics.httpCodeTarget(HttpCodeTarget.TARGET_5XX_COUNT),
        all: group.metrics.requestCount()
      },
      period: Duration.minutes(1)
    }), 1)
  }
  const deadLetters = ownMetric('consumers', 'freshet_dead_letters', 'Maximum')
  alarm('DeadLetters', 'Entries failed permanently: npm start dead-letters', deadLetters, 0, 1)
  for (const service of ['writer', 'gateway']) {
    const lost = (/** @type {string} */ metric) => ownMetric(service, metric, 'Sum')
    alarm(`Dropped-${service}`, `A ${service} dropped items that waited for too long`, lost('freshet_dropped_total'), 0, 1)
    alarm(`Failed-${service}`, `A ${service} stopped with items that were not acknowledged`, lost('freshet_failed_total'), 0, 1)
  }
}
