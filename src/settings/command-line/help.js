/**
 * The text of --help: a line for each flag, in the groups of the table. Ranges and formats of values are in docs/settings.md and
 * in the messages about wrong values.
 *
 * @typedef {import('../checks.js').Context} Context
 * @typedef {import('../rows.js').Row} Row
 */
import { defaultOf, envOf, flagOf } from '../rows.js'

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
export function helpOf (all, context, usage, { often, columns = process.stdout.columns ?? MAX_COLUMNS }) {
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
