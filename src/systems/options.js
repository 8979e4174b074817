/** Options of openSystem. The settings of commands have rows of the same kind, in settings.js. */
import { SettingsInvalid } from '../errors.js'
import { givenBy, integer, matching, oneOf, readRows, nodeUrls, orReplicas, unknownName } from '../settings/index.js'

/** @import { Check } from '../settings/index.js' */

const DAY_MS = 86_400_000
/** @param {string} name @param {Check} check @param {unknown} [value] */
const row = (name, check, value = null) => ({ name, check, default: value, meaning: '', uses: [], group: '', secret: name === 'redisUrl' })

/** As option and as part of a definition. */
export const DURABILITY = row('durability', orReplicas(oneOf('memory', 'replica', 'aof')))

const ROWS = Object.freeze([
  row('redisUrl', nodeUrls),
  row('keyPrefix', matching('1-32 of a-z 0-9 : _ -', /^[a-z0-9:_-]{1,32}$/), 'fr:'),
  row('partitions', integer(1, 1024), 16),
  DURABILITY,
  row('deadlineMs', integer(10, 600_000), 1_000),
  row('ackWithinMs', integer(10, 600_000), 5_000),
  row('maxWaiting', integer(1, 1_000_000), 10_000),
  row('maxWaitMs', integer(0, 3_600_000), 10_000),
  row('requestMs', integer(1_000, 7 * DAY_MS), 600_000),
  row('keepMs', integer(1_000, 365 * DAY_MS), DAY_MS),
  row('maxOutbox', integer(1_000, 1e9), 1_000_000)
])
export const KNOWN = Object.freeze({ command: 'library', layouts: [], acks: [] })
const LEVELS = ['info', 'warn', 'error']

const NAMES = Object.freeze(ROWS.map(({ name }) => name))

/**
 * @param {any} options @param {{ durability?: string }} system @param {readonly string[]} [names] of the options that may be given
 * @returns {any} with defaults
 * @throws {SettingsInvalid} with all faults
 */
export function checkedOptions (options, { durability = 'memory' }, names = NAMES) {
  const { log, ...rest } = typeof options === 'object' && options !== null ? options : {}
  const faults = Object.keys(rest).filter((name) => !names.includes(name))
    .map((name) => unknownName(name, names, `the options are ${names.join(' ')} log`))
  const { values } = readRows([...ROWS], KNOWN, faults,
    givenBy({ durability, ...withoutEmpty(rest) }, 'option'))
  if ((rest.redisUrl ?? null) === null) faults.push('redisUrl is missing; expected the URL of the primary, such as redis://127.0.0.1:6379')
  if (log && !LEVELS.every((level) => typeof log[level] === 'function')) faults.push(`log: expected a logger with ${LEVELS.join(', ')}`)
  if (faults.length > 0) throw new SettingsInvalid(faults)
  return Object.freeze({ ...values, log: loggerOf(log) })
}

/** @param {Record<string, unknown>} options undefined and null = the default */
const withoutEmpty = (options) => Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined && value !== null))

/** @param {any} log null = no logging; `debug` is optional @returns {any} a logger */
export const loggerOf = (log) => Object.fromEntries(['debug', ...LEVELS].map((level) =>
  [level, (/** @type {any[]} */ ...args) => log?.[level]?.(...args)]))
