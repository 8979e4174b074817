/**
 * The command line: flags as yargs reads them, and the help that lists them.
 *
 * @typedef {import('./checks.js').Known} Known
 * @typedef {import('./rows.js').Row} Row
 */
import yargs from 'yargs'
import { expected } from './checks.js'
import { defaultOf, envOf, flagOf, nearest } from './rows.js'

/**
 * Flags that npm kept for itself: `npm start writer --rate 50000` reaches us as `writer 50000` with npm_config_rate=true.
 * @typedef {{ flags: [name: string, value: string][], words: string[], known: Known & { positionals?: number } }} Lost
 *   `flags` as npm understood them; `words`: all that arrived, values of those flags among them
 */

/** @param {Row[]} rows @param {string[]} argv @param {Known} known */
function parser (rows, argv, known) {
  const options = Object.fromEntries(rows.map((row) => {
    const unit = row.unit ? ` (${row.unit})` : ''
    const unset = defaultOf(row, known.command)
    const given = unset === null ? '' : ` [default: ${unset}]`
    const variable = envOf(row)
    const what = `${row.meaning}${unit}; ${expected(row.check, known)}${given}${variable ? ` [${variable}]` : ''}`
    return [flagOf(row.name), { type: row.check.flagOnly ? 'boolean' : 'string', describe: what, group: row.group + ':' }]
  }))
  return yargs(joined(rows, argv)).help(false).version(false).exitProcess(false).fail(false).wrap(110)
    .parserConfiguration({ 'boolean-negation': false, 'camel-case-expansion': false, 'dot-notation': false, 'parse-numbers': false, 'parse-positional-numbers': false })
    .options(/** @type {any} */ (options))
}

/** A value that is flags itself would be taken for one, so it is joined to its own: --a=... @param {Row[]} rows @param {string[]} argv */
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
 * @returns {Promise<string>} what --help prints
 */
export async function helpOf (rows, known, usage) {
  const text = await parser(rows, [], known).usage(usage).getHelp()
  // flags of one letter have two dashes like the others
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
export const unknownFlags = (flags, rows, { command }) => Object.keys(flags).filter((flag) => !rows.some((row) => flagOf(row.name) === flag))
  .map((flag) => `--${flag} is unknown; ${command} knows ${nearest(flag, rows.map(({ name }) => flagOf(name))).map((name) => `--${name}`).join(' ')}`)

/** @param {string[]} words */
export const unexpectedWords = (words) => words.length ? [`${words.map((word) => `"${word}"`).join(', ')} is not expected: values follow a flag`] : []
