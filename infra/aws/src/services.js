/** The processes on Fargate, their load balancer, and how they scale. */
import { Duration, RemovalPolicy } from 'aws-cdk-lib'
import { Metric } from 'aws-cdk-lib/aws-cloudwatch'
import {
  Cluster, ContainerImage, ContainerInsights, CpuArchitecture, FargateService, FargateTaskDefinition, LogDrivers, Secret as EcsSecret
} from 'aws-cdk-lib/aws-ecs'
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager'
import { Repository } from 'aws-cdk-lib/aws-ecr'
import {
  ApplicationLoadBalancer, ApplicationProtocol, ListenerAction, ListenerCondition, TargetGroupLoadBalancingAlgorithmType
} from 'aws-cdk-lib/aws-elasticloadbalancingv2'
import { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs'
import { PARTITIONS_PER_SHARD, PORTS, TARGET_CPU_PERCENT } from './config.js'

/** of Freshet's own metrics */
export const NAMESPACE = 'Freshet'
/** a request, an acknowledgement and the drain of a writer end within it */
const STOP_SECONDS = 60
const UP_SECONDS = 60
/** Without it, all clients without a token would share one rate limit. */
const BEHIND_BALANCER = ['--trusted-proxies', '1']
const ECR = /^(\d{12})\.dkr\.ecr\.([a-z0-9-]+)\.amazonaws\.com\/([^:@]+)(?::(.+))?$/

/** @typedef {ReturnType<typeof createServices>} Services */
/** @typedef {import('./config.js').Task} Task */

/** @param {string} name of a service @param {string} metric */
export const serviceMetric = (name, metric, statistic = 'Average') => new Metric({
  namespace: NAMESPACE, metricName: metric, dimensionsMap: { service: name }, statistic, period: Duration.minutes(1)
})

/**
 * @param {import('aws-cdk-lib').Stack} stack @param {import('./config.js').Config} config
 * @param {{ image: string, labImage: string, network: import('./stack.js').Network, cache: import('./stores.js').Cache,
 *   stores: import('./stores.js').Stores }} parts
 */
export function createServices (stack, config, { image, labImage, network: { vpc, entry, tasks }, cache, stores }) {
  const cluster = new Cluster(stack, 'Cluster', { vpc, containerInsightsV2: ContainerInsights.ENABLED })
  const [writerUrl, primaryUrl] = ['writer', 'library'].map((name) => cache.urlOf(`freshet-${name}`, 'primary'))
  // a cluster has no reader endpoint: its map names the replicas
  const replicas = cache.inCluster ? {} : { FRESHET_REPLICA_URL: cache.urlOf('freshet-library', 'reader') }
  const partitions = cache.inCluster ? ['--partitions', String(PARTITIONS_PER_SHARD * cache.shards)] : []
  const auth = config.cache.auth === 'iam' ? { FRESHET_REDIS_AUTH: 'iam', AWS_REGION: config.region } : {}
  const database = stores.databaseUrl ? { FRESHET_DATABASE_URL: stores.databaseUrl } : {}
  const access = config.jwt
    ? ['--jwt-keys', config.jwt.keys, '--jwt-issuer', config.jwt.issuer, '--jwt-audience', config.jwt.audience]
    : ['--open']
  const prices = stores.prices ? ['--dynamodb-table', stores.prices.tableName] : []

  /**
   * @param {string} name @param {Task} size
   * @param {{ words: string[], secrets: Record<string, import('aws-cdk-lib/aws-secretsmanager').Secret>, port?: number,
   *   readFrom?: string, ofLab?: boolean }} run `ofLab`: its image, which writes results
   */
  function taskOf (name, { cpu, memoryMiB }, { words, secrets, port, readFrom, ofLab = false }) {
    const task = new FargateTaskDefinition(stack, `${name}-task`, {
      cpu, memoryLimitMiB: memoryMiB, runtimePlatform: { cpuArchitecture: CpuArchitecture[config.architecture] }
    })
    const logGroup = new LogGroup(stack, `${name}-log`, { retention: RetentionDays.ONE_MONTH, removalPolicy: RemovalPolicy.DESTROY })
    const container = task.addContainer(name, {
      image: imageOf(stack, name, ofLab ? labImage : image),
      command: words,
      readonlyRootFilesystem: !ofLab,
      stopTimeout: Duration.seconds(STOP_SECONDS),
      secrets: Object.fromEntries(Object.entries(secrets).map(([variable, secret]) => [variable, EcsSecret.fromSecretsManager(secret)])),
      environment: ofLab ? {} : { FRESHET_CLOUDWATCH_SERVICE: name, ...auth, ...(readFrom ? { FRESHET_READ_FROM: readFrom } : {}) },
      logging: LogDrivers.awsLogs({ streamPrefix: name, logGroup }),
      ...(port
        ? {
            portMappings: [{ containerPort: port }],
            healthCheck: { command: ['CMD', 'node', 'infra/docker/healthy.js', String(port)], startPeriod: Duration.seconds(UP_SECONDS) }
          }
        : {})
    })
    return { task, container }
  }

  const serviceOf = createStarter(stack, { cluster, tasks })
  const { writer, gateway, reader, consumers } = config.services
  const system = { FRESHET_REDIS_URL: primaryUrl, ...database }
  const writers = serviceOf('writer', taskOf('writer', writer, {
    words: ['writer', '--metrics-port', String(PORTS.metrics), ...partitions],
    secrets: { FRESHET_REDIS_URL: writerUrl },
    port: PORTS.metrics,
    readFrom: 'primary'
  }).task, writer.count, { isSource: true })
  const serving = {
    gateway: serviceOf('gateway', taskOf('gateway', gateway, {
      words: ['gateway', '--host', '0.0.0.0', '--port', String(PORTS.gateway), ...BEHIND_BALANCER, ...access, ...partitions],
      secrets: system,
      port: PORTS.gateway,
      readFrom: 'primary'
    }).task, gateway.least),
    reader: serviceOf('reader', taskOf('reader', reader, {
      words: ['reader', '--host', '0.0.0.0', '--port', String(PORTS.reader), ...BEHIND_BALANCER, ...access, ...prices],
      secrets: { ...system, ...replicas },
      port: PORTS.reader
    }).task, reader.least),
    consumers: serviceOf('consumers', taskOf('consumers', consumers, {
      words: ['consumers', '--systems', consumers.systems.join(','), ...consumers.flags, ...prices,
        '--metrics-port', String(PORTS.metrics)],
      secrets: system,
      port: PORTS.metrics
    }).task, consumers.least)
  }
  scale(serving, config)

  stores.prices?.grantReadData(serving.reader.taskDefinition.taskRole)
  stores.prices?.grantReadWriteData(serving.consumers.taskDefinition.taskRole)

  const { balancer, targets } = createBalancer(stack, config, { vpc, entry, serving })

  if (config.cache.auth === 'iam') {
    for (const [name, { taskDefinition }] of Object.entries({ writer: writers, ...serving })) {
      cache.mayConnect(taskDefinition, name === 'writer' ? 'freshet-writer' : 'freshet-library')
    }
  }

  // run by hand: aws ecs run-task, with the words of an experiment; the lab measures groups without cluster mode
  if (!cache.inCluster) {
    const { task } = taskOf('lab', { cpu: 2048, memoryMiB: 4096 }, {
      words: ['experiment', '001', '--aws-replication-group', cache.replicationGroup.ref],
      secrets: { FRESHET_TARGET: cache.urlOf('freshet-lab', 'primary') },
      ofLab: true
    })
    mayLook(task, cache.arn)
  }
  return { cluster, writers, serving, balancer, targets }
}

/** @param {Record<string, FargateService>} serving @param {import('./config.js').Config} config */
function scale (serving, { services }) {
  for (const [name, service] of Object.entries(serving)) {
    const { least, most } = services[/** @type {'gateway' | 'reader' | 'consumers'} */ (name)]
    const scaling = service.autoScaleTaskCount({ minCapacity: least, maxCapacity: most })
    scaling.scaleOnCpuUtilization('Cpu', { targetUtilizationPercent: TARGET_CPU_PERCENT, scaleInCooldown: Duration.minutes(5) })
    if (name === 'reader') {
      scaling.scaleToTrackCustomMetric('Streams', {
        metric: serviceMetric('reader', 'freshet_streams'),
        targetValue: services.reader.streams
      })
    }
  }
}

/**
 * @param {import('aws-cdk-lib').Stack} stack
 * @param {{ cluster: Cluster, tasks: import('./stack.js').Network['tasks'] }} parts
 * @returns {(name: string, taskDefinition: FargateTaskDefinition, desiredCount: number, how?: { isSource?: boolean }) => FargateService}
 */
const createStarter = (stack, { cluster, tasks }) => (name, taskDefinition, desiredCount, { isSource = false } = {}) =>
  new FargateService(stack, name, {
    cluster,
    taskDefinition,
    desiredCount,
    securityGroups: [tasks],
    circuitBreaker: { rollback: true },
    // a new one is ready before an old one stops; of a source, an old one stops first, or its items would be sent twice
    minHealthyPercent: isSource ? 0 : 100,
    maxHealthyPercent: isSource ? 100 : 200
  })

/**
 * From ECR, whose images a task may only pull with permission, or from a public registry.
 * @param {import('aws-cdk-lib').Stack} stack @param {string} name of the service @param {string} image
 */
function imageOf (stack, name, image) {
  const [, account, region, repositoryName, tag = 'latest'] = ECR.exec(image) ?? []
  if (!account) return ContainerImage.fromRegistry(image)
  const repositoryArn = stack.formatArn({ service: 'ecr', account, region, resource: 'repository', resourceName: repositoryName })
  const repository = Repository.fromRepositoryAttributes(stack, `${name}-image`, { repositoryArn, repositoryName })
  return ContainerImage.fromEcrRepository(repository, tag)
}

/** What --aws-replication-group asks. @param {FargateTaskDefinition} task @param {string} arn of the group */
function mayLook (task, arn) {
  task.addToTaskRolePolicy(new PolicyStatement({ actions: ['elasticache:DescribeReplicationGroups'], resources: [arn] }))
  // it takes no resource
  task.addToTaskRolePolicy(new PolicyStatement({ actions: ['cloudwatch:GetMetricData'], resources: ['*'] }))
}

/**
 * GET goes to readers, other methods to gateways, which have the routes of operations too.
 * @param {import('aws-cdk-lib').Stack} stack @param {import('./config.js').Config} config
 * @param {Pick<import('./stack.js').Network, 'vpc' | 'entry'> & { serving: Record<'reader' | 'gateway', FargateService> }} parts
 */
function createBalancer (stack, config, { vpc, entry, serving }) {
  const balancer = new ApplicationLoadBalancer(stack, 'Balancer', {
    vpc,
    internetFacing: config.isPublic,
    securityGroup: entry,
    dropInvalidHeaderFields: true,
    deletionProtection: true,
    // streams have a heartbeat within it; a process keeps a connection for longer (src/http/server.js), or a request meets a closed one
    idleTimeout: Duration.seconds(60)
  })
  const listener = balancer.addListener('Listener', {
    ...(config.certificateArn
      ? { port: 443, certificates: [Certificate.fromCertificateArn(stack, 'Certificate', config.certificateArn)] }
      : { port: 80, protocol: ApplicationProtocol.HTTP }),
    open: false,
    defaultAction: ListenerAction.fixedResponse(404)
  })
  const target = (/** @type {'reader' | 'gateway'} */ name, /** @type {number} */ priority, /** @type {string[]} */ methods) =>
    listener.addTargets(name, {
      priority,
      conditions: [ListenerCondition.httpRequestMethods(methods)],
      port: PORTS[name],
      protocol: ApplicationProtocol.HTTP,
      targets: [serving[name]],
      healthCheck: { path: '/readyz', interval: Duration.seconds(10), healthyThresholdCount: 2 },
      deregistrationDelay: Duration.seconds(STOP_SECONDS / 2),
      loadBalancingAlgorithmType: TargetGroupLoadBalancingAlgorithmType.LEAST_OUTSTANDING_REQUESTS
    })
  const targets = { reader: target('reader', 10, ['GET', 'HEAD']), gateway: target('gateway', 20, ['POST', 'PUT', 'DELETE']) }
  listener.addTargetGroups('dead-letters', {
    priority: 5, conditions: [ListenerCondition.pathPatterns(['/v1/systems/*/dead-letters*'])], targetGroups: [targets.gateway]
  })
  return { balancer, targets }
}
