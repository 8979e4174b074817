/** Every tier is synthesized, without a finding of cdk-nag that is not explained; what matters is in the template. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Match, Template } from 'aws-cdk-lib/assertions'
import { createApp } from '../src/app.js'
import { accessOf } from '../src/cache.js'
import { TIERS } from '../src/config.js'

/** @param {string} tier */
function templateOf (tier) {
  const { app, stack } = createApp({ tier, image: IMAGE })
  // throws what cdk-nag finds
  assert.equal(app.synth().manifest.missing, undefined, 'nothing is looked up in an account')
  return Template.fromStack(stack)
}

/** versions and types that ElastiCache has, since nothing else checks them */
const VERSIONS = ['7.2', '8.0', '8.1', '8.2']
const NODE_TYPE = /^cache\.(m7g|r7g)\.(large|xlarge|2xlarge|4xlarge|8xlarge|12xlarge|16xlarge)$/

const IMAGE = '111111111111.dkr.ecr.us-east-1.amazonaws.com/team/freshet:1'

for (const [tier, config] of Object.entries(TIERS)) {
  const template = templateOf(tier)

  test(`${tier}: the servers`, () => {
    const [group] = Object.values(template.findResources('AWS::ElastiCache::ReplicationGroup'))
    const { Engine, EngineVersion, CacheNodeType, ...rest } = group.Properties
    assert.equal(Engine, 'valkey')
    assert.ok(VERSIONS.includes(EngineVersion))
    assert.match(CacheNodeType, NODE_TYPE)
    assert.equal(rest.NumCacheClusters, 1 + config.cache.replicas)
    for (const on of ['TransitEncryptionEnabled', 'AtRestEncryptionEnabled', 'AutomaticFailoverEnabled', 'MultiAZEnabled']) {
      assert.equal(rest[on], true, on)
    }
    assert.equal(rest.TransitEncryptionMode, 'required')
    template.hasResourceProperties('AWS::ElastiCache::ParameterGroup',
      { Properties: Match.objectLike({ 'maxmemory-policy': 'noeviction' }) })
    for (const name of ['freshet-writer', 'freshet-library', 'freshet-lab']) {
      template.hasResourceProperties('AWS::ElastiCache::User', { UserName: name, AccessString: accessOf(name), Engine: 'valkey' })
    }
    assert.doesNotMatch(accessOf('freshet-library'), /msetex/)
    // only tasks reach them
    template.hasResourceProperties('AWS::EC2::SecurityGroupIngress', { FromPort: 6379, ToPort: 6379 })
    assert.equal(JSON.stringify(template.toJSON()).includes('"CidrIp":"0.0.0.0/0","Description":"clients"'), config.isPublic)
  })

  test(`${tier}: the services`, () => {
    const { services } = config
    template.resourceCountIs('AWS::ECS::Service', 4)
    const counts = Object.values(template.findResources('AWS::ECS::Service')).map(({ Properties }) => Properties.DesiredCount)
    assert.deepEqual(counts.sort(), [services.writer.count, services.gateway.least, services.reader.least, services.consumers.least].sort())
    const targets = Object.values(template.findResources('AWS::ApplicationAutoScaling::ScalableTarget')).map(({ Properties }) => Properties)
    assert.deepEqual(targets.map(({ MinCapacity, MaxCapacity }) => `${MinCapacity}-${MaxCapacity}`).sort(),
      ['gateway', 'reader', 'consumers'].map((name) => `${services[name].least}-${services[name].most}`).sort(), 'writers do not scale')
    template.hasResourceProperties('AWS::ApplicationAutoScaling::ScalingPolicy', {
      TargetTrackingScalingPolicyConfiguration: Match.objectLike({
        CustomizedMetricSpecification: Match.objectLike({ MetricName: 'freshet_streams', Namespace: 'Freshet' })
      })
    })
    for (const { Properties: { ContainerDefinitions: [container] } } of Object.values(template.findResources('AWS::ECS::TaskDefinition'))) {
      assert.equal(container.ReadonlyRootFilesystem, container.Name !== 'lab')
      assert.ok(container.Secrets.some(({ Name }) => ['FRESHET_REDIS_URL', 'FRESHET_TARGET'].includes(Name)), container.Name)
      assert.ok(!JSON.stringify(container.Environment ?? []).includes('resolve:'), 'no secret in the environment')
    }
    template.resourceCountIs('AWS::RDS::DBInstance', config.database ? 1 : 0)
    template.resourceCountIs('AWS::DynamoDB::Table', config.priceHistory ? 1 : 0)
    if (config.priceHistory) {
      // as src/systems/prices/store expects it
      template.hasResourceProperties('AWS::DynamoDB::Table', {
        KeySchema: [{ AttributeName: 'asset', KeyType: 'HASH' }, { AttributeName: 'at', KeyType: 'RANGE' }],
        TimeToLiveSpecification: { AttributeName: 'ttl', Enabled: true }
      })
    }
  })

  test(`${tier}: alarms, and a dashboard with each node`, () => {
    const nodes = 1 + config.cache.replicas
    const alarmsOf = (metric) => Object.values(template.findResources('AWS::CloudWatch::Alarm', { Properties: { MetricName: metric } }))
    assert.deepEqual(alarmsOf('EngineCPUUtilization').map(({ Properties }) => Properties.Threshold), Array(nodes).fill(90))
    const smallNodes = config.cache.vcpu === 2 ? nodes : 0
    assert.deepEqual(alarmsOf('CPUUtilization').map(({ Properties }) => Properties.Threshold), Array(smallNodes).fill(45))
    for (const { Properties } of Object.values(template.findResources('AWS::CloudWatch::Alarm'))) assert.ok(Properties.AlarmDescription)
    const [dashboard] = Object.values(template.findResources('AWS::CloudWatch::Dashboard'))
    const body = JSON.stringify(dashboard.Properties.DashboardBody)
    for (const metric of ['EngineCPUUtilization', 'CPUUtilization', 'ReplicationLag', 'NetworkBandwidthOutAllowanceExceeded',

      'NetworkBandwidthInAllowanceExceeded', 'NetworkPacketsPerSecondAllowanceExceeded', 'DatabaseMemoryUsagePercentage', 'Evictions',
      'CurrConnections', 'freshet_items_total', 'freshet_streams']) {
      assert.ok(body.includes(metric), metric)
    }
  })
}

test('an image of ECR may be pulled', () => {
  const { stack } = createApp({ tier: 'small', image: IMAGE })
  const template = Template.fromStack(stack)
  template.hasResourceProperties('AWS::IAM::Policy', {
    PolicyDocument: { Statement: Match.arrayWith([Match.objectLike({ Action: Match.arrayWith(['ecr:BatchGetImage']) })]) }
  })
})

test('an unknown tier, and no image', () => {
  assert.throws(() => createApp({ tier: 'small' }), /image: expected --context image=/)
  assert.throws(() => createApp({ tier: 'huge' }), /tier: "huge" is unknown; expected small \| medium \| large/)
})
