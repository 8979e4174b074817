/**
 * Rules between settings: values that depend on others, and combinations that are refused.
 *
 * @typedef {{ values: Record<string, any>, origins: Record<string, string>, context: import('./checks.js').Context,
 *   words?: string[] }} SettingsInput `words`: arguments that are no flags
 */
import { withIam } from './addresses.js'
import { flagOf } from './rows.js'
import { unexpectedWords } from './unknown.js'

const LOCAL_HOSTS = ['127.0.0.1', 'localhost', '::1']
/** Settings that are given together, or not at all. */
const TOGETHER = [['jwtIssuer', 'jwtAudience', 'jwtKeys'], ['tlsCert', 'tlsKey']]
/** sources that make items up */
const MADE = ['buses', 'synthetic']
const ONLY_RECORDS = ['format', 'itemsField', 'idField', 'tsField', 'valueField', 'replay', 'rejects']

/**
 * Fills in values that depend on others.
 * @param {SettingsInput} given `values` and `origins` are changed
 * @returns {string[]} faults
 */
export function checkTogether (given) {
  const { values, context } = given
  return [
    ...chooseAuth(given),
    ...chooseLayout(given),
    ...chooseSource(given),
    ...(context.command !== 'writer' ? [] : MADE.includes(values.source) ? syntheticFaults(given) : recordFaults(given)),
    ...feedFaults(given),
    ...loadFaults(given),
    ...['cluster', 'sentinel'].filter((name) => values[name] && values.redisUrl)
      .map((name) => fault(given, name, 'without --redis-url, whose servers are there already')),
    ...(values.cluster && values.sentinel ? [fault(given, 'sentinel', 'without --cluster: a cluster needs no Sentinels')] : []),
    ...(context.command === 'experiment' ? experimentFaults(given) : []),
    ...TOGETHER.flatMap((names) => partFaults(given, names)),
    ...(values.host && !LOCAL_HOSTS.includes(values.host) ? hostFaults(given) : [])
  ]
}

/** @param {SettingsInput} given @returns {string[]} */
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

/** @param {SettingsInput} given @param {string} name @param {string} expected */
const fault = ({ values, origins }, name, expected) => `${name}: ${values[name]} (${origins[name]}); expected ${expected}`

/** @param {SettingsInput} given */
function chooseLayout (given) {
  const { values, origins, context } = given
  const inline = values.sortedSetContainsActualValue
  if (inline === null || inline === undefined || origins.layout !== 'default') return []
  values.layout = inline ? 'values' : 'ids'
  origins.layout = origins.sortedSetContainsActualValue
  return context.layouts.includes(values.layout) ? [] : [fault(given, 'layout', context.layouts.join(' | '))]
}

/** A file is a source. @param {SettingsInput} given */
function chooseSource (given) {
  const { values, origins } = given
  if (!values.file) return []
  if (origins.source.startsWith('--')) return [fault(given, 'file', 'without --source, which names another one')]
  values.source = 'file'
  origins.source = origins.file
  return []
}

/** @param {SettingsInput} given */
function recordFaults (given) {
  const { values, origins } = given
  if (origins.rate === 'default') values.rate = 0
  return [
    ...(values.writers > 1 ? [fault(given, 'writers', '1 with --source stdin or --file, which one process reads')] : []),
    ...(values.catchUp === 'no' ? [fault(given, 'catchUp', 'only without input, which is not skipped')] : [])
  ]
}

/** @param {SettingsInput} given */
const syntheticFaults = (given) => ONLY_RECORDS
  .filter((name) => given.origins[name].startsWith('--') || given.origins[name] === 'setting')
  .map((name) => fault(given, name, 'only with --source stdin or --file'))

/** @param {SettingsInput} given */
function feedFaults (given) {
  const { values, origins } = given
  const faults = []
  if (values.layout !== undefined && values.layout !== 'ids' && values.windowMs === 0 && values.maxItems === 0) {
    faults.push(`windowMs: 0 (${origins.windowMs}) and maxItems: 0 (${origins.maxItems}) with layout ${values.layout}; ` +
      'expected one of them above 0: this layout keeps every version')
  }
  if (values.compress && values.compress !== 'none' && values.layout !== 'segments') {
    faults.push(fault(given, 'compress', 'only with --layout segments, which stores batches'))
  }
  if (values.late === 'overwrite' && values.layout !== 'ids') {
    faults.push(fault(given, 'late', `newest with layout ${values.layout}, which keeps the newest version`))
  }
  return faults
}

/** @param {SettingsInput} given */
function loadFaults (given) {
  const { values } = given
  const faults = []
  if (values.itemsField && values.format !== 'json') faults.push(fault(given, 'itemsField', 'only with --format json'))
  if (values.replay && values.rate > 0) faults.push(fault(given, 'replay', 'without --rate: the times in the input set the pace'))
  if (values.metricsPort > 0 && values.metricsPort + values.writers - 1 > 65_535) {
    faults.push(fault(given, 'metricsPort', `room for ${values.writers} writers, a port each, up to 65535`))
  }
  if (values.pace === 'burst' && values.rate === 0) faults.push(fault(given, 'pace', 'with a --rate above 0'))
  return faults
}

/** @param {SettingsInput} given */
function experimentFaults (given) {
  const { values, origins, words: [action, ...rest] = [] } = given
  const faults = action === 'ad-hoc'
    ? []
    : ['a', 'b', 'rate'].filter((name) => origins[name].startsWith('--')).map((name) => fault(given, name, 'only with ad-hoc'))
  if (['list', 'all', 'ad-hoc'].includes(action)) faults.push(...unexpectedWords(rest))
  if (values.target && values.engine) faults.push(fault(given, 'engine', 'without --target, which has servers already'))
  if (values.awsReplicationGroup) {
    if (!values.target) faults.push(fault(given, 'awsReplicationGroup', 'with --target, the primary of the group'))
    if (values.replicaUrl) faults.push(fault(given, 'replicaUrl', 'without --aws-replication-group, which names the replicas'))
  }
  if (!values.target && origins.replicaUrl.startsWith('--')) faults.push(`replicaUrl: (${origins.replicaUrl}); expected only with --target`)
  return faults
}

/** @param {SettingsInput} given @param {readonly string[]} names */
function partFaults (given, names) {
  const { values } = given
  const missing = names.filter((name) => !values[name]).map((name) => `--${flagOf(name)}`)
  if (missing.length === names.length) return []
  return names.filter((name) => values[name] && missing.length > 0).slice(0, 1)
    .map((name) => fault(given, name, `together with ${missing.join(' and ')}`))
}

/** A host that other machines reach. @param {SettingsInput} given */
function hostFaults (given) {
  const { values, origins, context } = given
  const isWriter = context.command === 'writer'
  // the variable may be meant for other commands, and a writer without metrics does not listen
  if (isWriter && values.metricsPort === null) {
    return origins.host.startsWith('--') ? [fault(given, 'host', 'only with --metrics-port')] : []
  }
  return values.tokens || values.jwtKeys || values.open ? [] : [fault(given, 'host', '127.0.0.1, or --tokens, or --jwt-keys, or --open')]
}
