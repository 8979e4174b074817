/**
 * Everything that can be chosen, per tier. `npx cdk synth --context tier=medium` chooses one; `--context image=...` the container image.
 *
 * @typedef {object} Config
 * @property {string} region
 * @property {string} account
 * @property {string[]} zones availability zones, as many as the most that hold nodes or tasks
 * @property {object} cache
 * @property {string} cache.nodeType `npx freshet plan` says which
 * @property {number} cache.vcpu of this type; on 2 vCPU one core is 50 % of CPUUtilization
 * @property {number} cache.replicas of each primary
 * @property {{ shards: number, durability: 'sync' | 'async' | 'disabled' } | null} cache.cluster cluster mode; null: one primary.
 *   `durability` keeps writes in a log of several zones, before the reply (`sync`) or up to 10 s after it (`async`); needs a replica, and
 *   cannot be added or removed later: docs/deploying.md
 * @property {'password' | 'iam'} cache.auth of all processes but the lab; `iam`: tokens of the role of the task, no stored passwords
 * @property {string} cache.snapshotWindow UTC; not within the maintenance window
 * @property {string} cache.maintenanceWindow UTC: engine updates, with a failover
 * @property {number} cache.snapshotDays 0 = no snapshots: a feed is refilled by its writers, systems are not
 * @property {object} services
 * @property {Task & { count: number }} services.writer fixed: each is a source, of synthetic items as the command makes them; 0 = none
 * @property {Task & Range} services.gateway
 * @property {Task & Range & { streams: number }} services.reader `streams`: open /live streams of one reader at which another is started
 * @property {Task & Range & { systems: string[], flags: string[] }} services.consumers `systems`: sales and orders need `database`; prices
 *   needs exchanges, orders a payment provider: their flags, and a key of the provider as a secret of your own
 * @property {{ instance: string, gib: number } | null} database PostgreSQL of sales, bids and orders; null: none, and no durability `db`
 * @property {boolean} priceHistory a DynamoDB table of prices
 * @property {'ARM64' | 'X86_64'} architecture of the tasks, for which the images were built
 * @property {string | null} certificateArn of the load balancer; null: HTTP, for networks that are not open to the internet
 * @property {boolean} isPublic whether the load balancer is open to the internet; then it needs `certificateArn` and `jwt`
 * @property {{ keys: string, issuer: string, audience: string } | null} jwt who may call: URL of a JSON Web Key Set; null: everybody in the
 *   network
 * @property {string | null} alarmTopicArn SNS topic of alarms; null: they are only shown
 *
 * @typedef {{ cpu: number, memoryMiB: number }} Task 1,024 are a vCPU
 * @typedef {{ least: number, most: number }} Range of tasks
 */

/** of every tier, until it is changed here */
const SHARED = Object.freeze({
  region: 'us-east-1',
  account: '111111111111',
  priceHistory: false,
  architecture: 'ARM64',
  certificateArn: null,
  isPublic: false,
  jwt: null,
  alarmTopicArn: null
})
const CACHE = Object.freeze({
  snapshotWindow: '03:00-04:00', maintenanceWindow: 'sun:05:00-sun:06:00', cluster: null, auth: /** @type {const} */ ('password')
})

/** As for the published deployments: small, one of each; medium, 1 to 3; large, 2 to 5. @type {Readonly<Record<string, Config>>} */
export const TIERS = Object.freeze({
  small: {
    ...SHARED,
    zones: ['us-east-1a', 'us-east-1b'],
    cache: { ...CACHE, nodeType: 'cache.m7g.large', vcpu: 2, replicas: 1, snapshotDays: 1 },
    services: {
      writer: { count: 1, cpu: 1024, memoryMiB: 2048 },
      gateway: { least: 1, most: 1, cpu: 512, memoryMiB: 1024 },
      reader: { least: 1, most: 1, streams: 500, cpu: 1024, memoryMiB: 2048 },
      consumers: { least: 1, most: 1, cpu: 512, memoryMiB: 1024, systems: ['auctions'], flags: [] }
    },
    database: null
  },
  medium: {
    ...SHARED,
    zones: ['us-east-1a', 'us-east-1b', 'us-east-1c'],
    cache: { ...CACHE, nodeType: 'cache.r7g.large', vcpu: 2, replicas: 2, snapshotDays: 3 },
    services: {
      writer: { count: 2, cpu: 1024, memoryMiB: 2048 },
      gateway: { least: 1, most: 3, cpu: 1024, memoryMiB: 2048 },
      reader: { least: 2, most: 6, streams: 500, cpu: 1024, memoryMiB: 4096 },
      consumers: { least: 1, most: 3, cpu: 1024, memoryMiB: 2048, systems: ['auctions', 'sales'], flags: [] }
    },
    database: { instance: 'm7g.large', gib: 100 }
  },
  large: {
    ...SHARED,
    zones: ['us-east-1a', 'us-east-1b', 'us-east-1c'],
    cache: {
      ...CACHE, nodeType: 'cache.r7g.xlarge', vcpu: 4, replicas: 2, snapshotDays: 7, cluster: { shards: 3, durability: 'sync' }
    },
    services: {
      writer: { count: 8, cpu: 2048, memoryMiB: 4096 },
      gateway: { least: 2, most: 10, cpu: 1024, memoryMiB: 2048 },
      reader: { least: 4, most: 40, streams: 800, cpu: 2048, memoryMiB: 8192 },
      consumers: {
        least: 2,
        most: 5,
        cpu: 1024,
        memoryMiB: 2048,
        systems: ['auctions', 'sales', 'prices'],
        flags: ['--exchanges', 'coinbase,kraken,bitstamp']
      }
    },
    database: { instance: 'r7g.xlarge', gib: 500 },
    priceHistory: true
  }
})

/** The first with MSETEX. */
export const ENGINE_VERSION = '9.1'
/** of a feed in a cluster: it spreads over shards that are added later, too */
export const PARTITIONS_PER_SHARD = 2
export const PORTS = Object.freeze({ server: 6379, reader: 8080, gateway: 8081, metrics: 9090, database: 5432 })
/** of a core that is busy: where another task is started */
export const TARGET_CPU_PERCENT = 70
