/** Stores beside the servers, both optional: PostgreSQL of sales, bids and orders, and the history of prices. */
import { Duration, Fn, RemovalPolicy, SecretValue } from 'aws-cdk-lib'
import { AttributeType, BillingMode, Table, TableEncryption } from 'aws-cdk-lib/aws-dynamodb'
import { InstanceType, SubnetType } from 'aws-cdk-lib/aws-ec2'
import { Credentials, DatabaseInstance, DatabaseInstanceEngine, PostgresEngineVersion } from 'aws-cdk-lib/aws-rds'
import { Secret } from 'aws-cdk-lib/aws-secretsmanager'
import { PORTS } from './config.js'

const USER = 'freshet'

/** @typedef {ReturnType<typeof createStores>} Stores */

/**
 * @param {import('aws-cdk-lib').Stack} stack @param {import('./config.js').Config} config
 * @param {import('./network.js').Network} network
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
