/** The network: a public part for the load balancer, a private one for tasks, an isolated one for servers. */
import {
  FlowLogDestination, FlowLogTrafficType, GatewayVpcEndpointAwsService, Peer, Port, SecurityGroup, SubnetType, Vpc
} from 'aws-cdk-lib/aws-ec2'
import { PORTS } from './config.js'

/** @typedef {ReturnType<typeof createNetwork>} Network */

/** @param {import('aws-cdk-lib').Stack} stack @param {import('./config.js').Config} config */
export function createNetwork (stack, { zones, isPublic, certificateArn }) {
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
