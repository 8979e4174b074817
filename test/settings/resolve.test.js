import t from 'tap'
import { SETTINGS, SettingsInvalid, flagOf, resolve, optionsOf, resolveOptions } from '../../settings.js'

const WRITER = { command: 'writer', layouts: ['ids', 'values'], acks: ['primary'] }
const READER = { ...WRITER, command: 'reader' }
const COMMANDS = ['start', 'demo', 'writer', 'reader', 'servers', 'doctor', 'feed', 'gateway', 'consumers', 'dead-letters', 'exchanges',
  'experiment', 'orders', 'payments', 'plan', 'bench', 'library']

/**
 * @param {string[]} argv
 * @param {Record<string, string>} [env]
 * @param {Parameters<typeof resolve>[2]} [known]
 * @returns {SettingsInvalid}
 */
function faultsOf (argv, env = {}, known = WRITER) {
  try {
    resolve(argv, env, known)
  } catch (error) {
    if (error instanceof SettingsInvalid) return error
    throw error
  }
  throw new Error(`${argv.join(' ')} was accepted`)
}

t.test('without flags and environment every setting has its default', async (t) => {
  for (const command of COMMANDS) {
    const settings = resolve([], {}, { ...WRITER, command })
    const rows = SETTINGS.filter(({ uses }) => uses.includes(command))
    for (const { name, default: value, defaults = {} } of rows) {
      t.equal(settings[name], command in defaults ? defaults[command] : value, `${command}: ${name}`)
      t.equal(settings.origins[name], 'default')
    }
    t.same(Object.keys(settings).sort(), [...rows.map(({ name }) => name), 'origins', 'positionals'].sort())
  }
})

t.test('every default passes its own check, and every setting is used', async (t) => {
  for (const row of SETTINGS) {
    if (row.default !== null) t.same(row.check.read(String(row.default), WRITER), row.default, row.name)
    t.ok(row.uses.length > 0 && row.uses.every((command) => COMMANDS.includes(command)), row.name)
    t.equal(/Ms$/.test(row.name), row.unit === 'ms', `${row.name} carries its unit`)
  }
})

t.test('a flag comes before the environment, and the environment before the default', async (t) => {
  const env = { FRESHET_RATE: '200', FRESHET_FEED: 'positions' }
  const settings = resolve(['--rate', '300', '--batch-ms=7'], env, WRITER)
  t.match(settings, { rate: 300, feed: 'positions', batchMs: 7, partitions: 1 })
  t.match(settings.origins, { rate: '--rate', feed: 'FRESHET_FEED', batchMs: '--batch-ms', partitions: 'default' })
  t.equal(resolve([], { FRESHET_RATE: '' }, WRITER).rate, 10_000, 'an empty variable counts as unset')
})

t.test('settings cannot be changed afterwards', async (t) => {
  const settings = resolve([], {}, WRITER)
  t.throws(() => { /** @type {any} */ (settings).rate = 1 }, TypeError)
  t.throws(() => { settings.origins.rate = 'somewhere' }, TypeError)
})

t.test('all faults are reported at once, each with value, expected range and origin', async (t) => {
  const error = faultsOf(['--partitions', '0', '--late', 'never', '--batch-ms', 'soon', '--rate', '--layout', 'list', '--no-such', '5',
    'word'], { FRESHET_WINDOW_MS: '-1', FRESHET_FEED: 'A B' })
  t.match(error, { code: 'SETTINGS_INVALID', exitStatus: 2 })
  t.same(error.faults.toSorted(), [
    'unexpected argument "word"; a value follows its flag',
    'batchMs: soon (--batch-ms); expected an integer from 0 to 60,000',
    'feed: A B (FRESHET_FEED); expected a name: a-z or 0-9 first, then up to 63 of a-z 0-9 . _ -',
    'late: never (--late); expected newest | overwrite',
    'layout: list (--layout); expected ids | values',
    'partitions: 0 (--partitions); expected an integer from 1 to 1,024',
    'rate: no value (--rate); expected a number from 0 to 100,000,000',
    'windowMs: -1 (FRESHET_WINDOW_MS); expected an integer from 0 to 2,199,023,255,551'
  ].concat(error.faults.filter((fault) => fault.startsWith('--no-such'))).toSorted())
  t.match(error.faults.find((fault) => fault.startsWith('--no-such')), /^--no-such is unknown; writer --help lists the flags$/)
  for (const fault of error.faults) t.ok(error.message.includes(fault))
})

/** @type {[string, string[]][]} setting, texts that are not accepted */
const REFUSED = [
  ['partitions', ['1.5', '1e2', '-1', '+1', '', ' 1', '1025', 'NaN', 'Infinity', '0x10']],
  ['rate', ['-1', '1e9', '1.', '.5', 'NaN', '100000001']],
  ['redisUrl', ['127.0.0.1:6379', 'http://host', 'redis://', 'redis', '']],
  ['replicaUrl', ['redis://a,', 'redis://a,http://b']],
  ['keyPrefix', ['', 'FR:', '{x}', 'a*', 'x'.repeat(33)]],
  ['feed', ['', 'A', '.a', 'a b', '{a}', 'x'.repeat(65)]],
  ['idField', ['', ' ', '.', 'a.', '.a', 'a..b', 'a. .b']],
  ['logLevel', ['verbose', 'INFO']],
  ['jwtKeys', ['', 'http://example.org/keys', 'ftp://127.0.0.1/keys', 'https://']]
]

for (const [name, texts] of REFUSED) {
  t.test(`${name} does not take ${texts.map((text) => JSON.stringify(text.slice(0, 20))).join(', ')}`, async (t) => {
    for (const text of texts) {
      const { faults } = faultsOf(['--source', 'stdin', `--${flagOf(name)}=${text}`])
      t.equal(faults.length, 1)
      t.match(faults[0], new RegExp(`^${name}: .* \\(--${flagOf(name)}\\); expected `))
    }
  })
}

t.test('gatewayUrl accepts only the address of a gateway, without a password', async (t) => {
  for (const text of ['', 'reader', '127.0.0.1:8080', 'redis://host', 'http://', 'http://user:password@host', 'http://host?a=b',
    'http://host#a']) {
    const { faults } = faultsOf([`--gateway-url=${text}`], {}, READER)
    t.equal(faults.length, 1, text)
    t.match(faults[0], /^gatewayUrl: .* \(--gateway-url\); expected http:\/\/host\[:port\], or https/)
  }
  t.equal(resolve(['--gateway-url', 'https://host/behind/a/proxy'], {}, READER).gatewayUrl, 'https://host/behind/a/proxy')
})

t.test('the URL of a payment provider has no password and no query, and the error says so', async (t) => {
  const consumers = { ...READER, command: 'consumers' }
  for (const [text, why] of /** @type {const} */ ([['https://user:word@host/v1', /it has a user or a password/],
    ['https://host/v1?version=2', /it has a query or a fragment/]])) {
    t.match(faultsOf([`--payment-url=${text}`], {}, consumers).faults, [why])
  }
  t.equal(resolve(['--payment-url', 'https://host/behind/a/proxy'], {}, consumers).paymentUrl, 'https://host/behind/a/proxy')
})

t.test('an origin has a scheme and a host, and no path', async (t) => {
  for (const text of ['', '*', 'null', 'example.org', 'https://example.org/', 'https://example.org/page', 'https://a,']) {
    t.match(faultsOf([`--cors-origin=${text}`], {}, READER).faults, [/^corsOrigin: .* \(--cors-origin\); expected origins such as/], text)
  }
  t.same(resolve(['--cors-origin', 'https://example.org, http://127.0.0.1:3000'], {}, READER).corsOrigin,
    ['https://example.org', 'http://127.0.0.1:3000'])
})

t.test('values are what their check makes of them', async (t) => {
  const argv = ['--redis-url', 'redis://p:1', '--replica-url', 'redis://a:1, redis://b:2', '--rate', '0.5',
    '--sorted-set-contains-actual-value', 'false']
  t.match(resolve(argv, {}, WRITER), { replicaUrl: ['redis://a:1', 'redis://b:2'], rate: 0.5, sortedSetContainsActualValue: false })
  t.equal(resolve(['--host', '0.0.0.0', '--open'], {}, READER).open, true)
})

t.test('a flag that is given twice is a fault', async (t) => {
  t.same(faultsOf(['--rate', '1', '--rate', '2']).faults, ['rate: given 2 times (--rate); give it once'])
})

t.test('similar names are suggested', async (t) => {
  /** @type {[string, string][]} */
  const flags = [['rat', '--rate'], ['batch', '--batch-items, --batch-bytes or --batch-ms'], ['batchMs', '--batch-ms'],
    ['widow-ms', '--window-ms'], ['prot', ''], ['url', '--redis-url or --replica-url'], ['x', '']]
  for (const [flag, names] of flags) {
    t.same(faultsOf([`--${flag}`, '5']).faults,
      [`--${flag} is unknown; ${names ? `did you mean ${names}?` : 'writer --help lists the flags'}`])
  }
  for (const [variable, name] of [['FRESHET_RATES', 'FRESHET_RATE'], ['FRESHET_REDISURL', 'FRESHET_REDIS_URL'],
    ['FRESHET_SORTED_SET_CONTAINS_ACTUAL_VALUE', 'SORTED_SET_CONTAINS_ACTUAL_VALUE']]) {
    t.same(faultsOf([], { [variable]: '5' }).faults, [`${variable} (environment) is unknown; did you mean ${name}?`])
  }
})

t.test('a command does not take the flags of another', async (t) => {
  t.match(faultsOf(['--rate', '5'], {}, READER).faults[0], /^--rate is unknown; did you mean --rate-limit\?$/)
  t.equal(resolve([], { FRESHET_RATE: '5' }, READER).rate, undefined, 'its variable is ignored')
})

t.test('an unknown variable is a fault for every command', async (t) => {
  for (const command of ['writer', 'reader', 'feed']) {
    t.same(faultsOf([], { FRESHET_XYZ: '5' }, { ...WRITER, command }).faults,
      ['FRESHET_XYZ (environment) is unknown; docs/settings.md lists the variables'])
  }
  t.equal(resolve([], { FRESHET_TEST_ENGINES: 'redis', FRESHET_PORT: '1' }, WRITER).rate, 10_000)
})

t.test('words are accepted where a command has some', async (t) => {
  t.same(resolve(['show', '007'], {}, { ...WRITER, command: 'feed', positionals: 2 }).positionals, ['show', '007'])
  t.same(faultsOf(['show', 'a', 'b'], {}, { ...WRITER, command: 'feed', positionals: 2 }).faults,
    ['unexpected argument "b"; a value follows its flag'])
})

t.test('SORTED_SET_CONTAINS_ACTUAL_VALUE chooses the layout, --layout overrides it', async (t) => {
  const env = { SORTED_SET_CONTAINS_ACTUAL_VALUE: 'true' }
  t.match(resolve([], env, WRITER), { layout: 'values', origins: { layout: 'SORTED_SET_CONTAINS_ACTUAL_VALUE' } })
  t.match(resolve(['--layout', 'ids'], env, WRITER), { layout: 'ids', origins: { layout: '--layout' } })
  t.equal(resolve([], { SORTED_SET_CONTAINS_ACTUAL_VALUE: 'false' }, WRITER).layout, 'ids')
  t.same(faultsOf([], env, { ...WRITER, layouts: ['ids'] }).faults, ['layout: values (SORTED_SET_CONTAINS_ACTUAL_VALUE); expected ids'])
})

/** @type {[string, string[], Parameters<typeof resolve>[2], RegExp][]} */
const TOGETHER = [
  ['several writers cannot read one standard input', ['--source', 'stdin', '--writers', '2'], WRITER,
    /^writers: 2 .* expected 1 with --source stdin/],
  ['the format belongs to standard input', ['--format', 'csv'], WRITER, /^format: csv .* only with --source stdin/],
  ['refused records belong to read ones', ['--rejects', 'refused'], WRITER, /^rejects: refused .* only with --source stdin or --file/],
  ['a file is a source of its own', ['--source', 'stdin', '--file', 'package.json'], WRITER,
    /^file: package\.json \(--file\); expected without --source/],
  ['a file must exist', ['--file', 'no-such'], WRITER, /^file: no-such, it does not exist \(--file\); expected a file that can be read/],
  ['a directory is not a file', ['--file', 'src'], WRITER, /^file: src, it is a directory/],
  ['a file of refused records needs its directory', ['--file', 'package.json', '--rejects', 'no-such/refused'], WRITER,
    /^rejects: no-such\/refused, its directory does not exist/],
  ['the items field belongs to json', ['--source', 'stdin', '--items-field', 'a'], WRITER, /^itemsField: a .* only with --format json/],
  ['a replay has its own pace', ['--source', 'stdin', '--replay', '2', '--rate', '5'], WRITER, /^replay: 2 .* without --rate/],
  ['input is not skipped', ['--source', 'stdin', '--catch-up', 'no'], WRITER, /^catchUp: no .* only without input/],
  ['each writer has a port for its metrics', ['--metrics-port', '65535', '--writers', '2'], WRITER,
    /^metricsPort: 65535 .* room for 2 writers/],
  ['bursts need a rate', ['--pace', 'burst', '--rate', '0'], WRITER, /^pace: burst .* --rate above 0/],
  ['an open address needs tokens or consent', ['--host', '0.0.0.0'], READER,
    /^host: 0\.0\.0\.0 .* 127\.0\.0\.1, or --tokens, or --jwt-keys, or --open/],
  ['so do metrics of a writer', ['--metrics-port', '9101', '--host', '0.0.0.0'], WRITER, /^host: 0\.0\.0\.0 .* or --open/],
  ['keys need an issuer and an audience', ['--jwt-keys', 'keys.json'], READER,
    /^jwtKeys: keys\.json .* together with --jwt-issuer and --jwt-audience/],
  ['a cluster of its own beside given servers', ['--cluster', '--redis-url', 'redis://127.0.0.1:1'], { ...WRITER, command: 'start' },
    /^cluster: true \(--cluster\); expected without --redis-url/],
  ['a certificate needs its key', ['--tls-cert', 'cert.pem'], READER, /^tlsCert: cert\.pem .* together with --tls-key/],
  ['a writer without metrics listens nowhere', ['--host', '0.0.0.0', '--open'], WRITER, /^host: 0\.0\.0\.0 .* only with --metrics-port/],
  ['replicas are those of a primary', ['--replica-url', 'redis://a:1'], READER,
    /^replicaUrl: \(--replica-url\); expected only with --redis-url/],
  ['names of IAM for replicas, too', ['--redis-auth', 'iam', '--redis-url', 'rediss://u@a?iam=g', '--replica-url', 'rediss://u@b'], READER,
    /^replicaUrl: \(hidden\), its host is not that of an ElastiCache server/]
]

t.test('replicas from the environment need a primary too, except for commands that use no servers', async (t) => {
  const env = { FRESHET_REPLICA_URL: 'redis://a:1' }
  for (const command of ['start', 'writer', 'reader', 'gateway', 'feed', 'doctor']) {
    t.match(faultsOf([], env, { ...WRITER, command }).faults, [/^replicaUrl: \(FRESHET_REPLICA_URL\); expected only with --redis-url/])
  }
  t.ok(resolve([], { ...env, FRESHET_REDIS_URL: 'redis://p:1' }, READER))
  for (const command of ['servers', 'experiment']) t.ok(resolve([], env, { ...WRITER, command }))
})

for (const [title, argv, known, fault] of TOGETHER) {
  t.test(title, async (t) => {
    const { faults } = faultsOf(argv, {}, known)
    t.equal(faults.length, 1)
    t.match(faults[0], fault)
  })
}

t.test('the embedded DynamoDB has a default table; another endpoint needs a table', async (t) => {
  t.match(resolve(['--dynamodb-endpoint', 'embedded'], {}, READER), { dynamodbEndpoint: 'embedded', dynamodbTable: 'freshet-prices' })
  t.match(resolve(['--dynamodb-endpoint', 'embedded', '--dynamodb-table', 'mine'], {}, READER), { dynamodbTable: 'mine' })
  t.match(resolve(['--dynamodb-table', 'prices'], {}, READER), { dynamodbEndpoint: null })
  t.match(faultsOf(['--dynamodb-endpoint', 'http://127.0.0.1:8000'], {}, READER).faults,
    ['dynamodbEndpoint: http://127.0.0.1:8000 (--dynamodb-endpoint); expected together with --dynamodb-table'])
  t.match(faultsOf(['--dynamodb-endpoint', 'local', '--dynamodb-table', 'a b'], {}, READER).faults,
    [/^dynamodbTable: a b /, /^dynamodbEndpoint: local .*expected embedded, or http/])
})

t.test('standard input is read as fast as it goes, unless a rate is given', async (t) => {
  t.equal(resolve(['--source', 'stdin'], {}, WRITER).rate, 0)
  t.equal(resolve(['--source', 'stdin', '--rate', '7'], {}, WRITER).rate, 7)
  t.match(resolve(['--file', 'package.json'], { FRESHET_SOURCE: 'stdin' }, WRITER), { source: 'file', file: 'package.json', rate: 0 })
})

t.test('options of the library go through the same table', async (t) => {
  const rest = { layouts: ['ids', 'values'], acks: ['primary', 'replica'] }
  const redisUrl = 'redis://127.0.0.1:6379'
  t.match(resolveOptions({ redisUrl, batchMs: 7, replicaUrl: [redisUrl, redisUrl], late: undefined, layout: null }, rest),
    { redisUrl, batchMs: 7, replicaUrl: [redisUrl, redisUrl], late: 'newest', layout: 'ids', whenFull: 'block' })
  t.equal(resolveOptions({ redisUrl, sortedSetContainsActualValue: true }, rest).layout, 'values')
  t.throws(() => resolveOptions({ redisUr: redisUrl, batchItems: 0, layout: 'lists', partitions: '2x' }, rest), {
    code: 'SETTINGS_INVALID',
    faults: [/^redisUr is unknown; did you mean redisUrl\?$/, /^layout: lists \(option\); expected ids \| values/, /^partitions: 2x/,
      /^batchItems: 0 \(option\); expected an integer from 1/, /^redisUrl is missing/]
  })
  t.throws(() => resolveOptions({ redisUrl, layout: 'values', windowMs: 0, maxItems: 0 }, rest), { message: /keeps every version/ })
  t.throws(() => resolveOptions({ redisUrl, compress: 'brotli' }, rest),
    { message: 'compress: brotli (option); expected only with layout segments, which stores batches' }, 'options are named, not flags')
})

t.test('the options of openFeed are taken from the settings of a writer, without unset ones', async (t) => {
  const settings = resolve(['--rate', '5', '--batch-ms', '7', '--redis-url', 'redis://127.0.0.1:1'], {}, WRITER)
  const options = optionsOf(settings)
  t.match(options, { batchMs: 7, redisUrl: 'redis://127.0.0.1:1', ack: 'primary' })
  for (const name of ['rate', 'replicaUrl', 'origins', 'server', 'logLevel']) t.notOk(name in options, name)
  t.ok(resolveOptions(options, WRITER))
})
