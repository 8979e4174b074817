/**
 * ONE table of settings. Flags, environment variables, `--help`, docs/settings.md and validation come from its rows. settings.js adds those
 * of systems, and binds it to what reads command lines, src/options.js to what reads the options of the library.
 *
 * The flag wins over the environment variable, the variable over the default. All faults are reported at once, each with its
 * value, the expected range and its origin. src/settings does that; what rows need to know of the rest of the program (names of
 * layouts and acks) is passed to it.
 */
import {
  brokerList, databaseUrl, FIELD, httpUrl, integer, keysSource, listWhere, matching, nodeUrls, number, oneOf, oneOfKnown, oneWhere,
  originList, orReplicas, present, proxyList, readableFile, serverUrl, serverUrls, trueOrFalse, writableFile, writerFlags
} from './settings/index.js'
import { ALL_SYSTEMS, isSystem, SYSTEM_NAMES } from './systems/names.js'

const MIB = 1024 * 1024
const MAX_MS = 2 ** 41 - 1
const ALL = ['start', 'demo', 'writer', 'reader', 'gateway', 'consumers', 'dead-letters', 'servers', 'doctor', 'feed', 'bench',
  'experiment']
/** `library`: the options of openFeed and openReader */
const CLIENTS = ['start', 'demo', 'writer', 'reader', 'gateway', 'consumers', 'dead-letters', 'feed', 'doctor', 'bench', 'library']
const FEED_NAME = matching('a name: a-z or 0-9 first, then up to 63 of a-z 0-9 . _ -', /^[a-z0-9][a-z0-9._-]{0,63}$/)
const APPENDS = ['writer', 'gateway', 'library']
const PLAN = 'plan'

/** @typedef {import('./settings/index.js').Context} Context */
/** @typedef {import('./settings/index.js').Row} Row */

/** @typedef {Omit<Row, 'group' | 'uses'> & { uses?: string[] }} RowPart */

/** @type {(name: string, meaning: string, rest: Omit<RowPart, 'name' | 'meaning'>) => RowPart} */
const row = (name, meaning, rest) => ({ name, meaning, ...rest })

/**
 * Rows that share a heading and commands; a row may name commands of its own.
 * @type {(group: string, uses: string[], rows: RowPart[]) => Row[]}
 */
const group = (title, uses, rows) => rows.map((part) => ({ group: title, uses, ...part }))

/** @type {readonly Row[]} */
export const SETTINGS = Object.freeze([
  ...group('Servers', [...CLIENTS, PLAN], [
    row('redisUrl', 'URL of the primary, of any nodes of a cluster, or of Sentinels; without it, the embedded servers are used, ' +
      'and started if necessary; plan: of servers to look at', { default: null, check: nodeUrls, secret: true }),
    row('replicaUrl', 'URLs of the replicas; without it, the primary lists them; a cluster lists its own',
      { uses: [...CLIENTS, 'experiment', PLAN], default: null, check: serverUrls, secret: true }),
    row('redisAuth', 'Password of the address, or IAM for its user (ElastiCache), with credentials and region that the AWS SDK finds',
      { uses: CLIENTS, default: 'password', check: oneOf('password', 'iam') }),
    row('keyPrefix', 'Prefix of all keys',
      { uses: CLIENTS, default: 'fr:', check: matching('1-32 of a-z 0-9 : _ -', /^[a-z0-9:_-]{1,32}$/) })
  ]),
  ...group('Servers', ['writer', 'reader', 'gateway', 'library'], [
    row('readFrom', 'Nodes to read from; without it, replicas, or the primary while it has not had one; with primary, writers and ' +
      'gateways report no figures of replicas', { default: null, check: oneOf('replica', 'primary') })
  ]),
  ...group('Servers', ['start', 'demo', 'reader', 'gateway', 'consumers', 'orders', 'doctor'], [
    row('databaseUrl', 'URL of the PostgreSQL database of sales, bids and orders; without it, the embedded one, started ' +
      'when consumers first need it', { default: null, check: databaseUrl, secret: true })
  ]),
  ...group('Servers', ['start', 'servers'], [
    row('cluster', 'Run the embedded servers as a cluster of 3 primaries with a replica each', { default: false, check: present }),
    row('sentinel', 'Run 3 Sentinels beside the embedded servers, so that a replica takes over from a primary that ends',
      { default: false, check: present })
  ]),
  ...group('Servers', ALL, [
    row('server', 'Program of the embedded servers; without it, the newest one found, or a pinned copy',
      { default: null, check: matching('a program such as valkey-server, or its path', /\S/) }),
    row('cacheDir', 'Directory for downloaded server programs; without it, .freshet beside the program',
      { default: null, check: matching('a directory', /\S/) })
  ]),
  ...group('Feed', ['start', 'writer'], [
    row('feed', 'Feed name', { default: 'latest', check: FEED_NAME })
  ]),
  ...group('Feed', ['feed'], [
    row('watch', 'show: print rate, lag and newest items once a second', { default: false, check: present })
  ]),
  ...group('Feed', ['start', ...APPENDS, 'feed'], [
    row('layout', 'Storage layout of a partition; writers of an existing feed take what is stored',
      { uses: ['start', ...APPENDS, 'feed', 'bench', PLAN], default: 'ids', check: oneOfKnown('layouts') }),
    row('sortedSetContainsActualValue', 'true = layout values, false = layout ids; --layout overrides it',
      { env: 'SORTED_SET_CONTAINS_ACTUAL_VALUE', default: null, check: trueOrFalse })
  ]),
  ...group('Feed', APPENDS, [
    row('partitions', 'Number of partitions', { uses: [...APPENDS, 'feed'], default: 1, check: integer(1, 1024) }),
    row('late', 'Which version of an id counts (layout ids): the newest, or the one written last; fixed when the feed is created',
      { uses: [...APPENDS, 'feed'], default: 'newest', check: oneOf('newest', 'overwrite') }),
    row('compress', 'Compression of batches (layout segments): fewer bytes, more CPU time in writers and views',
      { default: 'none', check: oneOf('none', 'brotli') }),
    row('maxFutureMs', 'Maximum time that an item may be ahead of the clock; others are refused',
      { unit: 'ms', default: 60_000, check: integer(0, MAX_MS) })
  ]),
  ...group('Feed', ['start', ...APPENDS, 'feed', PLAN], [
    row('windowMs', 'Maximum age of live items; 0 = no limit', { unit: 'ms', default: 60_000, check: integer(0, MAX_MS) }),
    row('maxItems', 'Maximum number of ids (layout ids) or versions (other layouts) per partition; 0 = no limit',
      { default: 1_000_000, check: integer(0, 1e9) })
  ]),
  ...group('Load', ['start', 'writer'], [
    row('rate', 'Target rate of each process; 0 = as fast as possible (the default with stdin)',
      { unit: 'items/s', uses: ['start', 'writer', 'experiment'], default: 10_000, defaults: { experiment: null }, check: number(0, 1e8) }),
    row('ids', 'Number of distinct ids of the sources buses and synthetic; plan: of the feed, without it as many as items in the window',
      { uses: ['start', 'writer', PLAN], default: 100_000, defaults: { plan: null }, check: integer(1, 1e9) }),
    row('valueBytes', 'Size of a synthetic value',
      { uses: ['start', 'writer', PLAN], unit: 'bytes', default: 128, check: integer(0, MIB) })
  ]),
  ...group('Load', ['writer'], [
    row('writers', 'Number of writer processes', { default: 1, check: integer(1, 64) }),
    row('items', 'Number of items after which each process stops', { default: null, check: integer(1, Number.MAX_SAFE_INTEGER) }),
    row('duration', 'Time after which the writer stops', { unit: 's', default: null, check: number(0.001, 1e7) }),
    row('warmUp', 'Warm-up time, which the summary excludes; --duration starts after it',
      { unit: 's', default: 0, check: number(0, 3600) }),
    row('valueChange', 'Whether each synthetic value differs from the one before', { default: 'always', check: oneOf('always', 'never') }),
    row('lateEvery', 'Every Nth synthetic id is late from its second version on: 10 s older than due; 0 = none',
      { default: 0, check: integer(0, 1_000_000) }),
    row('pace', 'Pace of the load: steady, or all items of a period at once', { default: 'steady', check: oneOf('steady', 'burst') }),
    row('periodMs', 'Period of --pace burst', { unit: 'ms', default: 1_000, check: integer(1, 3_600_000) }),
    row('chunks', 'Number of bursts per period', { default: 1, check: integer(1, 1_000) }),
    row('catchUp', 'Whether items that were due while the server was busy are sent late, or skipped and counted',
      { default: 'yes', check: oneOf('yes', 'no') })
  ]),
  ...group('Input', ['writer'], [
    row('source', 'Source of the items: positions of buses, numbered values as in the lab, or standard input',
      { default: 'buses', check: oneOf('buses', 'synthetic', 'stdin') }),
    row('file', 'File to read items from', { default: null, check: readableFile }),
    row('format', 'Format of the file or of standard input', { default: 'ndjson', check: oneOf('ndjson', 'csv', 'json') }),
    row('itemsField', 'Field of the document that holds the array of items (format json)', { default: null, check: FIELD }),
    row('idField', 'Field that holds the id', { default: 'id', check: FIELD }),
    row('tsField', 'Field of the time: epoch milliseconds or ISO 8601; records without it get the current time',
      { default: 'ts', check: FIELD }),
    row('valueField', 'Field that holds the value; without it, the value is the whole record', { default: null, check: FIELD }),
    row('replay', 'Replay speed: item times are shifted to now and set the pace; 1 = original speed',
      { default: null, check: number(0.001, 1e6) }),
    row('rejects', 'File for refused records: NDJSON with line, code, reason and the first 4,096 bytes; it is overwritten',
      { default: null, check: writableFile })
  ]),
  ...group('Write path', APPENDS, [
    row('batchItems', 'Maximum number of items per batch; 996 in layout ids (1,997 with late overwrite), 1,997 in values and stream',
      { default: 1_000, check: integer(1, 10_000) }),
    row('batchBytes', 'Maximum size of a batch', { unit: 'bytes', default: MIB, check: integer(1, 64 * MIB) }),
    row('batchMs', 'Time after the previous batch at which a partial batch is sent', { unit: 'ms', default: 5, check: integer(0, 60_000) }),
    row('inFlightBytes', 'Maximum number of bytes appended and not yet acknowledged',
      { unit: 'bytes', default: 16 * MIB, check: integer(1024, 1024 * MIB) }),
    row('ack', 'Nodes that must have a batch before it is acknowledged: the primary, also one replica, or that number of them',
      { default: 'primary', check: orReplicas(oneOfKnown('acks')) }),
    row('whenFull', 'What happens to items at the in-flight limit',
      { default: 'block', defaults: { gateway: 'refuse' }, check: oneOf('block', 'refuse', 'drop') }),
    row('drainMs', 'Maximum time to flush when a feed is closed', { unit: 'ms', default: 10_000, check: integer(0, 600_000) })
  ]),
  ...group('Write path', ['writer', 'reader', 'gateway', 'consumers', 'dead-letters', 'library', 'feed', 'bench'], [
    row('deadlineMs', 'Reply timeout; the connection is then closed', { unit: 'ms', default: 1_000, check: integer(10, 600_000) })
  ]),
  ...group('Write path', ['gateway'], [
    row('ackWithinMs', 'Maximum time that a request waits for its acknowledgement; the reply is then 503, outcome unknown',
      { uses: ['gateway', 'consumers'], unit: 'ms', default: 5_000, check: integer(10, 600_000) }),
    row('maxFeeds', 'Number of existing feeds at which a POST no longer creates feeds; 0 = a POST never does',
      { default: 1_000, check: integer(0, 1_000_000) })
  ]),
  ...group('Systems', ['dead-letters'], [
    row('system', 'System whose dead letters are shown: one of ours, or the path of a module of your own',
      { default: 'sales', check: oneWhere(`${SYSTEM_NAMES.join(', ')}, or a path`, (text) => isSystem(text) && text !== ALL_SYSTEMS) })
  ]),
  ...group('Systems', ['gateway', 'reader', 'consumers', 'doctor'], [
    row('systems', 'Systems to serve, separated by commas; all = those of Freshet; with a / or .js at the end: the path of a module of ' +
      'your own, from the working folder; without it, all',
    { default: null, check: listWhere(`all, some of ${SYSTEM_NAMES.join(', ')}, or paths, separated by commas`, isSystem) })
  ]),
  ...group('Systems', ['consumers'], [
    row('kafkaBrokers', 'Kafka brokers, host:port, separated by commas: entries are also written to the topic freshet.SYSTEM',
      { default: null, check: brokerList })
  ]),
  ...group('Systems', ['gateway', 'consumers'], [
    row('systemPartitions', 'Number of partitions of a system such as auctions; the first process decides',
      { default: 16, check: integer(1, 1024) }),
    row('requestMs', 'Time that the reply of an accepted command is kept for repeated requests',
      { uses: ['gateway', 'consumers', 'reader'], unit: 'ms', default: 600_000, check: integer(1_000, 7 * 86_400_000) }),
    row('keepMs', 'How long an ended auction, sale or order is kept on the server',
      { unit: 'ms', default: 86_400_000, check: integer(1_000, MAX_MS) })
  ]),
  ...group('Systems', ['gateway'], [
    row('maxOutbox', 'Number of entries of a partition above which commands are refused while consumers are more than --request-ms behind',
      { default: 1_000_000, check: integer(1000, 1e9) }),
    row('durability', 'When a command counts as accepted: the primary has it (memory), also one replica or that number of them, its ' +
      'append-only file (aof), or the database (db: sales only); without it, memory, for sales and orders replica if there is one',
    { uses: ['gateway', 'consumers'], default: null, check: orReplicas(oneOf('memory', 'replica', 'aof', 'db')) }),
    row('maxWaitMs', 'Wait of the oldest unfinished order above which a POST of an order is refused, and of the oldest claim without its ' +
      'row above which claims are, with durability db; 0 = never',
    { unit: 'ms', default: 10_000, check: integer(0, 3_600_000) })
  ]),
  ...group('Payments', ['payments'], [
    row('ledger', 'File of the ledger, one JSON object per change; without it, the ledger is lost with the process',
      { default: null, check: matching('a file', /\S/) }),
    row('callbackUrl', 'URL of callbacks, /v1/payments/callbacks of a gateway; without it, no callbacks',
      { default: null, check: httpUrl })
  ]),
  ...group('HTTP', ['start', 'demo', 'reader', 'gateway', 'exchanges', 'payments'], [
    row('port', 'Port to listen on (start, demo: port of the reader; exchanges: first of three ports); 0 = any free port',
      { default: 8080, defaults: { gateway: 8081, exchanges: 8090, payments: 8095 }, check: integer(0, 65_535) })
  ]),
  ...group('HTTP', ['start', 'demo'], [
    row('gatewayPort', 'Port of the gateway; 0 = any free port', { default: 8081, check: integer(0, 65_535) })
  ]),
  ...group('HTTP', ['reader', 'gateway'], [
    row('host', 'Address to listen on (writer, consumers: for --metrics-port)',
      { uses: ['reader', 'gateway', 'writer', 'consumers'], default: '127.0.0.1', check: matching('an address or host name', /^[A-Za-z0-9.:_-]+$/) }),
    row('open', 'Allow a --host other than this machine without --tokens or --jwt-keys',
      { uses: ['reader', 'gateway', 'writer', 'consumers'], default: false, check: present })
  ]),
  ...group('HTTP', ['start', 'reader', 'gateway', 'writer', 'consumers'], [
    row('tokens', 'File of bearer tokens, one JSON object per line with token, scopes and feeds; read again when it changes',
      { default: null, check: matching('a file', /\S/) }),
    row('jwtIssuer', 'Issuer of JSON Web Tokens, their claim iss', { default: null, check: matching('text', /\S/) }),
    row('jwtAudience', 'Audience of JSON Web Tokens, in their claim aud', { default: null, check: matching('text', /\S/) }),
    row('jwtKeys', 'JSON Web Key Set of that issuer: a file, which is read again when it changes, or a URL',
      { default: null, check: keysSource }),
    row('tlsCert', 'Certificate for HTTPS, PEM; read again when it changes', { default: null, check: matching('a file', /\S/) }),
    row('tlsKey', 'Private key of that certificate, PEM; read again when it changes', { default: null, check: matching('a file', /\S/) })
  ]),
  ...group('HTTP', ['start', 'reader', 'gateway'], [
    row('corsOrigin', 'Origins whose web pages may use this API', { default: null, check: originList }),
    row('rateLimit', 'Maximum requests per second of one token, or of one address without a token',
      { unit: 'requests/s', default: null, check: integer(1, 1_000_000) }),
    row('trustedProxies', 'Proxies whose X-Forwarded-For names the client, for the rate limit: networks, or the number of proxies',
      { default: null, check: proxyList })
  ]),
  ...group('HTTP', ['reader'], [
    row('maxStaleMs', 'Maximum age of the last reply, which is served while the servers are unreachable',
      { unit: 'ms', default: 10_000, check: integer(0, 3_600_000) }),
    row('maxUnconfirmedMs', 'Time without contact with the primary, by this reader or a replica, after which replies are 503; ' +
      'without it, they are marked as stale', { unit: 'ms', default: null, check: integer(1_000, 3_600_000) })
  ]),
  ...group('HTTP', ['reader'], [
    row('gatewayUrl', 'URL of the gateway that the pages of auctions and sales send commands to; without it, they have no form',
      { default: null, check: httpUrl })
  ]),
  ...group('Demo', ['demo'], [
    row('crowd', 'Whether a crowd takes part', { default: 'yes', check: oneOf('yes', 'no') }),
    row('workers', 'Number of processes that drive orders, in the demo orders', { default: 1, check: integer(0, 16) })
  ]),
  ...group('Push', ['reader'], [
    row('maxStreams', 'Maximum number of concurrent /live streams; further clients have to retry later',
      { default: 1_000, check: integer(0, 100_000) }),
    row('maxStreamsPerToken', 'Maximum number of concurrent /live streams per token, where tokens are required',
      { default: 100, check: integer(1, 100_000) })
  ]),
  ...group('Views', ['reader', 'library'], [
    row('views', 'Feeds held in memory: those whose layout cannot answer every query (auto), all, or none',
      { default: 'auto', check: oneOf('auto', 'all', 'none') }),
    row('maxViewItems', 'Maximum number of live items held in memory per feed; the newest are kept',
      { default: 2_000_000, check: integer(1, 1e9) }),
    row('maxViewBytes', 'Maximum memory for these items per feed', { unit: 'bytes', default: 1024 * MIB, check: integer(MIB, 2 ** 40) })
  ]),
  ...group('Experiment', ['experiment'], [
    row('quick', 'Run one short round as a check; its figures are not a result', { default: false, check: present }),
    row('count', 'Count instructions of the servers, under valgrind, beside the windows of the newest result, or of the ad-hoc run',
      { default: false, check: present }),
    row('rounds', 'Number of rounds; without it, as in the plan', { default: null, check: integer(1, 100) }),
    row('arms', 'Arms to measure; without it, all', { default: null, check: matching('names of arms, separated by commas', /\S/) }),
    row('seconds', 'Duration of one measurement after its warm-up; without it, as in the plan',
      { unit: 's', default: null, check: number(0.1, 3600) }),
    row('target', 'URL of a primary to measure on, with its replicas; it is never flushed, and all written keys are removed',
      { default: null, check: serverUrl, secret: true }),
    row('awsReplicationGroup', 'Name of the ElastiCache replication group of --target: names its replicas, and adds what CloudWatch ' +
      'says of each node during 5 minutes of each arm', { default: null, check: matching('a name such as freshet-1', /^[a-zA-Z][a-zA-Z0-9-]{0,39}$/) }),
    row('engine', 'Server programs to measure on; plans that name none use the first',
      { default: null, check: matching('names such as valkey or "redis 6.2", or programs, separated by commas', /\S/) }),
    row('rttMs', 'Round-trip delay added between writers and servers', { unit: 'ms', default: 0, check: number(0, 1000) }),
    row('a', 'Ad-hoc: settings of the baseline', { env: null, default: null, check: writerFlags }),
    row('b', 'Ad-hoc: settings to compare with the baseline', { env: null, default: null, check: writerFlags })
  ]),
  ...group('Plan', [PLAN], [
    row('itemsPerSecond', 'Items per second of the feed', { unit: 'items/s', default: 100_000, check: number(1, 1e9) }),
    row('replicas', 'Number of replicas of each primary', { default: 2, check: integer(0, 16) }),
    row('readers', 'Number of reader processes', { default: 2, check: integer(0, 10_000) }),
    row('requestsPerSecond', 'Requests per second to all readers', { default: 0, check: number(0, 1e9) }),
    row('nodeType', 'Type of node, such as cache.r7g.large: shows its arithmetic; with --redis-url, that of the servers',
      { default: null, check: matching('a type of node such as cache.r7g.large', /^(cache\.)?[a-z0-9]+\.[a-z0-9]+$/) })
  ]),
  ...group('Operating', ['start', 'writer', 'feed', 'dead-letters', PLAN], [
    row('json', 'Print the summary (plan: the plan; feed, dead-letters: each result) as a line of JSON, as to a file or pipe, at a ' +
      'terminal too',
    { default: false, check: present })
  ]),
  ...group('Operating', ['writer', 'consumers'], [
    row('metricsPort', 'Port for /metrics and /livez of this process; 0 = any free port', { default: null, check: integer(0, 65_535) })
  ]),
  ...group('Operating', ['writer', 'reader', 'gateway', 'consumers'], [
    row('cloudwatchService', 'Service name in metrics for CloudWatch: one line per minute on standard error, in its embedded metric ' +
      'format; writers and consumers need --metrics-port; without it, none',
    { default: null, check: matching('1-64 of a-z A-Z 0-9 _ -', /^[A-Za-z0-9_-]{1,64}$/) })
  ]),
  ...group('Operating', [...ALL.filter((command) => command !== 'experiment'), 'exchanges', 'orders', 'payments'], [
    row('logLevel', 'Minimum log level', { default: 'info', check: oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent') })
  ])
])
