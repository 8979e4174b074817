/**
 * What a person meant to type who left out the -- before the flags. npm takes such flags for settings of its own: their
 * values arrive as words, and npm does not tell which value belonged to which flag. Often only one arrangement passes
 * the checks of the table.
 */
import { SETTINGS, flagOf } from '../settings.js'

/** more words have too many arrangements */
const MOST_WORDS = 5

/** @typedef {import('../settings.js').Lost} Lost */

/**
 * @param {Lost | undefined} lost what npm kept
 * @param {string[]} argv what follows the command
 * @returns {string} what is added to the message: nothing when npm kept nothing
 */
export const npmAdvice = (lost, argv) => lost ? `\nnpm keeps flags for itself unless they follow --. Type:\n  ${lineMeant(lost, argv)}` : ''

/** @param {Lost} lost @param {string[]} argv */
function lineMeant ({ flags, words, known }, argv) {
  const bare = flags.filter(([flag, value]) => value === 'true' && !rowOf(flag, known)?.check.flagOnly).map(([flag]) => flag)
  const { values, found } = valuesOf(bare, words, known)
  const meant = flags.map(([flag, value]) => {
    if (bare.includes(flag)) return `--${flag} ${found ? found[bare.indexOf(flag)] : '<value>'}`
    if (value === 'true') return `--${flag}`
    return `--${flag} ${rowOf(flag, known)?.secret ? '<value>' : value}`
  })
  const start = known.command === 'start' ? 'npm start' : known.command === 'experiment' ? 'npm run experiment' : `npm start ${known.command}`
  return [start, '--', ...argv.filter((word) => !values.includes(word)), ...meant].join(' ')
}

/**
 * Which of the words are values, and in which order those of `bare`.
 * @param {string[]} bare flags without their values @param {string[]} words @param {Lost['known']} known
 * @returns {{ values: string[], found: string[] | null }} `found`: null = none, or more than one way
 */
function valuesOf (bare, words, known) {
  const extra = words.slice(known.positionals ?? 0)
  // a command that takes any number of words took the values for some of its own
  const values = extra.length > 0 ? extra : words.slice(words.length - bare.length)
  const fitting = arrangements(values).filter((one) => one.length === bare.length && one.every((value, i) => fits(bare[i], value, known)))
  const found = fitting.length === 1 ? fitting[0] : null
  return { values: found || extra.length > 0 ? values : [], found }
}

/** @param {string[]} words @returns {string[][]} in every order */
function arrangements (words) {
  if (words.length > MOST_WORDS) return []
  if (words.length < 2) return [words]
  return words.flatMap((word, i) => arrangements(words.toSpliced(i, 1)).map((rest) => [word, ...rest]))
}

/** @param {string} flag @param {Lost['known']} known */
const rowOf = (flag, { command }) => SETTINGS.find(({ name, uses }) => flagOf(name) === flag && uses.includes(command))

/** @param {string} flag @param {string} value @param {Lost['known']} known */
function fits (flag, value, known) {
  try {
    rowOf(flag, known)?.check.read(value, known)
    return true
  } catch {
    return false
  }
}
