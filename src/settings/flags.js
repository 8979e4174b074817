/**
 * The command line: flags, read by yargs, and the help.
 *
 * @typedef {import('./checks.js').Known} Known
 * @typedef {import('./rows.js').Row} Row
 */
import { createRequire } from 'node:module'
import { expected } from './checks.js'
import { defaultOf, envOf, flagOf, nearest } from './rows.js'

const require = createRequire(import.meta.url)
/** Loaded with the first command line, because users of the library do not need it. @returns {typeof import('yargs').default} */
const loadYargs = () => require('yargs')

/**
 * Flags that npm consumed: `npm start writer --rate 50000` arrives as `writer 50000` with npm_config_rate=true.
 * @typedef {{ flags: [name: string, value: string][], words: string[], known: Known & { positionals?: number } }} Lost
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

/** @param {Row[]} rows @param {string[]} argv @param {Known} known */
function parser (rows, argv, known) {
  const options = Object.fromEntries(rows.map((row) => {
    const unit = row.unit ? ` (${row.unit})` : ''
    const unset = defaultOf(row, known.command)
    const given = unset === null ? '' : ` [default: ${unset}]`
    const variable = envOf(row)
    const what = `${row.meaning}. Expected: ${expected(row.check, known)}${unit}${given}${variable ? ` [${variable}]` : ''}`
    return [flagOf(row.name), { type: row.check.flagOnly ? 'boolean' : 'string', describe: what, group: row.group + ':' }]
  }))
  return loadYargs()(joined(rows, argv)).help(false).version(false).exitProcess(false).fail(false).wrap(110)
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

/**
 * @param {Row[]} rows @param {Known} known
 * @param {string} usage first lines of the help
 * @returns {Promise<string>} text of --help
 */
export async function helpOf (rows, known, usage) {
  const text = await parser(rows, [], known).usage(usage).getHelp()
  // flags of one letter have two dashes too
  return text.replace(/^ {2}-([a-z]) {5}/gm, '      --$1')
}

/** @param {Row[]} rows @param {string[]} argv @param {Known} known @returns {{ flags: Record<string, any>, words: string[] }} */
export function readFlags (rows, argv, known) {
  const { _: words, $0: _script, ...flags } = /** @type {Record<string, any>} */ (parser(rows, argv, known).parseSync())
  return { flags, words: words.map(String) }
}

/** @param {Row[]} rows @param {Record<string, string | undefined>} env @returns {Lost['flags']} */
export const keptByNpm = (rows, env) => rows.flatMap(({ name }) => {
  const value = env['npm_config_' + flagOf(name).replaceAll('-', '_')]
  return value === undefined ? [] : [[flagOf(name), value]]
})

/** @param {Record<string, any>} flags @param {Row[]} rows @param {Known} known */
export function unknownFlags (flags, rows, { command }) {
  const known = rows.map(({ name }) => flagOf(name))
  return Object.keys(flags).filter((flag) => !known.includes(flag))
    .map((flag) => `--${flag} is unknown; ${command} has ${nearest(flag, known).map((name) => `--${name}`).join(' ')}`)
}

/** @param {string[]} words */
export const unexpectedWords = (words) => words.map((word) => `unexpected argument "${word}"; a value follows its flag`)
