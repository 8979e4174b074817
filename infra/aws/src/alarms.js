/** Alarms, with what to do in their descriptions. */
import { Duration } from 'aws-cdk-lib'
import { Alarm, ComparisonOperator, MathExpression, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch'
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions'
import { HttpCodeTarget } from 'aws-cdk-lib/aws-elasticloadbalancingv2'
import { Topic } from 'aws-cdk-lib/aws-sns'
import { nodeMetric, shardsOf } from './dashboard.js'
import { serviceMetric } from './services.js'

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
    const cloudWatchAlarm = new Alarm(stack, name, {
      alarmDescription: description,
      metric,
      threshold,
      evaluationPeriods: minutes,
      comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
      treatMissingData: TreatMissingData.NOT_BREACHING
    })
    if (action) cloudWatchAlarm.addAlarmAction(action)
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
  const deadLetters = serviceMetric('consumers', 'freshet_dead_letters', 'Maximum')
  alarm('DeadLetters', 'Entries failed permanently: npm start dead-letters', deadLetters, 0, 1)
  for (const service of ['writer', 'gateway']) {
    const lost = (/** @type {string} */ metric) => serviceMetric(service, metric, 'Sum')
    alarm(`Dropped-${service}`, `A ${service} dropped items that waited for too long`, lost('freshet_dropped_total'), 0, 1)
    alarm(`Failed-${service}`, `A ${service} stopped with items that were not acknowledged`, lost('freshet_failed_total'), 0, 1)
  }
}
