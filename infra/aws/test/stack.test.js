/** Every tier is synthesized, without a finding of cdk-nag that is not explained; what matters is in the template. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Match, Template } from 'aws-cdk-lib/assertions'
import { createApp } from '../src/app.js'
import { accessOf } from '../src/stores.js'
import { TIERS } from '../src/config.js'

/** every tier, and what tiers may choose beside that */
const ALL = { ...TIERS, iam: withCache({ auth: 'iam', cluster: { shards: 2, durability: 'async' } }) }

/** @param {object} changes of the small tier's servers */
function withCache (changes) {
  return { ...TIERS.small, cache: { ...TIERS.small.cache, ...changes } }
}

/** @param {string} tier */
function templateOf (tier) {
  const { app, stack } = createApp({ tier, image: IMAGE }, ALL)
  // throws what cdk-nag finds
  assert.equal(app.synth().manifest.missing, undefined, 'nothing is looked up in an account')
  return Template.fromStack(stack)
}

/** versions and types that ElastiCache has, since nothing else checks them */
const VERSIONS = ['7.2', '8.0', '8.1', '8.2', '9.0', '9.1']
const PARAMETERS = { 'maxmemory-policy': 'noeviction', 'reserved-memory-percent': '25', activedefrag: 'yes' }
const NODE_TYPE = /^cache\.(m7g|r7g)\.(large|xlarge|2xlarge|4xlarge|8xlarge|12xlarge|16xlarge)$/

const IMAGE = '111111111111.dkr.ecr.us-east-1.amazonaws.com/team/freshet:1'

for (const [tier, config] of Object.entries(ALL)) {
  const template = templateOf(tier)
  const { cluster, replicas, auth } = config.cache

  test(`${tier}: the servers`, () => {
    const [group] = Object.values(template.findResources('AWS::ElastiCache::ReplicationGroup'))
    const { Engine, EngineVersion, CacheNodeType, ...rest } = group.Properties
    assert.equal(Engine, 'valkey')
    assert.equal(EngineVersion, '9.1', 'MSETEX, durability')
    assert.ok(VERSIONS.includes(EngineVersion))
    assert.match(CacheNodeType, NODE_TYPE)
    assert.deepEqual([rest.NumCacheClusters, rest.NumNodeGroups, rest.ReplicasPerNodeGroup, rest.ClusterMode, rest.Durability], cluster
      ? [undefined, cluster.shards, replicas, 'enabled', cluster.durability]
      : [1 + replicas, undefined, undefined, undefined, undefined])
    for (const on of ['TransitEncryptionEnabled', 'AtRestEncryptionEnabled', 'AutomaticFailoverEnabled', 'MultiAZEnabled']) {
      assert.equal(rest[on], true, on)
    }
    assert.equal(rest.TransitEncryptionMode, 'required')
    template.hasResourceProperties('AWS::ElastiCache::ParameterGroup', {
      CacheParameterGroupFamily: 'valkey9',
      Properties: { ...PARAMETERS, ...(cluster ? { 'cluster-enabled': 'yes' } : {}) }
    })
    for (const name of ['freshet-writer', 'freshet-library', 'freshet-lab']) {
      const id = `freshet-${tier}-${name}`
      const isIam = auth === 'iam' && name !== 'freshet-lab'
      template.hasResourceProperties('AWS::ElastiCache::User', {
        UserId: id,
        UserName: isIam ? id : name,
        AccessString: accessOf(name, cluster !== null),
        Engine: 'valkey',
        AuthenticationMode: isIam ? { Type: 'iam' } : Match.absent(),
        Passwords: isIam ? Match.absent() : Match.anyValue()
      })
    }
    assert.match(accessOf('freshet-library', false), / \+msetex (?!.*cluster\|slots)/)
    assert.match(accessOf('freshet-library', true), / \+msetex .* \+cluster\|slots \+cluster\|info \+readonly$/)
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
      const has = (/** @type {string} */ name) => container.Environment?.some(({ Name }) => Name === name) ?? false
      assert.equal(has('FRESHET_REDIS_AUTH'), auth === 'iam' && container.Name !== 'lab', container.Name)
      assert.equal(container.Secrets.some(({ Name }) => Name === 'FRESHET_REPLICA_URL'), container.Name === 'reader' && !cluster)
      const partitions = container.Command[container.Command.indexOf('--partitions') + 1]
      if (cluster && ['writer', 'gateway'].includes(container.Name)) assert.equal(partitions, String(2 * cluster.shards))
      else assert.ok(!container.Command.includes('--partitions'))
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
    const nodes = (cluster?.shards ?? 1) * (1 + replicas)
    const alarmsOf = (metric) => Object.values(template.findResources('AWS::CloudWatch::Alarm', { Properties: { MetricName: metric } }))
    assert.deepEqual(alarmsOf('EngineCPUUtilization').map(({ Properties }) => Properties.Threshold), Array(nodes).fill(90))
    const smallNodes = config.cache.vcpu === 2 ? nodes : 0
    assert.deepEqual(alarmsOf('CPUUtilization').map(({ Properties }) => Properties.Threshold), Array(smallNodes).fill(45))
    assert.equal(alarmsOf('DurabilityLag').length, cluster?.durability === 'async' ? nodes : 0)
    assert.equal(alarmsOf('TrafficManagementActive').length, cluster ? nodes : 0)
    const names = alarmsOf('EngineCPUUtilization').map(({ Properties }) => Properties.Dimensions[0].Value['Fn::Join'][1].at(-1))
    assert.deepEqual([names[0], names.at(-1)], cluster
      ? ['-0001-001', `-000${cluster.shards}-00${1 + replicas}`]
      : ['-001', `-00${1 + replicas}`], 'as ElastiCache names nodes')
    for (const { Properties } of Object.values(template.findResources('AWS::CloudWatch::Alarm'))) assert.ok(Properties.AlarmDescription)
    const [dashboard] = Object.values(template.findResources('AWS::CloudWatch::Dashboard'))
    const body = JSON.stringify(dashboard.Properties.DashboardBody)
    for (const metric of ['EngineCPUUtilization', 'CPUUtilization', 'ReplicationLag', 'NetworkBandwidthOutAllowanceExceeded',
      'NetworkBandwidthInAllowanceExceeded', 'NetworkPacketsPerSecondAllowanceExceeded', 'DatabaseMemoryUsagePercentage', 'Evictions',
      'CurrConnections', 'DurabilityLag', 'freshet_items_total', 'freshet_streams']) {
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

test('with IAM a task may take tokens for its own user of this group, and its URL has no password', () => {
  const template = templateOf('iam')
  const policies = Object.values(template.findResources('AWS::IAM::Policy')).map(({ Properties }) => Properties.PolicyDocument.Statement
    .filter(({ Action }) => Action === 'elasticache:Connect').map(({ Resource }) => JSON.stringify(Resource))).flat()
  assert.equal(policies.length, 4)
  assert.equal(policies.filter((text) => /:replicationgroup:.*Userfreshetwriter/.test(text)).length, 1)
  assert.equal(policies.filter((text) => /:replicationgroup:.*Userfreshetlibrary/.test(text)).length, 3)
  const urls = Object.values(template.findResources('AWS::SecretsManager::Secret', { Properties: { SecretString: Match.anyValue() } }))
    .map(({ Properties: { SecretString } }) => SecretString['Fn::Join'][1])
  assert.deepEqual(urls.map((parts) => parts[0]).sort(), ['rediss://freshet-iam-freshet-library@', 'rediss://freshet-iam-freshet-writer@'])
  assert.ok(urls.every((parts) => parts[1]['Fn::GetAtt'][1] === 'ConfigurationEndPoint.Address'))
})

test('durability without a replica', () => {
  const tiers = { alone: withCache({ replicas: 0, cluster: { shards: 1, durability: 'sync' } }) }
  assert.throws(() => createApp({ tier: 'alone', image: IMAGE }, tiers), /durability: sync needs a replica of each primary; set replicas to 1/)
})

test('an unknown tier, and no image', () => {
  assert.throws(() => createApp({ tier: 'small' }), /image: expected --context image=/)
  assert.throws(() => createApp({ tier: 'huge' }), /tier: "huge" is unknown; expected small \| medium \| large/)
})
