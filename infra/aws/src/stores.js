/** Stores beside the servers, both optional: PostgreSQL of sales, bids and orders, and the history of prices. */
import { readFileSync } from 'node:fs'
import { ArnFormat, Duration, Fn, RemovalPolicy, SecretValue } from 'aws-cdk-lib'
import { AttributeType, BillingMode, Table, TableEncryption } from 'aws-cdk-lib/aws-dynamodb'
import { InstanceType, SubnetType } from 'aws-cdk-lib/aws-ec2'
import { CfnParameterGroup, CfnReplicationGroup, CfnSubnetGroup, CfnUser, CfnUserGroup } from 'aws-cdk-lib/aws-elasticache'
import { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs'
import { Credentials, DatabaseInstance, DatabaseInstanceEngine, PostgresEngineVersion } from 'aws-cdk-lib/aws-rds'
import { Secret } from 'aws-cdk-lib/aws-secretsmanager'
import { ENGINE_VERSION, PORTS } from './config.js'

/**
 * ElastiCache: one primary and its replicas, or a cluster; TLS, and a user for each kind of process.
 *
 * Limits there: no append-only file (durability `aof`), CONFIG is refused, and without cluster mode replicas cannot be discovered by ROLE
 * from outside: readers are given the reader endpoint. In a cluster they find replicas in its map.
 */

/** of docs/acl: who writes a feed, and who also reads and runs systems */
const USERS = Object.freeze(['freshet-writer', 'freshet-library', 'freshet-lab'])
const RULES = readFileSync(new URL('../../../docs/acl/freshet.acl', import.meta.url), 'utf8')
/** in a cluster, beside those (docs/acl/README.md) */
const CLUSTER_RULES = ' +cluster|slots +cluster|info +readonly'

/** @typedef {ReturnType<typeof createCache>} Cache */

/** Of this stack, since others may be in the same account. @param {import('aws-cdk-lib').Stack} stack */
const idOf = (stack) => stack.stackName.toLowerCase()

/** What a user may do, as ElastiCache takes it: what follows the name in an ACL file. @param {string} name @param {boolean} inCluster */
export function accessOf (name, inCluster) {
  const line = RULES.split('\n').find((rule) => rule.startsWith(`user ${name} `))
  if (!line) throw new Error(`docs/acl has no user ${name}`)
  return line.slice(`user ${name} `.length) + (inCluster ? CLUSTER_RULES : '')
}

/**
 * One primary and its replicas, or shards of them.
 * @param {import('./config.js').Config['cache']} cache @returns {Partial<import('aws-cdk-lib/aws-elasticache').CfnReplicationGroupProps>}
 */
const shapeOf = ({ cluster, replicas }) => cluster
  ? { clusterMode: 'enabled', numNodeGroups: cluster.shards, replicasPerNodeGroup: replicas, durability: cluster.durability }
  : { numCacheClusters: 1 + replicas }

/**
 * @param {import('aws-cdk-lib').Stack} stack @param {import('./config.js').Config} config
 * @param {import('./stack.js').Network} network
 */
export function createCache (stack, { cache }, { vpc, servers }) {
  const subnets = new CfnSubnetGroup(stack, 'CacheSubnets', {
    description: 'Freshet', subnetIds: vpc.isolatedSubnets.map((subnet) => subnet.subnetId)
  })
  const parameters = new CfnParameterGroup(stack, 'CacheParameters', {
    cacheParameterGroupFamily: 'valkey9',
    description: 'Freshet: a full server refuses writes, and evicts nothing',
    properties: {
      'maxmemory-policy': 'noeviction',
      'reserved-memory-percent': '25',
      activedefrag: 'yes',
      ...(cache.cluster ? { 'cluster-enabled': 'yes' } : {})
    }
  })
  const users = Object.fromEntries(USERS.map((name) => [name, createUser(stack, name, cache)]))
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
    ...shapeOf(cache),
    automaticFailoverEnabled: cache.replicas > 0 || cache.cluster !== null,
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
  const endpoints = cache.cluster
    ? { primary: replicationGroup.attrConfigurationEndPointAddress }
    : { primary: replicationGroup.attrPrimaryEndPointAddress, reader: replicationGroup.attrReaderEndPointAddress }
  /** A URL as the setting takes it, with the password if there is one. @param {string} name @param {'primary' | 'reader'} endpoint */
  const urlOf = (name, endpoint) => new Secret(stack, `Url-${name}-${endpoint}`, {
    description: `URL of the ${endpoint} endpoint for ${name}`,
    secretStringValue: SecretValue.unsafePlainText(Fn.join('', ['rediss://', users[name].user.userName,
      ...(users[name].password ? [':', users[name].password.secretValue.unsafeUnwrap()] : []), '@',
      /** @type {Record<string, string>} */ (endpoints)[endpoint], `:${PORTS.server}`]))
  })
  const arn = arnOf(stack, replicationGroup)
  /** Lets a task take tokens for this user. @param {import('aws-cdk-lib/aws-ecs').FargateTaskDefinition} task @param {string} name */
  const mayConnect = (task, name) => task.addToTaskRolePolicy(
    new PolicyStatement({ actions: ['elasticache:Connect'], resources: [arn, users[name].user.attrArn] }))
  return {
    replicationGroup,
    arn,
    urlOf,
    mayConnect,
    inCluster: cache.cluster !== null,
    shards: cache.cluster?.shards ?? 1,
    nodesOfShard: 1 + cache.replicas
  }
}

/** @param {import('aws-cdk-lib').Stack} stack @param {CfnReplicationGroup} group */
const arnOf = (stack, group) => stack.formatArn({
  service: 'elasticache', resource: 'replicationgroup', resourceName: group.ref, arnFormat: ArnFormat.COLON_RESOURCE_NAME
})

/** @param {import('aws-cdk-lib').Stack} stack @param {string} name @param {import('./config.js').Config['cache']} cache */
function createUser (stack, name, { auth, cluster }) {
  const userId = `${idOf(stack)}-${name}`
  const rules = { engine: 'valkey', userId, accessString: accessOf(name, cluster !== null) }
  // its name has to be its id
  if (auth === 'iam' && name !== 'freshet-lab') {
    return { user: new CfnUser(stack, `User-${name}`, { ...rules, userName: userId, authenticationMode: { Type: 'iam' } }) }
  }
  const password = new Secret(stack, `Password-${name}`, {
    description: `Password of ${name} on ElastiCache`, generateSecretString: { passwordLength: 48, excludePunctuation: true }
  })
  const passwords = [password.secretValue.unsafeUnwrap()]
  return { password, user: new CfnUser(stack, `User-${name}`, { ...rules, userName: name, passwords }) }
}

const USER = 'freshet'

/** @typedef {ReturnType<typeof createStores>} Stores */

/**
 * @param {import('aws-cdk-lib').Stack} stack @param {import('./config.js').Config} config
 * @param {import('./stack.js').Network} network
 */
export function createStores (stack, { database, priceHistory, cache, zones }, { vpc, servers }) {
  return {
    databaseUrl: database && databaseUrl(),
    prices: priceHistory
      ? new Table(stack, 'Prices', {
        partitionKey: { name: 'asset', type: AttributeType.STRING },
        sortKey: { name: 'at', type: AttributeType.STRING },
        timeToLiveAttribute: 'ttl',
        billingMode: BillingMode.PAY_PER_REQUEST,
        encryption: TableEncryption.AWS_MANAGED,
        pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
        removalPolicy: RemovalPolicy.RETAIN
      })
      : null
  }

  function databaseUrl () {
    const password = new Secret(stack, 'DatabasePassword', {
      description: 'Password of PostgreSQL', generateSecretString: { passwordLength: 48, excludePunctuation: true }
    })
    const instance = new DatabaseInstance(stack, 'Database', {
      engine: DatabaseInstanceEngine.postgres({ version: PostgresEngineVersion.VER_17_6 }),
      instanceType: new InstanceType(/** @type {any} */ (database).instance),
      allocatedStorage: /** @type {any} */ (database).gib,
      vpc,
      vpcSubnets: { subnetType: SubnetType.PRIVATE_ISOLATED },
      securityGroups: [servers],
      credentials: Credentials.fromPassword(USER, password.secretValue),
      databaseName: USER,
      multiAz: zones.length > 2,
      storageEncrypted: true,
      deletionProtection: true,
      backupRetention: Duration.days(Math.max(1, cache.snapshotDays)),
      preferredMaintenanceWindow: cache.maintenanceWindow,
      cloudwatchLogsExports: ['postgresql'],
      removalPolicy: RemovalPolicy.SNAPSHOT
    })
    return new Secret(stack, 'DatabaseUrl', {
      description: 'URL of PostgreSQL',
      // encrypted; the certificates of RDS come from an authority that neither Node.js nor the image knows
      secretStringValue: SecretValue.unsafePlainText(Fn.join('', [`postgres://${USER}:`, password.secretValue.unsafeUnwrap(), '@',
        instance.dbInstanceEndpointAddress, `:${PORTS.database}/${USER}?sslmode=no-verify`]))
    })
  }
}
