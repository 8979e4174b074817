/**
 * The command line: flags, read by yargs.
 *
 * @typedef {import('../checks.js').Context} Context
 * @typedef {import('../rows.js').Row} Row
 */
import yargs from 'yargs'
import { flagOf } from '../rows.js'
import { unknownName } from '../unknown.js'

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
export function readFlags (rows, argv) {
  const { _: words, $0: _script, ...flags } = /** @type {Record<string, any>} */ (parser(rows, argv).parseSync())
  return { flags, words: words.map(String) }
}

/** @param {Row[]} rows @param {Record<string, string | undefined>} env @returns {Lost['flags']} */
export const keptByNpm = (rows, env) => rows.flatMap(({ name }) => {
  const value = env['npm_config_' + flagOf(name).replaceAll('-', '_')]
  return value === undefined ? [] : [[flagOf(name), value]]
})

/** @param {Record<string, any>} flags @param {Row[]} rows @param {Context} context @returns {string[]} faults */
export function unknownFlags (flags, rows, { command }) {
  const known = rows.map(({ name }) => `--${flagOf(name)}`)
  return Object.keys(flags).map((flag) => `--${flag}`).filter((flag) => !known.includes(flag))
    .map((flag) => unknownName(flag, known, `${command} --help lists the flags`))
}
