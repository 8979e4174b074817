/**
 * ONE table of settings. Flags, environment, `--help`, README and validation come from its rows.
 *
 * A setting's value comes from its flag, else its environment variable, else its default. All faults of an
 * input are found before the first is reported; each names the value, the bound and where it came from.
 * What kinds of values there are, and how rows and flags are read, stands in src/settings, which knows no setting; nothing
 * else of ours is imported here: what must be known of the rest (layout names, acks) is handed to `resolve`.
 */
import { FIELD, httpUrl, integer, matching, number, oneOf, oneOfKnown, present, serverUrl, serverUrls, trueOrFalse, writerFlags } from './src/settings/checks.js'
import { helpOf, keptByNpm, readFlags, unexpectedWords, unknownFlags } from './src/settings/flags.js'
import { SettingsInvalid, envOf, flagOf, givenBy, nearest, readRows } from './src/settings/rows.js'

export { SettingsInvalid, envOf, flagOf }

const MIB = 1024 * 1024
const MAX_MS = 2 ** 41 - 1
const ALL = ['start', 'writer', 'reader', 'gateway', 'servers', 'doctor', 'feed', 'experiment']
/** `library` is openFeed: its options are the rows that name it */
const CLIENTS = ['start', 'writer', 'reader', 'gateway', 'feed', 'doctor', 'library']
const APPENDS = ['writer', 'gateway', 'library']

/** @typedef {import('./src/settings/checks.js').Known} Known */
/** @typedef {import('./src/settings/rows.js').Row} Row */
/** @typedef {import('./src/settings/flags.js').Lost} Lost */

/** @type {(group: string, uses: string[], rows: (Omit<Row, 'group' | 'uses'> & { uses?: string[] })[]) => Row[]} a row may have other uses than its group */
const group = (title, uses, rows) => rows.map((row) => ({ group: title, uses, ...row }))

/** @type {readonly Row[]} */
export const SETTINGS = Object.freeze([
  ...group('Servers', CLIENTS, [
    { name: 'redisUrl', default: null, check: serverUrl, secret: true, meaning: 'the primary; without it the embedded servers of this checkout are used, and started if need be' },
    { name: 'replicaUrl', uses: [...CLIENTS, 'experiment'], default: null, check: serverUrls, secret: true, meaning: 'the replicas; without it the primary is asked for them' },
    { name: 'keyPrefix', default: 'fr:', check: matching('1-32 of a-z 0-9 : _ -', /^[a-z0-9:_-]{1,32}$/), meaning: 'what every key begins with' }
  ]),
  ...group('Servers', ['writer', 'reader', 'gateway', 'library'], [
    { name: 'readFrom', default: 'replica', check: oneOf('replica', 'primary'), meaning: 'which nodes answer questions; who writes reads the figures of replicas too, or leaves them alone' }
  ]),
  ...group('Servers', ALL, [
    { name: 'server', default: null, check: matching('a program such as valkey-server, or its path', /\S/), meaning: 'the server program for the embedded servers; without it the newest found, or a pinned copy' },
    { name: 'cacheDir', default: null, check: matching('a folder', /\S/), meaning: 'where a fetched server program is kept; without it .freshet in this folder' }
  ]),
  ...group('Feed', ['start', 'writer', 'top'], [
    { name: 'feed', default: 'latest', defaults: { top: null }, check: matching('a name: a-z or 0-9 first, then up to 63 of a-z 0-9 . _ -', /^[a-z0-9][a-z0-9._-]{0,63}$/), meaning: 'which feed' }
  ]),
  ...group('Feed', ['start', ...APPENDS], [
    { name: 'layout', default: 'ids', check: oneOfKnown('layouts'), meaning: 'how a partition is stored on the server' },
    { name: 'sortedSetContainsActualValue', env: 'SORTED_SET_CONTAINS_ACTUAL_VALUE', default: null, check: trueOrFalse, meaning: 'true chooses layout values, false ids; --layout overrides it' }
  ]),
  ...group('Feed', APPENDS, [
    { name: 'partitions', default: 1, check: integer(1, 1024), meaning: 'over how many partitions the ids of the feed are spread' },
    { name: 'late', default: 'overwrite', check: oneOf('overwrite', 'drop'), meaning: 'what an older version does to a newer one that is stored (ids): the last write wins, or it is compared and dropped' },
    { name: 'compress', default: 'none', check: oneOf('none', 'brotli'), meaning: 'how each batch is compressed (segments): servers and networks carry a quarter of the bytes or less, writer and views pay a quarter of a microsecond an item for it' },
    { name: 'maxFutureMs', unit: 'ms', default: 60_000, check: integer(0, MAX_MS), meaning: 'items further ahead of the clock are refused' }
  ]),
  ...group('Feed', ['start', ...APPENDS, 'feed'], [
    { name: 'windowMs', unit: 'ms', default: 60_000, check: integer(0, MAX_MS), meaning: 'items older than this are not live; 0 = no age limit' },
    { name: 'maxItems', default: 1_000_000, check: integer(0, 1e9), meaning: 'ids (layout ids) or versions (others) kept in a partition; 0 = no limit' }
  ]),
  ...group('Load', ['start', 'writer'], [
    { name: 'rate', unit: 'items/s', uses: ['start', 'writer', 'experiment'], default: 10_000, defaults: { experiment: null }, check: number(0, 1e8), meaning: 'items a second of each process; 0 = as fast as it goes (the default for stdin)' },
    { name: 'ids', default: 100_000, check: integer(1, 10_000_000), meaning: 'distinct ids of the synthetic source' },
    { name: 'valueBytes', unit: 'bytes', default: 128, check: integer(0, MIB), meaning: 'size of a synthetic value' }
  ]),
  ...group('Load', ['writer'], [
    { name: 'writers', default: 1, check: integer(1, 64), meaning: 'writer processes' },
    { name: 'items', default: null, check: integer(1, Number.MAX_SAFE_INTEGER), meaning: 'stop after so many items of each process' },
    { name: 'duration', unit: 's', default: null, check: number(0.001, 1e7), meaning: 'stop after so many seconds' },
    { name: 'warmUp', unit: 's', default: 0, check: number(0, 3600), meaning: 'the summary leaves out so many seconds at the beginning; --duration counts from there' },
    { name: 'valueChange', default: 'always', check: oneOf('always', 'never'), meaning: 'whether a synthetic value is another one each time' },
    { name: 'pace', default: 'steady', check: oneOf('steady', 'burst'), meaning: 'steady, or all items of a period at once' },
    { name: 'periodMs', unit: 'ms', default: 1_000, check: integer(1, 3_600_000), meaning: 'the period of --pace burst' },
    { name: 'chunks', default: 1, check: integer(1, 1_000), meaning: 'bursts a period' },
    { name: 'catchUp', default: 'yes', check: oneOf('yes', 'no'), meaning: 'whether items missed while the server was busy are sent late, or skipped and counted' }
  ]),
  ...group('Input', ['writer'], [
    { name: 'source', default: 'synthetic', check: oneOf('synthetic', 'stdin'), meaning: 'where items come from' },
    { name: 'format', default: 'ndjson', check: oneOf('ndjson', 'csv', 'json'), meaning: 'format of standard input' },
    { name: 'itemsField', default: null, check: FIELD, meaning: 'field of the one JSON object that holds the array of items (json)' },
    { name: 'idField', default: 'id', check: FIELD, meaning: 'field with the id' },
    { name: 'tsField', default: 'ts', check: FIELD, meaning: 'field with the time: epoch milliseconds or ISO 8601' },
    { name: 'valueField', default: null, check: FIELD, meaning: 'field with the value; without it the whole record is the value' },
    { name: 'replay', default: null, check: number(0.001, 1e6), meaning: 'shift times to now and pace by them, so many times as fast as they were' }
  ]),
  ...group('Write path', APPENDS, [
    { name: 'batchItems', default: 1_000, check: integer(1, 10_000), meaning: 'flush a batch at so many items; layouts other than segments take at most 1,997' },
    { name: 'batchBytes', unit: 'bytes', default: MIB, check: integer(1, 64 * MIB), meaning: 'or at so many bytes' },
    { name: 'batchMs', unit: 'ms', default: 5, check: integer(0, 60_000), meaning: 'or when the batch before it was sent so long ago; after a pause, at once' },
    { name: 'inFlightBytes', unit: 'bytes', default: 16 * MIB, check: integer(1024, 1024 * MIB), meaning: 'bytes sent and not yet answered, at most' },
    { name: 'ack', default: 'primary', check: oneOfKnown('acks'), meaning: 'who must have a batch before it counts' },
    { name: 'whenFull', default: 'block', defaults: { gateway: 'refuse' }, check: oneOf('block', 'refuse', 'drop'), meaning: 'what happens to items at the in-flight bound' },
    { name: 'drainMs', unit: 'ms', default: 10_000, check: integer(0, 600_000), meaning: 'how long flushing is tried when a feed is closed' }
  ]),
  ...group('Write path', ['writer', 'reader', 'gateway', 'library', 'feed'], [
    { name: 'deadlineMs', unit: 'ms', default: 1_000, check: integer(10, 600_000), meaning: 'a server that is silent for so long while asked is given up' }
  ]),
  ...group('Write path', ['gateway'], [
    { name: 'ackWithinMs', unit: 'ms', default: 5_000, check: integer(10, 600_000), meaning: 'how long a request waits for its acknowledgement; then it is answered 503, unknown' },
    { name: 'maxFeeds', default: 1_000, check: integer(0, 1_000_000), meaning: 'a POST creates no feed beyond so many, whoever made them; 0 = none' }
  ]),
  ...group('HTTP', ['start', 'reader', 'gateway'], [
    { name: 'port', default: 8080, defaults: { gateway: 8081 }, check: integer(0, 65_535), meaning: 'port to listen on (start: of the reader); 0 = any free one' }
  ]),
  ...group('HTTP', ['start'], [
    { name: 'gatewayPort', default: 8081, check: integer(0, 65_535), meaning: 'port of the gateway; 0 = any free one' }
  ]),
  ...group('HTTP', ['reader', 'gateway'], [
    { name: 'host', uses: ['reader', 'gateway', 'writer'], default: '127.0.0.1', check: matching('an address or host name', /^[A-Za-z0-9.:_-]+$/), meaning: 'address to listen on (writer: for --metrics-port)' },
    { name: 'authToken', default: null, check: matching('8 ASCII characters or more, no spaces', /^[\x21-\x7e]{8,}$/), secret: true, meaning: 'bearer token that every POST, PUT and DELETE needs' },
    { name: 'open', uses: ['reader', 'gateway', 'writer'], default: false, check: present, meaning: 'listen elsewhere than on this machine without a token' }
  ]),
  ...group('HTTP', ['reader'], [
    { name: 'maxStaleMs', unit: 'ms', default: 10_000, check: integer(0, 3_600_000), meaning: 'when the servers are gone, the last answer is given while younger than this' }
  ]),
  ...group('Push', ['reader'], [
    { name: 'maxStreams', default: 1_000, check: integer(0, 100_000), meaning: 'clients that changes are pushed to at once (/live); more are told to try again' },
    { name: 'maxStreamsPerToken', default: 100, check: integer(1, 100_000), meaning: 'and clients with the same one of --live-tokens' },
    { name: 'liveTokens', default: null, check: matching('a file', /\S/), meaning: 'a file with bearer tokens, one a line, of which each client of /live needs one; read again when it changes, and streams of a token that is gone end' }
  ]),
  ...group('Views', ['reader', 'library'], [
    { name: 'views', default: 'auto', check: oneOf('auto', 'all', 'none'), meaning: 'feeds that readers hold in memory and answer from there: those whose layout cannot answer everything by itself, all, or none' },
    { name: 'maxViewItems', default: 2_000_000, check: integer(1, 1e9), meaning: 'live items held of one feed, at most; of more the newest' },
    { name: 'maxViewBytes', unit: 'bytes', default: 1024 * MIB, check: integer(MIB, 2 ** 40), meaning: 'and memory for them' }
  ]),
  ...group('Top', ['top'], [
    { name: 'url', default: 'http://127.0.0.1:8080', check: httpUrl, meaning: 'the reader that is asked' },
    { name: 'liveToken', default: null, check: matching('a token, without spaces', /^[\x21-\x7e]+$/), secret: true, meaning: 'one of the --live-tokens of that reader, where it has some' },
    { name: 'once', default: false, check: present, meaning: 'print the figures as text, and end' }
  ]),
  ...group('Experiment', ['experiment'], [
    { name: 'quick', default: false, check: present, meaning: 'one short round, to see that it works; not a result' },
    { name: 'rounds', default: null, check: integer(1, 100), meaning: 'how often each arm is measured; without it what the plan says' },
    { name: 'arms', default: null, check: matching('names of arms, separated by commas', /\S/), meaning: 'measure these arms only' },
    { name: 'seconds', unit: 's', default: null, check: number(0.1, 3600), meaning: 'how long one measurement takes, after its warm-up; without it what the plan says' },
    { name: 'target', default: null, check: serverUrl, secret: true, meaning: 'measure on this primary and its replicas; they are never flushed, and what was written is removed' },
    { name: 'engine', default: null, check: matching('names such as valkey or "redis 6.2", or programs, separated by commas', /\S/), meaning: 'server programs to measure on, the first where a plan names none' },
    { name: 'rttMs', unit: 'ms', default: 0, check: number(0, 1000), meaning: 'delay put between writers and servers, there and back' },
    { name: 'timeScale', default: 1, check: number(0.01, 10), meaning: 'all times of the plan are so many times as long' },
    { name: 'driver', default: 'process', check: oneOf('process', 'direct'), meaning: 'what makes the load of arms that write as a user would: the writer command, or the library alone' },
    { name: 'a', env: null, default: null, check: writerFlags, meaning: 'ad-hoc: the first settings, which the others are compared with' },
    { name: 'b', env: null, default: null, check: writerFlags, meaning: 'ad-hoc: the second settings' }
  ]),
  ...group('Operating', ['writer'], [
    { name: 'metricsPort', default: null, check: integer(0, 65_535), meaning: 'serve /metrics and /livez of the writer there; 0 = any free one' }
  ]),
  ...group('Operating', ALL.filter((command) => command !== 'experiment'), [
    { name: 'logLevel', default: 'info', check: oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'), meaning: 'least level of log lines' }
  ])
])

/** @param {string} command @returns {Row[]} the rows a command uses */
const rowsOf = (command) => SETTINGS.filter((row) => row.uses.includes(command))

/**
 * @param {Known} known
 * @param {string} usage first lines of the help
 * @returns {Promise<string>} what --help prints
 */
export const help = async (known, usage) => helpOf(rowsOf(known.command), known, usage)

/**
 * Flags, then environment, then defaults, checked as a whole.
 * @param {string[]} argv what follows the command, without node and script
 * @param {Record<string, string | undefined>} env
 * @param {Known & { positionals?: number }} known `positionals`: how many words the command takes (0)
 * @returns {Readonly<Record<string, any> & { origins: Record<string, string>, positionals: string[] }>}
 * @throws {SettingsInvalid} with all faults
 */
export function resolve (argv, env, known) {
  const rows = rowsOf(known.command)
  /** @type {string[]} */
  const faults = []
  const { flags, words: positionals } = readFlags(rows, argv, known)
  const { values, origins } = readRows(rows, known, faults, (row) => {
    const flag = flagOf(row.name)
    const variable = envOf(row)
    if (flag in flags) return [`--${flag}`, flags[flag]]
    return variable && env[variable] ? [variable, env[variable]] : null
  })
  const variables = SETTINGS.flatMap((row) => envOf(row) ?? [])
  for (const name of Object.keys(env)) {
    if (name.startsWith('FRESHET_') && !name.startsWith('FRESHET_TEST_') && !variables.includes(name)) faults.push(`${name} (environment) is unknown; known are ${variables.join(' ')}`)
  }
  faults.push(...unknownFlags(flags, rows, known))
  faults.push(...unexpectedWords(positionals.slice(known.positionals ?? 0)))
  const lost = keptByNpm(rows, env)
  for (const [flag] of lost) faults.push(`--${flag} did not arrive: npm took it as a setting of its own`)
  derive(values, origins, known, faults, positionals)
  if (values.replicaUrl && origins.redisUrl === 'default') faults.push(`replicaUrl: (${origins.replicaUrl}); expected only with --redis-url, the primary of these replicas: without it embedded servers are used, which have their own`)
  if (faults.length) throw new SettingsInvalid(faults, lost.length ? { flags: lost, words: positionals, known } : undefined)
  return Object.freeze({ ...values, origins: Object.freeze(origins), positionals })
}

/** @param {'openFeed' | 'openReader'} [opener] @returns {string[]} names of its options: a reader has those of the reader process */
const optionNames = (opener = 'openFeed') => rowsOf('library').filter(({ uses }) => opener === 'openFeed' || uses.includes('reader')).map(({ name }) => name)

/**
 * The settings that openFeed takes, out of those of a command.
 * @param {Record<string, any>} settings
 * @returns {Record<string, any>}
 */
export const optionsOf = (settings) => Object.fromEntries(optionNames().flatMap((name) => name in settings && settings[name] !== null ? [[name, settings[name]]] : []))

/**
 * The same table for callers in the same process: values come as they are, not from flags and environment.
 * @param {Record<string, unknown>} options by name; undefined and null = the default
 * @param {Omit<Known, 'command'>} rest
 * @param {'openFeed' | 'openReader'} [opener]
 * @param {readonly string[]} [found] faults of what else was given
 * @returns {Readonly<Record<string, any>>} all rows of the library
 * @throws {SettingsInvalid} with all faults
 */
export function resolveOptions (options, rest, opener, found = []) {
  const known = { ...rest, command: 'library' }
  const faults = [...found]
  const names = optionNames(opener)
  for (const name of Object.keys(options)) if (!names.includes(name)) faults.push(`${name} is unknown; the options are ${names.join(' ')}`)
  const { values, origins } = readRows(rowsOf('library'), known, faults, givenBy(options, 'option'))
  derive(values, origins, known, faults)
  if (values.redisUrl === null && origins.redisUrl === 'default') faults.push('redisUrl is missing; expected the address of the primary, such as redis://127.0.0.1:6379')
  if (faults.length) throw new SettingsInvalid(faults)
  return Object.freeze(values)
}

/**
 * Settings of a command that somebody wrote down, such as those of an experiment's plan.
 * @param {Record<string, unknown>} settings by name; undefined and null = the default
 * @param {Omit<Known, 'command'>} rest
 * @param {'writer' | 'reader'} [command]
 * @returns {string[]} their faults
 */
export function checkSettings (settings, rest, command = 'writer') {
  const known = { ...rest, command }
  const rows = rowsOf(command)
  const names = rows.map(({ name }) => name)
  const faults = Object.keys(settings).filter((name) => !names.includes(name)).map((name) => `${name} is unknown; the settings of a ${command} are ${nearest(name, names).join(' ')}`)
  const { values, origins } = readRows(rows, known, faults, givenBy(settings, 'setting'))
  derive(values, origins, known, faults)
  return faults
}

/** What a load is made of; the rest of a writer's settings says where it comes from and goes to. */
const OF_LOADS = ['Feed', 'Load', 'Write path']

/**
 * What such settings come to: defaults filled in, rules between rows applied.
 * @param {Record<string, unknown>} settings by name, without faults
 * @param {Omit<Known, 'command'>} rest
 * @returns {Record<string, any>} of the writer's rows about feed, load and write path, those that have a value
 */
export function settledSettings (settings, rest) {
  const known = { ...rest, command: 'writer' }
  const { values, origins } = readRows(rowsOf('writer'), known, [], givenBy(settings, 'setting'))
  derive(values, origins, known, [])
  const names = rowsOf('writer').filter((row) => OF_LOADS.includes(row.group) && row.name !== 'sortedSetContainsActualValue').map(({ name }) => name)
  return Object.fromEntries(names.flatMap((name) => values[name] === null || values[name] === undefined ? [] : [[name, values[name]]]))
}

/**
 * Settings of a writer as somebody typed them in one text.
 * @param {string} text such as --layout ids --batch-ms 10
 * @param {Omit<Known, 'command'>} rest
 * @param {string} origin where the text came from
 * @returns {Record<string, any>} by name, those that are given
 * @throws {SettingsInvalid} with all faults
 */
export function settingsOfFlags (text, rest, origin) {
  const known = { ...rest, command: 'writer' }
  const rows = rowsOf('writer')
  const { flags, words } = readFlags(rows, text.split(/\s+/).filter(Boolean), known)
  const faults = [...unknownFlags(flags, rows, known), ...unexpectedWords(words)]
  const { values, origins } = readRows(rows, known, faults, ({ name }) => flagOf(name) in flags ? [`--${flagOf(name)}`, flags[flagOf(name)]] : null)
  const given = Object.fromEntries(Object.entries(values).filter(([name]) => origins[name] !== 'default'))
  derive(values, origins, known, faults)
  if (faults.length) throw new SettingsInvalid(faults.map((fault) => `${origin}: ${fault}`))
  return given
}

/** @param {Record<string, any>} settings by name @returns {string[]} the same as flags; null and undefined are left out */
export const flagsOf = (settings) => Object.entries(settings).flatMap(([name, value]) => {
  if (value === null || value === undefined) return []
  if (SETTINGS.find((row) => row.name === name)?.check.flagOnly) return value ? [`--${flagOf(name)}`] : []
  return [`--${flagOf(name)}`, String(value)]
})

/**
 * Rules that hold between rows.
 * @param {Record<string, any>} values @param {Record<string, string>} origins @param {Known} known @param {string[]} faults
 * @param {string[]} [words] of the command
 */
function derive (values, origins, known, faults, [action, ...rest] = []) {
  const inline = values.sortedSetContainsActualValue
  if (inline !== null && inline !== undefined && origins.layout === 'default') {
    values.layout = inline ? 'values' : 'ids'
    origins.layout = origins.sortedSetContainsActualValue
    if (!known.layouts.includes(values.layout)) faults.push(`layout: ${values.layout} (${origins.layout}); expected ${known.layouts.join(' | ')}`)
  }
  if (values.source === 'stdin') {
    if (origins.rate === 'default') values.rate = 0
    if (values.writers > 1) faults.push(`writers: ${values.writers} (${origins.writers}); expected 1 with --source stdin, which one process reads`)
    if (values.catchUp === 'no') faults.push(`catchUp: no (${origins.catchUp}); expected only with the synthetic source: input is not skipped`)
  } else if (known.command === 'writer') {
    for (const name of ['format', 'itemsField', 'idField', 'tsField', 'valueField', 'replay']) {
      if (origins[name].startsWith('--') || origins[name] === 'setting') faults.push(`${name}: ${values[name]} (${origins[name]}); expected only with --source stdin`)
    }
  }
  if (values.layout !== undefined && values.layout !== 'ids' && values.windowMs === 0 && values.maxItems === 0) {
    faults.push(`windowMs: 0 (${origins.windowMs}) and maxItems: 0 (${origins.maxItems}) with layout ${values.layout}; expected one of them above 0: it keeps every version`)
  }
  if (values.compress && values.compress !== 'none' && values.layout !== 'segments') faults.push(`compress: ${values.compress} (${origins.compress}); expected only with --layout segments, which stores batches`)
  if (values.itemsField && values.format !== 'json') faults.push(`itemsField: ${values.itemsField} (${origins.itemsField}); expected only with --format json`)
  if (values.replay && values.rate > 0) faults.push(`replay: ${values.replay} (${origins.replay}); expected without --rate: the times in the input set the pace`)
  if (values.metricsPort > 0 && values.metricsPort + values.writers - 1 > 65_535) faults.push(`metricsPort: ${values.metricsPort} (${origins.metricsPort}); expected room for ${values.writers} writers, a port each, up to 65535`)
  if (values.pace === 'burst' && values.rate === 0) faults.push(`pace: burst (${origins.pace}); expected with a --rate above 0`)
  if (known.command === 'experiment') {
    if (action !== 'ad-hoc') for (const name of ['a', 'b', 'rate']) if (origins[name].startsWith('--')) faults.push(`${name}: ${values[name]} (${origins[name]}); expected only with ad-hoc`)
    if (['list', 'all', 'ad-hoc'].includes(action)) faults.push(...unexpectedWords(rest))
    if (values.target && values.engine) faults.push(`engine: ${values.engine} (${origins.engine}); expected without --target, which has servers already`)
    if (!values.target && origins.replicaUrl.startsWith('--')) faults.push(`replicaUrl: (${origins.replicaUrl}); expected only with --target`)
  }
  if (values.host && !['127.0.0.1', 'localhost', '::1'].includes(values.host)) hostFaults(values, origins, known, faults)
}

/** Of a host that others reach. @param {Record<string, any>} values @param {Record<string, string>} origins @param {Known} known @param {string[]} faults */
function hostFaults (values, origins, known, faults) {
  const given = `host: ${values.host} (${origins.host})`
  // what the environment says of the host is for others too, and a writer without metrics listens nowhere
  if (known.command === 'writer' && values.metricsPort === null) {
    if (origins.host.startsWith('--')) faults.push(`${given}; expected only with --metrics-port`)
  } else if (!values.authToken && !values.open) faults.push(`${given}; expected 127.0.0.1, ${known.command === 'writer' ? '' : 'or a --auth-token, '}or --open`)
}

/**
 * What may be logged: secrets and passwords in addresses are masked.
 * @param {Record<string, any>} settings
 * @returns {Record<string, any>}
 */
export function printable (settings) {
  const { origins: _origins, positionals: _positionals, ...values } = settings
  const maskOne = (/** @type {unknown} */ url) => String(url).replace(/\/\/.*@/s, '//***@').replace(/\?.*/s, '?***')
  const mask = (/** @type {unknown} */ value) => (Array.isArray(value) ? value : [value]).map(maskOne).join(',')
  return Object.fromEntries(Object.entries(values).map(([name, value]) => {
    const row = SETTINGS.find((one) => one.name === name)
    if (!row?.secret || value === null) return [name, value]
    return [name, row.check === serverUrl || row.check === serverUrls ? mask(value) : '***']
  }))
}
