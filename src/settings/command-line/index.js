/**
 * Command lines: resolving flags, variables and defaults; help. It is apart from the rest of src/settings, because users of the library do
 * not need yargs. settings.js binds these functions to its table.
 *
 * @typedef {import('../checks.js').Context} Context
 * @typedef {import('../rows.js').Row} Row
 */
import yargs from 'yargs'
import { SettingsInvalid } from '../../errors.js'
import { defaultOf, envOf, flagOf, readRows, rowsOf, unexpectedWords, unknownName } from '../rows.js'
import { checkTogether } from '../resolve.js'

/**
 * The text of --help: a line for each flag, in the groups of the table. Ranges and formats of values are in docs/settings.md and
 * in the messages about wrong values.
 */

/** longer lines are hard to read */
const MAX_COLUMNS = 100
const INDENT = '  '
const GAP = '  '
/** of a command with more, only those that are used often are explained */
const MANY = 24
/** the text of a longer flag begins on the next line */
const MAX_FLAG_CHARS = 20

/**
 * @param {Row[]} all @param {Context} context
 * @param {string} usage first lines of the help
 * @param {{ often: readonly string[] | null, columns?: number }} how `often`: names of the rows that are explained where there are
 *   many; null = all rows; `columns` of the terminal
 * @returns {string}
 */
function helpOf (all, context, usage, { often, columns = process.stdout.columns ?? MAX_COLUMNS }) {
  const width = Math.min(columns, MAX_COLUMNS)
  const rows = often === null || all.length <= MANY ? all : all.filter(({ name }) => often.includes(name))
  const groups = [...new Set(rows.map(({ group }) => group))]
  const flags = rows.map(({ name }) => `--${flagOf(name)}`)
  const flagChars = Math.max(...flags.map((flag) => flag.length).filter((chars) => chars <= MAX_FLAG_CHARS))
  const indent = ' '.repeat(INDENT.length + flagChars + GAP.length)
  const lineOf = (/** @type {Row} */ row) => {
    const flag = `${INDENT}--${flagOf(row.name)}`
    const start = flag.length < indent.length ? flag.padEnd(indent.length) : `${flag}\n${indent}`
    return start + wrapped(textOf(row, context), width - indent.length).join(`\n${indent}`)
  }
  const parts = groups.map((group) => [`${group}:`, ...rows.filter((row) => row.group === group).map(lineOf)].join('\n'))
  const others = namesOf(all.filter((row) => !rows.includes(row)), width)
  return [usage, ...parts, ...others, wrapped(variablesOf(all), width).join('\n')].join('\n\n')
}

/** @param {Row[]} rows that are not explained @param {number} width */
function namesOf (rows, width) {
  if (rows.length === 0) return []
  const groups = [...new Set(rows.map(({ group }) => group))]
  const lines = groups.map((group) => {
    const flags = rows.filter((row) => row.group === group).map(({ name }) => `--${flagOf(name)}`)
    return INDENT + wrapped(`${group}: ${flags.join(' ')}`, width - 2 * INDENT.length).join(`\n${INDENT}${INDENT}`)
  })
  return [['Further flags, which --help all explains:', ...lines].join('\n')]
}

/** @param {Row} row @param {Context} context */
function textOf (row, context) {
  const { hint, flagOnly } = row.check
  const value = flagOnly ? null : defaultOf(row, context.command)
  const unit = row.unit ?? ''
  const unset = value === null ? unit : `default: ${value} ${unit}`.trim()
  const facts = [typeof hint === 'function' ? hint(context) : hint, unset].filter(Boolean).join('; ')
  return row.meaning + (facts ? ` [${facts}]` : '')
}

/** The rule for environment variables, with an example and the exceptions. @param {Row[]} rows */
function variablesOf (rows) {
  const [example] = rows.filter((row) => envOf(row) === variableOf(row))
  const exceptions = rows.filter((row) => envOf(row) !== variableOf(row))
    .map((row) => `--${flagOf(row.name)} ${envOf(row) === null ? 'has none' : `is ${envOf(row)}`}`)
  return [`Each flag has an environment variable: --${flagOf(example.name)} is ${envOf(example)}`, ...exceptions].join(', ') + '.'
}

/** The regular variable of a row. @param {Row} row */
const variableOf = ({ name }) => envOf(/** @type {Row} */ ({ name }))

/** @param {string} text @param {number} columns @returns {string[]} lines, broken between words */
function wrapped (text, columns) {
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = lines[lines.length - 1]
    if (line === '') lines[lines.length - 1] = word
    else if (line.length + 1 + word.length <= columns) lines[lines.length - 1] = `${line} ${word}`
    else lines.push(word)
  }
  return lines
}

/**
 * The command line: flags, read by yargs.
 */

/**
 * Flags that npm consumed: `npm start writer --rate 50000` arrives as `writer 50000` with npm_config_rate=true.
 * @typedef {{ flags: [name: string, value: string][], words: string[], context: Context & { positionals?: number } }} Lost
 *   `flags`: as npm parsed them; `words`: all arguments that arrived, among them values of those flags
 */

/** No conversion of flags and words. */
const AS_WRITTEN = {
  'boolean-negation': false,
  'camel-case-expansion': false,
  'dot-notation': false,
  'parse-numbers': false,
  'parse-positional-numbers': false
}

/** @param {Row[]} rows @param {string[]} argv */
function parser (rows, argv) {
  const options = Object.fromEntries(rows.map(({ name, check }) => [flagOf(name), { type: check.flagOnly ? 'boolean' : 'string' }]))
  return yargs(joined(rows, argv)).help(false).version(false).exitProcess(false).fail(false)
    .parserConfiguration(AS_WRITTEN)
    .options(/** @type {any} */ (options))
}

/** Joins a value that itself consists of flags to its flag: --a=... @param {Row[]} rows @param {string[]} argv */
function joined (rows, argv) {
  const takers = rows.filter(({ check }) => check.isFlags).map(({ name }) => '--' + flagOf(name))
  /** @type {string[]} */
  const words = []
  for (const word of argv) {
    const isValue = takers.includes(/** @type {string} */ (words.at(-1))) && !takers.includes(word)
    words.push(isValue ? `${words.pop()}=${word}` : word)
  }
  return words
}

/** @param {Row[]} rows @param {string[]} argv @returns {{ flags: Record<string, any>, words: string[] }} */
function readFlags (rows, argv) {
  const { _: words, $0: _script, ...flags } = /** @type {Record<string, any>} */ (parser(rows, argv).parseSync())
  return { flags, words: words.map(String) }
}

/** @param {Row[]} rows @param {Record<string, string | undefined>} env @returns {Lost['flags']} */
const keptByNpm = (rows, env) => rows.flatMap(({ name }) => {
  const value = env['npm_config_' + flagOf(name).replaceAll('-', '_')]
  return value === undefined ? [] : [[flagOf(name), value]]
})

/** @param {Record<string, any>} flags @param {Row[]} rows @param {Context} context @returns {string[]} faults */
function unknownFlags (flags, rows, { command }) {
  const flagNames = rows.map(({ name }) => `--${flagOf(name)}`)
  return Object.keys(flags).map((flag) => `--${flag}`).filter((flag) => !flagNames.includes(flag))
    .map((flag) => unknownName(flag, flagNames, `${command} --help lists the flags`))
}

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
 * @param {Context & { positionals?: number, faultsOf?: (input: import('../index.js').SettingsInput) => string[] }} context
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
  return [...named, ...words].flatMap((names) => String(names).split(',')).map((name) => name.trim()).filter(Boolean)
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
  const settings = Object.fromEntries(Object.entries(values).filter(([name]) => origins[name] !== 'default'))
  faults.push(...checkTogether({ values, origins, context }))
  if (faults.length) throw new SettingsInvalid(faults.map((fault) => `${origin}: ${fault}`))
  return settings
}
