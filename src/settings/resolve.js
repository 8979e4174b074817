/**
 * What is done with the table of settings: options of the library, settings of files. Command lines: command-line/.
 *
 * @typedef {import('./checks.js').Context} Context
 * @typedef {import('./rows.js').Row} Row
 */
import { SettingsInvalid } from '../errors.js'
import { withIam } from './checks.js'
import { flagOf, givenBy, readRows, rowsOf, unexpectedWords, unknownName } from './rows.js'

/**
 * Rules between settings: values that depend on others, and combinations that are refused.
 *
 * @typedef {{ values: Record<string, any>, origins: Record<string, string>, context: import('./checks.js').Context,
 *   words?: string[] }} SettingsInput `words`: arguments that are no flags
 */

const LOCAL_HOSTS = ['127.0.0.1', 'localhost', '::1']
/** Settings that are given together, or not at all. */
const TOGETHER = [['jwtIssuer', 'jwtAudience', 'jwtKeys'], ['tlsCert', 'tlsKey']]
/** sources that make items up */
const MADE = ['buses', 'synthetic']
const ONLY_RECORDS = ['format', 'itemsField', 'idField', 'tsField', 'valueField', 'replay', 'rejects']

/**
 * Fills in values that depend on others.
 * @param {SettingsInput} input `values` and `origins` are changed
 * @returns {string[]} faults
 */
export function checkTogether (input) {
  const { values, context } = input
  return [
    ...chooseAuth(input),
    ...chooseLayout(input),
    ...chooseSource(input),
    ...(context.command !== 'writer' ? [] : MADE.includes(values.source) ? syntheticFaults(input) : recordFaults(input)),
    ...feedFaults(input),
    ...loadFaults(input),
    ...['cluster', 'sentinel'].filter((name) => values[name] && values.redisUrl)
      .map((name) => fault(input, name, 'without --redis-url, whose servers are there already')),
    ...(values.cluster && values.sentinel ? [fault(input, 'sentinel', 'without --cluster: a cluster needs no Sentinels')] : []),
    ...(context.command === 'experiment' ? experimentFaults(input) : []),
    ...TOGETHER.flatMap((names) => partFaults(input, names)),
    ...(values.host && !LOCAL_HOSTS.includes(values.host) ? hostFaults(input) : [])
  ]
}

/** @param {SettingsInput} input @returns {string[]} */
function chooseAuth ({ values, origins }) {
  if (values.redisAuth !== 'iam') return []
  if (!values.redisUrl) return [`redisAuth: iam (${origins.redisAuth}); expected only with --redis-url, of a server with users of IAM`]
  let read = 'redisUrl'
  try {
    values.redisUrl = withIam(values.redisUrl)
    read = 'replicaUrl'
    values.replicaUrl = values.replicaUrl?.map(withIam) ?? null
    return []
  } catch (error) {
    return [`${read}: (hidden), ${error.why} (${origins.redisAuth})`]
  }
}

/** @param {SettingsInput} input @param {string} name @param {string} expected */
const fault = ({ values, origins }, name, expected) => `${name}: ${values[name]} (${origins[name]}); expected ${expected}`

/** @param {SettingsInput} input */
function chooseLayout (input) {
  const { values, origins, context } = input
  const inline = values.sortedSetContainsActualValue
  if (inline === null || inline === undefined || origins.layout !== 'default') return []
  values.layout = inline ? 'values' : 'ids'
  origins.layout = origins.sortedSetContainsActualValue
  return context.layouts.includes(values.layout) ? [] : [fault(input, 'layout', context.layouts.join(' | '))]
}

/** A file is a source. @param {SettingsInput} input */
function chooseSource (input) {
  const { values, origins } = input
  if (!values.file) return []
  if (origins.source.startsWith('--')) return [fault(input, 'file', 'without --source, which names another one')]
  values.source = 'file'
  origins.source = origins.file
  return []
}

/** @param {SettingsInput} input */
function recordFaults (input) {
  const { values, origins } = input
  if (origins.rate === 'default') values.rate = 0
  return [
    ...(values.writers > 1 ? [fault(input, 'writers', '1 with --source stdin or --file, which one process reads')] : []),
    ...(values.catchUp === 'no' ? [fault(input, 'catchUp', 'only without input, which is not skipped')] : [])
  ]
}

/** @param {SettingsInput} input */
const syntheticFaults = (input) => ONLY_RECORDS
  .filter((name) => input.origins[name].startsWith('--') || input.origins[name] === 'setting')
  .map((name) => fault(input, name, 'only with --source stdin or --file'))

/** @param {SettingsInput} input */
function feedFaults (input) {
  const { values, origins } = input
  const faults = []
  if (values.layout !== undefined && values.layout !== 'ids' && values.windowMs === 0 && values.maxItems === 0) {
    faults.push(`windowMs: 0 (${origins.windowMs}) and maxItems: 0 (${origins.maxItems}) with layout ${values.layout}; ` +
      'expected one of them above 0: this layout keeps every version')
  }
  if (values.compress && values.compress !== 'none' && values.layout !== 'segments') {
    faults.push(fault(input, 'compress', 'only with --layout segments, which stores batches'))
  }
  if (values.late === 'overwrite' && values.layout !== 'ids') {
    faults.push(fault(input, 'late', `newest with layout ${values.layout}, which keeps the newest version`))
  }
  return faults
}

/** @param {SettingsInput} input */
function loadFaults (input) {
  const { values } = input
  const faults = []
  if (values.itemsField && values.format !== 'json') faults.push(fault(input, 'itemsField', 'only with --format json'))
  if (values.replay && values.rate > 0) faults.push(fault(input, 'replay', 'without --rate: the times in the input set the pace'))
  if (values.metricsPort > 0 && values.metricsPort + values.writers - 1 > 65_535) {
    faults.push(fault(input, 'metricsPort', `room for ${values.writers} writers, a port each, up to 65535`))
  }
  if (values.pace === 'burst' && values.rate === 0) faults.push(fault(input, 'pace', 'with a --rate above 0'))
  return faults
}

/** @param {SettingsInput} input */
function experimentFaults (input) {
  const { values, origins, words: [action, ...rest] = [] } = input
  const faults = action === 'ad-hoc'
    ? []
    : ['a', 'b', 'rate'].filter((name) => origins[name].startsWith('--')).map((name) => fault(input, name, 'only with ad-hoc'))
  if (['list', 'all', 'ad-hoc'].includes(action)) faults.push(...unexpectedWords(rest))
  if (values.target && values.engine) faults.push(fault(input, 'engine', 'without --target, which has servers already'))
  if (values.awsReplicationGroup) {
    if (!values.target) faults.push(fault(input, 'awsReplicationGroup', 'with --target, the primary of the group'))
    if (values.replicaUrl) faults.push(fault(input, 'replicaUrl', 'without --aws-replication-group, which names the replicas'))
  }
  if (!values.target && origins.replicaUrl.startsWith('--')) faults.push(`replicaUrl: (${origins.replicaUrl}); expected only with --target`)
  return faults
}

/** @param {SettingsInput} input @param {readonly string[]} names */
function partFaults (input, names) {
  const { values } = input
  const missing = names.filter((name) => !values[name]).map((name) => `--${flagOf(name)}`)
  if (missing.length === names.length) return []
  return names.filter((name) => values[name] && missing.length > 0).slice(0, 1)
    .map((name) => fault(input, name, `together with ${missing.join(' and ')}`))
}

/** A host that other machines reach. @param {SettingsInput} input */
function hostFaults (input) {
  const { values, origins, context } = input
  const isWriter = context.command === 'writer'
  // the variable may be meant for other commands, and a writer without metrics does not listen
  if (isWriter && values.metricsPort === null) {
    return origins.host.startsWith('--') ? [fault(input, 'host', 'only with --metrics-port')] : []
  }
  return values.tokens || values.jwtKeys || values.open ? [] : [fault(input, 'host', '127.0.0.1, or --tokens, or --jwt-keys, or --open')]
}

/**
 * @param {readonly Row[]} table @param {'openFeed' | 'openReader'} [opener]
 * @returns {string[]} names of its options: a reader has those of the reader process
 */
const optionNames = (table, opener = 'openFeed') => rowsOf(table, 'library')
  .filter(({ uses }) => opener === 'openFeed' || uses.includes('reader')).map(({ name }) => name)

/**
 * @param {readonly Row[]} table @param {Record<string, any>} settings of a command
 * @returns {Record<string, any>} those that openFeed takes
 */
export const optionsOf = (table, settings) => Object.fromEntries(optionNames(table)
  .flatMap((name) => name in settings && settings[name] !== null ? [[name, settings[name]]] : []))

/**
 * The same table for callers in the same process: values are given by name instead of flags and variables.
 * @param {readonly Row[]} table
 * @param {Record<string, unknown>} options by name; undefined and null = the default
 * @param {Omit<Context, 'command'>} rest
 * @param {'openFeed' | 'openReader'} [opener]
 * @param {readonly string[]} [earlierFaults] faults that the caller has already found
 * @returns {Readonly<Record<string, any>>} all rows of the library
 * @throws {SettingsInvalid} with all faults
 */
export function resolveOptions (table, options, rest, opener, earlierFaults = []) {
  const context = { ...rest, command: 'library' }
  const faults = [...earlierFaults]
  const names = optionNames(table, opener)
  for (const name of Object.keys(options)) {
    if (!names.includes(name)) faults.push(unknownName(name, names, `the options are ${names.join(' ')}`))
  }
  const { values, origins } = readRows(rowsOf(table, 'library'), context, faults, givenBy(options, 'option'))
  faults.push(...checkTogether({ values, origins, context }))
  if (values.redisUrl === null && origins.redisUrl === 'default') {
    faults.push('redisUrl is missing; expected the URL of the primary, such as redis://127.0.0.1:6379')
  }
  if (faults.length) throw new SettingsInvalid(faults.map((fault) => byName(table, fault)))
  return Object.freeze(values)
}

/** Names options as callers write them: rules speak of flags. @param {readonly Row[]} table @param {string} fault */
const byName = (table, fault) =>
  fault.replace(/--([a-z][a-z-]*)/g, (flag, word) => table.find(({ name }) => flagOf(name) === word)?.name ?? flag)

/**
 * Checks settings that stand in a file, such as the plan of an experiment.
 * @param {readonly Row[]} table
 * @param {Record<string, unknown>} settings by name; undefined and null = the default
 * @param {Omit<Context, 'command'>} rest
 * @param {'writer' | 'reader'} [command]
 * @returns {string[]} faults
 */
export function checkSettings (table, settings, rest, command = 'writer') {
  const context = { ...rest, command }
  const names = rowsOf(table, command).map(({ name }) => name)
  const faults = Object.keys(settings).filter((name) => !names.includes(name))
    .map((name) => unknownName(name, names, `the settings of a ${command} are ${names.join(' ')}`))
  const { values, origins } = readRows(rowsOf(table, command), context, faults, givenBy(settings, 'setting'))
  return [...faults, ...checkTogether({ values, origins, context })]
}

/** Groups that describe a load; the others say where items come from and go to. */
const OF_LOADS = ['Feed', 'Load', 'Write path']

/**
 * The load that such settings describe, with defaults.
 * @param {readonly Row[]} table
 * @param {Record<string, unknown>} settings by name, without faults
 * @param {Omit<Context, 'command'>} rest
 * @returns {Record<string, any>} the writer's settings in the groups feed, load and write path that have a value
 */
export function settledSettings (table, settings, rest) {
  const context = { ...rest, command: 'writer' }
  const { values, origins } = readRows(rowsOf(table, 'writer'), context, [], givenBy(settings, 'setting'))
  checkTogether({ values, origins, context })
  const names = rowsOf(table, 'writer')
    .map((row) => OF_LOADS.includes(row.group) && row.name !== 'sortedSetContainsActualValue' ? row.name : '')
  return Object.fromEntries(names.flatMap((name) => values[name] === null || values[name] === undefined ? [] : [[name, values[name]]]))
}

/**
 * @param {readonly Row[]} table @param {Record<string, any>} settings by name
 * @returns {string[]} the same as flags; null and undefined are left out
 */
export const flagsOf = (table, settings) => Object.entries(settings).flatMap(([name, value]) => {
  if (value === null || value === undefined) return []
  if (table.find((row) => row.name === name)?.check.flagOnly) return value ? [`--${flagOf(name)}`] : []
  return [`--${flagOf(name)}`, String(value)]
})
