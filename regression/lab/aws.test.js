/** The lab on ElastiCache: what AWS is asked for, and what it says when it cannot be asked. AWS is moto, over HTTP. */
import { CloudWatchClient, PutMetricDataCommand } from '@aws-sdk/client-cloudwatch'
import { CreateReplicationGroupCommand, ElastiCacheClient } from '@aws-sdk/client-elasticache'
import { openAws } from '../../lab/aws/client.js'
import { describeGroup } from '../../lab/aws/group.js'
import { percentagesOf } from '../../lab/aws/percentages.js'
import { startMoto } from '../../test/aws/moto.js'
import { endOfMain } from '../../test/bin/in-process.js'
import { GROUP, TARGET } from '../../test/lab/group.js'
import { labCheckout, ONCE, runLab } from '../../test/lab/lab-checkout.js'
import { nightTest, scopedEngines } from '../../test/scope.js'
import { startDeployment } from '../../test/servers.js'

const MINUTE_MS = 60_000
const { signal } = new AbortController()

nightTest('what is missing is said before anything is measured', async (t) => {
  const refused = async (/** @type {string[]} */ args) =>
    (await endOfMain(['experiment', 'ad-hoc', ...ONCE, '--aws-replication-group', 'feed', ...args])).stderr
  t.match(await refused([]), 'awsReplicationGroup: feed (--aws-replication-group); expected with --target, the primary of the group')
  t.match(await refused(['--target', TARGET, '--replica-url', 'redis://a:1']), /expected without --aws-replication-group/)
  // what AWS is asked with is of the environment of the process
  const root = await labCheckout(t)
  const env = { AWS_EC2_METADATA_DISABLED: 'true', AWS_CONFIG_FILE: '/dev/null', AWS_SHARED_CREDENTIALS_FILE: '/dev/null' }
  const lab = async (/** @type {string[]} */ args, /** @type {Record<string, string>} */ more = {}) =>
    (await runLab(t, root, ['901', ...ONCE, '--aws-replication-group', 'feed', ...args], { env: { ...env, ...more } })).stderr
  t.match(await lab(['--target', TARGET]), 'AWS was asked for elasticache:DescribeReplicationGroups: no region is set; set AWS_REGION')
  t.match(await lab(['--target', TARGET], { AWS_REGION: 'eu-west-1' }), 'no credentials were found; set AWS_ACCESS_KEY_ID')
})

nightTest('against AWS as moto has it', async (t) => {
  const moto = await startMoto(t)
  const aws = await openAws()
  t.teardown(() => aws.close())
  const [elasticache, cloudwatch] = [new ElastiCacheClient({}), new CloudWatchClient({})]
  t.teardown(() => { elasticache.destroy(); cloudwatch.destroy() })
  const create = (/** @type {string} */ id, /** @type {object} */ how) => elasticache.send(new CreateReplicationGroupCommand({
    ReplicationGroupId: id, ReplicationGroupDescription: id, CacheNodeType: 'cache.r7g.large', Engine: 'valkey', ...how
  }))
  await create('feed-1', { ClusterMode: 'disabled', NumNodeGroups: 1, ReplicasPerNodeGroup: 1 })

  const thisMinute = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS
  /** So many minutes ago. */
  const put = (/** @type {string} */ metric, /** @type {string} */ id, /** @type {number} */ minute, /** @type {number} */ value) =>
    cloudwatch.send(new PutMetricDataCommand({
      Namespace: 'AWS/ElastiCache',
      MetricData: [{
        MetricName: metric,
        Dimensions: [{ Name: 'CacheClusterId', Value: id }],
        Timestamp: new Date(thisMinute - minute * MINUTE_MS),
        Value: value
      }]
    }))

  await t.test('nodes and their types', async (t) => {
    const group = await describeGroup(aws, 'feed-1')
    t.match(group, { name: 'feed-1', nodeType: 'cache.r7g.large' })
    t.same(group.nodes.map(({ role }) => role), ['primary', 'replica'])
    for (const { id, address } of group.nodes) t.match(`${id} ${address}`, /^feed-1-\S+ \S+:\d+$/)
    t.match(group.primaryAddress, /:\d+$/)
  })

  await t.test('a wrong name names near ones', async (t) => {
    await t.rejects(describeGroup(aws, 'feed-2'), { code: 'AWS_UNUSABLE', message: /feed-2.*feed-1/ })
  })

  await t.test('percentages, when some come late', async (t) => {
    const { nodes } = await describeGroup(aws, 'feed-1')
    for (const minute of [2, 3, 4]) {
      await put('CPUUtilization', nodes[0].id, minute, 10 * minute)
      if (minute !== 3) await put('EngineCPUUtilization', nodes[0].id, minute, 50)
    }
    const [fromMs, toMs] = [thisMinute - 4.5 * MINUTE_MS, thisMinute - 0.5 * MINUTE_MS]
    const block = { nodes: nodes.slice(0, 1), fromMs, toMs, signal, lookEveryMs: 100 }
    const early = percentagesOf(aws, block)
    setTimeout(() => put('EngineCPUUtilization', nodes[0].id, 3, 80), 500)
    t.match(await early, [{ engineCpuPercent: 60, cpuPercent: 30, minutes: 3, missing: 0 }])
    t.match(await percentagesOf(aws, { ...block, nodes, waitMs: 0 }),
      [{ missing: 0 }, { engineCpuPercent: null, cpuPercent: null, missing: 6 }])
  })

  await t.test('CloudWatch that refuses calls for a while is asked again', async (t) => {
    const [node] = GROUP.nodes
    for (const metric of ['CPUUtilization', 'EngineCPUUtilization']) for (const minute of [2, 3]) await put(metric, node.id, minute, 20)
    const [fromMs, toMs] = [thisMinute - 3.5 * MINUTE_MS, thisMinute - 0.5 * MINUTE_MS]
    const block = { nodes: [node], fromMs, toMs, signal, lookEveryMs: 10 }
    // more often than the SDK asks again
    moto.throttle(8)
    t.match(await percentagesOf(aws, block), [{ engineCpuPercent: 20, cpuPercent: 20, missing: 0 }])
    moto.throttle(Infinity)
    await t.rejects(percentagesOf(aws, { ...block, waitMs: 0 }), { code: 'AWS_FAILED', message: /cloudwatch:GetMetricData/ })
    moto.throttle(0)
  })

  await t.test('calls that are refused for a while are repeated; for long, it is said', async (t) => {
    const before = moto.calls()
    moto.throttle(2)
    t.match(await describeGroup(aws, 'feed-1'), { name: 'feed-1' })
    t.equal(moto.calls() - before, 3)
    moto.throttle(Infinity)
    await t.rejects(aws.groups({}),
      { code: 'AWS_FAILED', retryable: true, message: /elasticache:DescribeReplicationGroups.*6 attempts; try again later/ })
    moto.throttle(0)
  })

  await t.test('a group with Cluster is refused', async (t) => {
    await create('shards', { ClusterMode: 'enabled', NumNodeGroups: 2, ReplicasPerNodeGroup: 1, AutomaticFailoverEnabled: true })
    await t.rejects(describeGroup(aws, 'shards'), { code: 'AWS_UNUSABLE', message: /cluster mode on/ })
  })

  await t.test('a run measures on the primary and the replicas of the group, and refuses another target', async (t) => {
    const [engine] = await scopedEngines()
    const { primary, replicas } = await startDeployment(t, { engine, replicas: 1 })
    const { nodes, primaryAddress } = await describeGroup(aws, 'feed-1')
    const root = await labCheckout(t)
    const lab = () => runLab(t, root, ['901', '--quick', '--target', primary.url, '--aws-replication-group', 'feed-1'], { env: moto.env })
    const refused = await lab()
    t.equal(refused.code, 1)
    t.match(refused.stderr, `--target is ${new URL(primary.url).host}, and the primary of the replication group feed-1 is`)
    t.match(refused.stderr, primaryAddress)

    // what a DNS of AWS would say
    const ports = [primary, ...replicas].map(({ url }) => new URL(url).port)
    const addresses = [primaryAddress, ...nodes.map(({ address }) => address)]
    moto.rewrite((text) => text.replace(/<Address>([^<]+)<\/Address>\s*<Port>(\d+)<\/Port>/g, (_, host, port) => {
      const at = Math.max(0, addresses.indexOf(`${host}:${port}`) - 1)
      return `<Address>127.0.0.1</Address><Port>${ports[at]}</Port>`
    }))
    const { code, stdout, stderr } = await lab()
    t.equal(code, 0, stderr)
    t.match(stdout, 'cache.r7g.large')
    t.match(stdout, /not a result/)
  })
})
