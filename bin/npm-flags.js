/**
 * The corrected command line for flags without -- before them. npm consumes such flags: their values arrive as words, without their
 * flags. Often only one arrangement passes the checks of the table.
 */
import { SETTINGS, flagOf } from '../settings.js'

/** more words have too many arrangements */
const MAX_WORDS = 5

/** @typedef {import('../src/settings/index.js').Lost} Lost */

/**
 * @param {Lost | undefined} lost flags that npm consumed
 * @param {string[]} argv arguments after the command
 * @returns {string} text to add to the message; '' without such flags
 */
export const npmAdvice = (lost, argv) => lost ? `\nnpm consumes flags that do not follow --. Run:\n  ${lineMeant(lost, argv)}` : ''

/** @param {Lost} lost @param {string[]} argv */
function lineMeant ({ flags, words, context }, argv) {
  const bare = flags.filter(([flag, value]) => value === 'true' && !rowOf(flag, context)?.check.flagOnly).map(([flag]) => flag)
  const { values, arrangement } = valuesOf(bare, words, context)
  const meant = flags.map(([flag, value]) => {
    if (bare.includes(flag)) return `--${flag} ${arrangement ? arrangement[bare.indexOf(flag)] : '<value>'}`
    if (value === 'true') return `--${flag}`
    return `--${flag} ${rowOf(flag, context)?.secret ? '<value>' : value}`
  })
  const start = context.command === 'start'
    ? 'npm start'
    : context.command === 'experiment' ? 'npm run experiment' : `npm start ${context.command}`
  return [start, '--', ...argv.filter((word) => !values.includes(word)), ...meant].join(' ')
}

/**
 * Which words are values, in the order of `bare`.
 * @param {string[]} bare flags without their values @param {string[]} words @param {Lost['context']} context
 * @returns {{ values: string[], arrangement: string[] | null }} `arrangement`: null = none or several arrangements
 */
function valuesOf (bare, words, context) {
  const extra = words.slice(context.positionals ?? 0)
  // a command that accepts any number of words counted the values among them
  const values = extra.length > 0 ? extra : words.slice(words.length - bare.length)
  const fitting = arrangements(values).filter((candidate) =>
    candidate.length === bare.length && candidate.every((value, i) => fits(bare[i], value, context)))
  const arrangement = fitting.length === 1 ? fitting[0] : null
  return { values: arrangement || extra.length > 0 ? values : [], arrangement }
}

/** @param {string[]} words @returns {string[][]} in every order */
function arrangements (words) {
  if (words.length > MAX_WORDS) return []
  if (words.length < 2) return [words]
  return words.flatMap((word, i) => arrangements(words.toSpliced(i, 1)).map((rest) => [word, ...rest]))
}

/** @param {string} flag @param {Lost['context']} context */
const rowOf = (flag, { command }) => SETTINGS.find(({ name, uses }) => flagOf(name) === flag && uses.includes(command))

/** @param {string} flag @param {string} value @param {Lost['context']} context */
function fits (flag, value, context) {
  try {
    rowOf(flag, context)?.check.read(value, context)
    return true
  } catch {
    return false
  }
}
