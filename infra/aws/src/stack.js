/**
 * Freshet in one stack:
 *
 *     load balancer ─ GET ──▶ readers ──────────▶ replicas of ElastiCache ◀── primary
 *                   └ other ▶ gateways ─────────────────────────────────────▶    ▲
 *                             writers, consumers ────────────────────────────────┘
 */
import { Stack, Validations } from 'aws-cdk-lib'
import {
  FlowLogDestination, FlowLogTrafficType, GatewayVpcEndpointAwsService, Peer, Port, SecurityGroup, SubnetType, Vpc
} from 'aws-cdk-lib/aws-ec2'
import { createAlarms } from './alarms.js'
import { createCache, createStores } from './stores.js'
import { PORTS } from './config.js'
import { createDashboard } from './dashboard.js'
import { createServices } from './services.js'

/** What cdk-nag reports and is meant so, each with its reason. */

/** @type {Readonly<Record<string, string>>} */
const EXCEPTIONS = Object.freeze({
  'AwsSolutions-EC23': 'the rule cannot read the address range of the network, which is the only one that may enter; isPublic opens it',
  'AwsSolutions-SMG4': 'ElastiCache users have two passwords at a time, so they are rotated by hand without downtime: docs/acl/README.md',
  'AwsSolutions-AEC6': 'users with passwords and rules (a user group) take the place of the AUTH token',
  'AwsSolutions-ECS2': 'the only variable is the name of the service; secrets come from Secrets Manager',
  'AwsSolutions-ELB2': 'each process logs and counts its requests; access logs need a bucket, which is left to the account',
  'AwsSolutions-IAM5[Resource::*]': 'cloudwatch:GetMetricData, for the task of the lab, takes no resource',
  'AwsSolutions-RDS11': 'its port is open to the tasks only, whatever its number'
})

/** @param {import('aws-cdk-lib').Stack} stack */
function explain (stack) {
  for (const [id, reason] of Object.entries(EXCEPTIONS)) Validations.of(stack).acknowledge({ id: `AwsSolutions::${id}`, reason })
  Validations.of(stack).acknowledge({ id: 'CloudFormation-Validate::W3010', reason: 'zones are named, so that synthesis needs no account' })
}

/** The network: a public part for the load balancer, a private one for tasks, an isolated one for servers. */

/** @typedef {ReturnType<typeof createNetwork>} Network */

/** @param {import('aws-cdk-lib').Stack} stack @param {import('./config.js').Config} config */
function createNetwork (stack, { zones, isPublic, certificateArn }) {
  const vpc = new Vpc(stack, 'Network', {
    availabilityZones: zones,
    natGateways: 1,
    subnetConfiguration: [
      { name: 'public', subnetType: SubnetType.PUBLIC, cidrMask: 24 },
      { name: 'tasks', subnetType: SubnetType.PRIVATE_WITH_EGRESS, cidrMask: 22 },
      { name: 'servers', subnetType: SubnetType.PRIVATE_ISOLATED, cidrMask: 24 }
    ],
    // without it, history of prices and images pay for the NAT gateway
    gatewayEndpoints: { dynamodb: { service: GatewayVpcEndpointAwsService.DYNAMODB }, s3: { service: GatewayVpcEndpointAwsService.S3 } },
    flowLogs: { rejected: { destination: FlowLogDestination.toCloudWatchLogs(), trafficType: FlowLogTrafficType.REJECT } }
  })
  const group = (/** @type {string} */ name, /** @type {string} */ description) =>
    new SecurityGroup(stack, name, { vpc, description, allowAllOutbound: name !== 'Servers' })
  const entry = group('Entry', 'Load balancer')
  const tasks = group('Tasks', 'Writers, readers, gateways and consumers')
  const servers = group('Servers', 'ElastiCache and PostgreSQL')
  entry.addIngressRule(isPublic ? Peer.anyIpv4() : Peer.ipv4(vpc.vpcCidrBlock), Port.tcp(certificateArn ? 443 : 80), 'clients')
  for (const port of [PORTS.reader, PORTS.gateway]) tasks.addIngressRule(entry, Port.tcp(port), 'load balancer')
  for (const port of [PORTS.server, PORTS.database]) servers.addIngressRule(tasks, Port.tcp(port), 'tasks')
  return { vpc, entry, tasks, servers }
}

export class FreshetStack extends Stack {
  /** @type {string[]} */
  #zones

  /**
   * @param {import('constructs').Construct} scope @param {string} id
   * @param {import('aws-cdk-lib').StackProps & { config: import('./config.js').Config, image: string, labImage: string }} props
   */
  constructor (scope, id, { config, image, labImage, ...props }) {
    super(scope, id, props)
    this.#zones = config.zones
    const network = createNetwork(this, config)
    const cache = createCache(this, config, network)
    const stores = createStores(this, config, network)
    const services = createServices(this, config, { image, labImage, network, cache, stores })
    const figures = { config, cache, services }
    createAlarms(this, figures)
    createDashboard(this, figures)
    explain(this)
  }

  /** Else they would be looked up in the account. */
  get availabilityZones () { return this.#zones }
}
