/**
 * The settings of a process: the table of src/settings-table.js with the settings of systems, and how command lines are read with it. The
 * library reads its options with the same table (src/options.js), and loads no command line.
 */
import { SettingsInvalid } from './src/errors.js'
import * as commandLine from './src/settings/command-line/index.js'
import { envOf, flagOf, table, withoutSecrets } from './src/settings/index.js'
import { SETTINGS as ROWS } from './src/settings-table.js'
import { OUR_SETTINGS } from './src/systems/settings.js'

export { envOf, flagOf, SettingsInvalid }

export const SETTINGS = Object.freeze([...ROWS, ...OUR_SETTINGS])

/** What --help explains of commands with many flags. */
const OFTEN = Object.freeze([
  'redisUrl', 'databaseUrl', 'feed', 'layout', 'partitions', 'windowMs', 'maxItems', 'rate', 'ids', 'writers', 'items', 'duration',
  'source', 'file', 'format', 'itemsField', 'idField', 'tsField', 'valueField', 'replay', 'port', 'gatewayPort', 'host', 'tokens',
  'systems', 'gatewayUrl', 'exchanges', 'quick', 'a', 'b', 'json'
])

export const help = commandLine.help.bind(null, SETTINGS, OFTEN)
export const resolve = commandLine.resolve.bind(null, SETTINGS)
export const resolveOptions = table.resolveOptions.bind(null, SETTINGS)
export const optionsOf = table.optionsOf.bind(null, SETTINGS)
export const checkSettings = table.checkSettings.bind(null, SETTINGS)
export const settledSettings = table.settledSettings.bind(null, SETTINGS)
export const settingsOfFlags = commandLine.settingsOfFlags.bind(null, SETTINGS)
export const flagsOf = table.flagsOf.bind(null, SETTINGS)

/**
 * The settings of a command, with those of the modules of users that it names.
 * @param {{ argv: string[], env: Record<string, string | undefined> }} from
 * @param {{ command: string, layouts?: string[], acks?: string[], positionals?: number,
 *   faultsOf?: (input: import('./src/settings/index.js').SettingsInput) => string[],
 *   settingsOfModules?: (names: string[], taken: readonly string[]) => Promise<import('./src/settings/index.js').Row[]> }} context
 *   `settingsOfModules`: those of the modules among such names
 * @param {string | (() => Promise<string>)} usage first lines of its help
 * @returns {Promise<any>} null: its help was asked for, and printed @throws {SettingsInvalid}
 */
export async function settingsOf ({ argv, env }, { settingsOfModules, ...context }, usage) {
  const all = { layouts: [], acks: [], ...context }
  const systems = commandLine.systemsIn(SETTINGS, argv, env, all.command)
  const ofModules = await settingsOfModules?.(systems, SETTINGS.map(({ name }) => name)) ?? []
  const rows = [...SETTINGS, ...ofModules]
  if (!argv.includes('--help')) return Object.freeze({ ...commandLine.resolve(rows, argv, env, all), ofModules })
  const often = [...OFTEN, ...ofModules.map(({ name }) => name)]
  process.stdout.write(await commandLine.help(rows, often, all, typeof usage === 'string' ? usage : await usage(), argv) + '\n')
  return null
}

/** @param {Record<string, any>} settings @returns {Record<string, any>} as they may be logged: without secrets */
export const printable = ({ ofModules = [], ...settings }) => withoutSecrets([...SETTINGS, ...ofModules], settings)
