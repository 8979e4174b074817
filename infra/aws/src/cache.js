/**
 * ElastiCache: one primary and its replicas, TLS, and a user for each kind of process.
 *
 * Limits there: no MSETEX, no append-only file (durability `aof`), CONFIG is refused, and replicas cannot be discovered by ROLE from
 * outside: readers are given the reader endpoint.
 */
import { readFileSync } from 'node:fs'
import { Fn, RemovalPolicy, SecretValue } from 'aws-cdk-lib'
import { CfnParameterGroup, CfnReplicationGroup, CfnSubnetGroup, CfnUser, CfnUserGroup } from 'aws-cdk-lib/aws-elasticache'
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs'
import { Secret } from 'aws-cdk-lib/aws-secretsmanager'
import { ENGINE_VERSION, PORTS } from './config.js'

/** of docs/acl: who writes a feed, and who also reads and runs systems */
const USERS = Object.freeze(['freshet-writer', 'freshet-library', 'freshet-lab'])
const RULES = readFileSync(new URL('../../../docs/acl/freshet-without-msetex.acl', import.meta.url), 'utf8')

/** @typedef {ReturnType<typeof createCache>} Cache */

/** Of this stack, since others may be in the same account. @param {import('aws-cdk-lib').Stack} stack */
const idOf = (stack) => stack.stackName.toLowerCase()

/** What a user may do, as ElastiCache takes it: what follows the name in an ACL file. @param {string} name */
export function accessOf (name) {
  const line = RULES.split('\n').find((one) => one.startsWith(`user ${name} `))
  if (!line) throw new Error(`docs/acl has no user ${name}`)
  return line.slice(`user ${name} `.length)
}

/**
 * @param {import('aws-cdk-lib').Stack} stack @param {import('./config.js').Config} config
 * @param {import('./network.js').Network} network
 */
export function createCache (stack, { cache }, { vpc, servers }) {
  const subnets = new CfnSubnetGroup(stack, 'CacheSubnets', {
    description: 'Freshet', subnetIds: vpc.isolatedSubnets.map((one) => one.subnetId)
  })
  const parameters = new CfnParameterGroup(stack, 'CacheParameters', {
    cacheParameterGroupFamily: 'valkey8',
    description: 'Freshet: a full server refuses writes, and evicts nothing',
    properties: { 'maxmemory-policy': 'noeviction', 'reserved-memory-percent': '25', activedefrag: 'yes' }
  })
  const users = Object.fromEntries(USERS.map((name) => [name, createUser(stack, name)]))
  const group = new CfnUserGroup(stack, 'CacheUsers', {
    engine: 'valkey', userGroupId: idOf(stack), userIds: Object.values(users).map(({ user }) => user.userId)
  })
  for (const { user } of Object.values(users)) group.addResourceDependency(user)
  const slow = new LogGroup(stack, 'CacheSlowLog', { retention: RetentionDays.ONE_MONTH, removalPolicy: RemovalPolicy.DESTROY })
  const replicationGroup = new CfnReplicationGroup(stack, 'Cache', {
    replicationGroupDescription: 'Freshet',
    engine: 'valkey',
    engineVersion: ENGINE_VERSION,
    cacheNodeType: cache.nodeType,
    numCacheClusters: 1 + cache.replicas,
    automaticFailoverEnabled: cache.replicas > 0,
    multiAzEnabled: cache.replicas > 0,
    port: PORTS.server,
    cacheParameterGroupName: parameters.ref,
    cacheSubnetGroupName: subnets.ref,
    securityGroupIds: [servers.securityGroupId],
    transitEncryptionEnabled: true,
    transitEncryptionMode: 'required',
    atRestEncryptionEnabled: true,
    userGroupIds: [group.ref],
    autoMinorVersionUpgrade: true,
    preferredMaintenanceWindow: cache.maintenanceWindow,
    ...(cache.snapshotDays > 0 ? { snapshotRetentionLimit: cache.snapshotDays, snapshotWindow: cache.snapshotWindow } : {}),
    logDeliveryConfigurations: [{
      destinationType: 'cloudwatch-logs',
      destinationDetails: { cloudWatchLogsDetails: { logGroup: slow.logGroupName } },
      logFormat: 'json',
      logType: 'slow-log'
    }]
  })
  const endpoints = { primary: replicationGroup.attrPrimaryEndPointAddress, reader: replicationGroup.attrReaderEndPointAddress }
  /** A URL with the password, as the setting takes it. @param {string} user @param {keyof typeof endpoints} endpoint */
  const urlOf = (user, endpoint) => new Secret(stack, `Url-${user}-${endpoint}`, {
    description: `URL of the ${endpoint} endpoint for ${user}`,
    secretStringValue: SecretValue.unsafePlainText(Fn.join('', ['rediss://', user, ':',
      users[user].password.secretValue.unsafeUnwrap(), '@', endpoints[endpoint], `:${PORTS.server}`]))
  })
  return { replicationGroup, urlOf, nodes: 1 + cache.replicas }
}

/** @param {import('aws-cdk-lib').Stack} stack @param {string} name */
function createUser (stack, name) {
  const password = new Secret(stack, `Password-${name}`, {
    description: `Password of ${name} on ElastiCache`, generateSecretString: { passwordLength: 48, excludePunctuation: true }
  })
  const user = new CfnUser(stack, `User-${name}`, {
    engine: 'valkey',
    userId: `${idOf(stack)}-${name}`,
    userName: name,
    accessString: accessOf(name),
    passwords: [password.secretValue.unsafeUnwrap()]
  })
  return { user, password }
}
