/**
 * Command lines: resolving flags, variables and defaults; help. It is apart from the rest of src/settings, because users of the library do
 * not need yargs. settings.js binds these functions to its table.
 *
 * @typedef {import('../checks.js').Context} Context
 * @typedef {import('../rows.js').Row} Row
 */
import { SettingsInvalid } from '../../errors.js'
import { envOf, flagOf, readRows, rowsOf } from '../rows.js'
import { checkTogether } from '../rules.js'
import { unexpectedWords, unknownName } from '../unknown.js'
import { keptByNpm, readFlags, unknownFlags } from './flags.js'
import { helpOf } from './help.js'

/**
 * @param {readonly Row[]} table
 * @param {readonly string[]} often names of rows that are explained also where a command has many
 * @param {Context} context
 * @param {string} usage first lines of the help
 * @param {string[]} argv --help, or --help all
 * @returns {Promise<string>} what --help prints
 */
export const help = async (table, often, context, usage, argv) =>
  helpOf(rowsOf(table, context.command), context, usage, { often: argv[argv.indexOf('--help') + 1] === 'all' ? null : often })

/**
 * The settings of a command, from its flags, the environment and the defaults.
 * @param {readonly Row[]} table
 * @param {string[]} argv arguments after the command
 * @param {Record<string, string | undefined>} env
 * @param {Context & { positionals?: number, faultsOf?: (given: import('../index.js').SettingsInput) => string[] }} context
 *   `positionals`: maximum number of words that are no flags (0); `faultsOf`: of the command itself
 * @returns {Readonly<Record<string, any> & { origins: Record<string, string>, positionals: string[] }>}
 * @throws {SettingsInvalid} with all faults
 */
export function resolve (table, argv, env, context) {
  const rows = rowsOf(table, context.command)
  /** @type {string[]} */
  const faults = []
  const { flags, words: positionals } = readFlags(rows, argv)
  const { values, origins } = readRows(rows, context, faults, (row) => {
    const flag = flagOf(row.name)
    const variable = envOf(row)
    if (flag in flags) return [`--${flag}`, flags[flag]]
    return variable && env[variable] ? [variable, env[variable]] : null
  })
  faults.push(...unknownVariables(table, env), ...unknownFlags(flags, rows, context),
    ...unexpectedWords(positionals.slice(context.positionals ?? 0)), ...context.faultsOf?.({ values, origins, words: positionals }) ?? [])
  const lost = keptByNpm(rows, env)
  for (const [flag] of lost) faults.push(`--${flag} did not arrive: npm took it as an option of its own`)
  faults.push(...checkTogether({ values, origins, context, words: positionals }))
  if (values.replicaUrl && origins.redisUrl === 'default') {
    faults.push(`replicaUrl: (${origins.replicaUrl}); expected only with --redis-url, the primary of these replicas: ` +
      'without it embedded servers are used, which have their own')
  }
  if (faults.length) throw new SettingsInvalid(faults, lost.length ? { lost: { flags: lost, words: positionals, context } } : undefined)
  return Object.freeze({ ...values, origins: Object.freeze(origins), positionals })
}

/** Settings that name systems. */
const OF_SYSTEMS = Object.freeze(['systems', 'system'])

/**
 * Names of systems in a command line whose other settings are not known yet: modules have settings of their own.
 * @param {readonly Row[]} table @param {string[]} argv @param {Record<string, string | undefined>} env @param {string} command
 * @returns {string[]}
 */
export function systemsIn (table, argv, env, command) {
  const rows = rowsOf(table, command)
  const { flags, words } = readFlags(rows, argv)
  const named = rows.filter(({ name }) => OF_SYSTEMS.includes(name)).map((row) => flags[flagOf(row.name)] ?? env[String(envOf(row))] ?? '')
  return [...named, ...words].flatMap((given) => String(given).split(',')).map((one) => one.trim()).filter(Boolean)
}

/** @param {readonly Row[]} table @param {Record<string, string | undefined>} env @returns {string[]} faults */
function unknownVariables (table, env) {
  const variables = table.flatMap((row) => envOf(row) ?? [])
  return Object.keys(env)
    .filter((name) => name.startsWith('FRESHET_') && !name.startsWith('FRESHET_TEST_') && !variables.includes(name))
    .map((name) => unknownName(name, variables, 'docs/settings.md lists the variables', ' (environment)'))
}

/**
 * Settings of a writer as flags in one text.
 * @param {readonly Row[]} table
 * @param {string} text such as --layout ids --batch-ms 10
 * @param {Omit<Context, 'command'>} rest
 * @param {string} origin where the text came from
 * @returns {Record<string, any>} by name, those that are given
 * @throws {SettingsInvalid} with all faults
 */
export function settingsOfFlags (table, text, rest, origin) {
  const [context, rows] = [{ ...rest, command: 'writer' }, rowsOf(table, 'writer')]
  const { flags, words } = readFlags(rows, text.split(/\s+/).filter(Boolean))
  const faults = [...unknownFlags(flags, rows, context), ...unexpectedWords(words)]
  const { values, origins } = readRows(rows, context, faults, ({ name }) => {
    const flag = flagOf(name)
    return flag in flags ? [`--${flag}`, flags[flag]] : null
  })
  const given = Object.fromEntries(Object.entries(values).filter(([name]) => origins[name] !== 'default'))
  faults.push(...checkTogether({ values, origins, context }))
  if (faults.length) throw new SettingsInvalid(faults.map((fault) => `${origin}: ${fault}`))
  return given
}
