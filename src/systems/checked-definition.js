/** The check of a definition: all its faults at once, in the message of SETTINGS_INVALID. */
import { readFile } from 'node:fs/promises'
import { KEPT_PARTS, NAMED_RULES, ownFormOf } from '../admission/index.js'
import { SettingsInvalid } from '../errors.js'
import { givenBy, readRows } from '../settings/index.js'
import { DURABILITY, KNOWN } from './options.js'

/** @import { OwnRule } from '../admission/index.js' */
/**
 * @typedef {{ name: string, durability?: string, driver?: string, rules: Record<string, OwnRule> }} Definition `rules`: those of Freshet as
 *   they are, or, beside rules with Lua, in the form of those
 */

export const NAME = /^[a-z][a-z0-9-]{0,31}$/
export const NAMED = 'a-z first, then up to 31 of a-z 0-9 -'
/** How a definition names its scheduled tasks as its driver. */
export const OF_TASKS = 'tasks'
const PARTS = Object.freeze([
  'name', 'rules', 'settings', 'durability', 'errors', 'unknown', 'commands', 'queries', 'stream', 'consumers', 'migrations', 'metrics',
  'page', 'rows', 'gateway', 'reader', 'demo', 'findings', 'memory', 'driver', 'withoutReplica', 'hasRows', 'isUncached', 'needsDatabase',
  'keepsSecret', 'keepsUnread', 'isLetterNeeded', 'logged'
])
const PARTS_OF_RULES = Object.freeze(['lua', 'version', 'fold', 'certain', 'claimant', 'keepEvents', 'keeps', 'maxArgBytes'])
const MOST_ARG_BYTES = 64 * 1024

/** @param {unknown} value */
const isWhole = (value) => Number.isSafeInteger(value) && Number(value) >= 1

/** @param {object} table @param {readonly string[]} names @param {string} of */
const unknownIn = (table, names, of) => Object.keys(table).filter((name) => !names.includes(name))
  .map((name) => `${of}: ${name} is unknown; expected ${names.join(' ')}`)

/** @param {string} name @param {any} rule @returns {string[]} */
function faultsOfRule (name, rule) {
  if (typeof rule !== 'object' || rule === null) return [`rules.${name}: a value of type ${typeof rule}; expected an object with lua`]
  const { ours } = rule
  if (typeof ours === 'string') {
    return NAMED_RULES[ours] === undefined
      ? [`rules.${name}: there is no rule ${ours} of Freshet; expected ${Object.keys(NAMED_RULES).join(' | ')}`]
      : ours === name ? [] : [`rules.${name}: this is the rule ${ours} of Freshet; write { ${ours}: rules.${ours} }`]
  }
  const { lua, version = 1, keepEvents = 1, keeps = [], maxArgBytes = 1, ...functions } = rule
  return [
    ...NAME.test(name) ? [] : [`rules.${name}: the name of a rule has ${NAMED}`],
    ...unknownIn(rule, PARTS_OF_RULES, `rules.${name}`),
    ...typeof lua === 'string' || lua instanceof URL ? [] : [`rules.${name}.lua: a value of type ${typeof lua}; expected a text or a URL`],
    ...isWhole(version) ? [] : [`rules.${name}.version: ${version}; expected an integer of 1 or more`],
    ...isWhole(keepEvents) ? [] : [`rules.${name}.keepEvents: ${keepEvents}; expected an integer of 1 or more`],
    ...isWhole(maxArgBytes) && maxArgBytes <= MOST_ARG_BYTES
      ? []
      : [`rules.${name}.maxArgBytes: ${maxArgBytes}; expected an integer of 1 to ${MOST_ARG_BYTES}`],
    ...Array.isArray(keeps) && keeps.every((part) => KEPT_PARTS.includes(part))
      ? []
      : [`rules.${name}.keeps: ${keeps}; expected a list of ${KEPT_PARTS.join(' ')}`],
    ...[functions.fold, functions.certain, functions.claimant].every((part) => part === undefined || typeof part === 'function')
      ? []
      : [`rules.${name}: fold, certain and claimant are functions`]
  ]
}

/**
 * A function may make rows of other names.
 * @param {{ driver?: unknown, rows?: object, consumers?: unknown }} definition @returns {string[]}
 */
export function faultsOfDriver ({ driver, rows = {}, consumers }) {
  const drivers = [OF_TASKS, ...Object.keys(rows)]
  return driver === undefined || typeof consumers === 'function' || drivers.includes(String(driver))
    ? []
    : [`driver: ${String(driver)}; expected ${drivers.join(' | ')}`]
}

/**
 * @param {any} definition
 * @returns {Promise<Definition>} with the texts of the rules
 * @throws {SettingsInvalid} with all faults
 */
export async function checkedDefinition (definition) {
  if (typeof definition !== 'object' || definition === null) {
    throw new SettingsInvalid([`a system is an object with name and rules, not ${String(definition)}`])
  }
  const { name, rules, driver } = definition
  const isTable = typeof rules === 'object' && rules !== null && Object.keys(rules).length > 0
  /** @type {string[]} */
  const faults = []
  const { values } = readRows([DURABILITY, { ...DURABILITY, name: 'withoutReplica' }], KNOWN, faults, givenBy(definition, 'the system'))
  faults.push(
    ...typeof name === 'string' && NAME.test(name) ? [] : [`name: ${String(name)}; expected ${NAMED}`],
    ...unknownIn(definition, PARTS, 'the system'),
    ...isTable
      ? Object.entries(rules).flatMap(([rule, ruleParts]) => faultsOfRule(rule, ruleParts))
      : ['rules: expected an object with a rule or more']
  )
  if (faults.length > 0) throw new SettingsInvalid(faults)
  const isMixed = Object.values(rules).some(({ ours }) => !ours)
  const read = await Promise.all(Object.entries(rules).map(async ([rule, ruleParts]) => {
    const { ours, lua, version = 1, ...rest } = ruleParts
    if (ours) return [rule, isMixed ? ownFormOf(rule) : ruleParts]
    return [rule, { text: await textOf(rule, lua), version, ...rest }]
  }))
  return { name, durability: values.durability ?? undefined, driver, rules: Object.fromEntries(read) }
}

/** @param {string} rule @param {string | URL} lua its text, or where that is */
const textOf = async (rule, lua) => typeof lua === 'string'
  ? lua
  : readFile(lua, 'utf8').catch((error) => {
    throw new SettingsInvalid([`rules.${rule}.lua: ${lua} cannot be read (${error.code ?? error.message}); expected the URL of a file`])
  })
