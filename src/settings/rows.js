/**
 * Rows of the settings table: finding, checking and refusing values.
 *
 * @typedef {import('./checks.js').Check} Check
 * @typedef {import('./checks.js').Context} Context
 * @typedef {{ name: string, default: any, check: Check, meaning: string, uses: string[], unit?: string,
 *   group: string, env?: string | null, secret?: boolean, defaults?: Record<string, any>, otherwise?: (values: any) => any,
 *   fits?: (value: any, values: any) => string | null }} Row `env`: null = no variable; `defaults`: defaults of single commands;
 *   `otherwise`: the default, where it depends on others; `fits`: what is expected in place of a given value, because of others; null: it
 *   fits
 */
import { expected, nodeUrls, serverUrl, serverUrls } from './checks.js'

/** The message about a name that does not exist: similar names, or else where the names are listed. */

const MAX_SUGGESTED = 3
/** shorter words are part of too many names */
const MIN_PART_CHARS = 3

/**
 * @param {string} name as it was given
 * @param {readonly string[]} existing names that exist, written as `name` is
 * @param {string} otherwise the end of the message if no name is similar, such as: --help lists the flags
 * @param {string} [where] it was given
 * @returns {string}
 */
export const unknownName = (name, existing, otherwise, where = '') =>
  `${name}${where} is unknown; ${didYouMean(name, existing) ?? otherwise}`

/** @param {string} name @param {readonly string[]} existing @returns {string | null} null = no name is similar */
export function didYouMean (name, existing) {
  const names = nearest(name, existing)
  if (names.length === 0) return null
  return `did you mean ${names.length === 1 ? names[0] : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`}?`
}

/** The part that tells names apart. @param {string} name */
const plain = (name) => name.toLowerCase().replace(/[^a-z0-9]/g, '').replace(/^freshet/, '')

/** @param {string} name @param {readonly string[]} existing @returns {string[]} at most three, those with the fewest edits */
function nearest (name, existing) {
  const plainName = plain(name)
  const rated = existing.map((candidate) => ({ candidate, bare: plain(candidate), edits: editsBetween(plainName, plain(candidate)) }))
  const near = rated.filter(({ bare, edits }) => edits <= Math.floor(Math.min(plainName.length, bare.length) / 3))
  const least = Math.min(...near.map(({ edits }) => edits))
  const isPart = (/** @type {string} */ part, /** @type {string} */ whole) => part.length >= MIN_PART_CHARS && whole.includes(part)
  const chosen = near.length > 0
    ? near.filter(({ edits }) => edits === least)
    : rated.filter(({ bare }) => isPart(plainName, bare) || isPart(bare, plainName))
  return chosen.slice(0, MAX_SUGGESTED).map(({ candidate }) => candidate)
}

/** Insertions, deletions, replacements, and swaps of neighbours. @param {string} a @param {string} b @returns {number} */
function editsBetween (a, b) {
  /** by number of characters of a, then of b @type {number[][]} */
  const edits = [Array.from({ length: b.length + 1 }, (_, j) => j)]
  for (let i = 1; i <= a.length; i++) {
    edits.push([i])
    for (let j = 1; j <= b.length; j++) {
      const replaced = edits[i - 1][j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      edits[i][j] = Math.min(edits[i - 1][j] + 1, edits[i][j - 1] + 1, replaced, isSwap ? edits[i - 2][j - 2] + 1 : Infinity)
    }
  }
  return edits[a.length][b.length]
}

/** @param {string[]} words */
export const unexpectedWords = (words) => words.map((word) => `unexpected argument "${word}"; a value follows its flag`)

/** @param {string} name camelCase @returns {string} its flag, without dashes */
export const flagOf = (name) => name.replace(/[A-Z]/g, (letter) => '-' + letter.toLowerCase())

/** @param {Row} row @returns {string | null} its environment variable */
export const envOf = ({ env, name }) => env === undefined ? 'FRESHET_' + flagOf(name).replaceAll('-', '_').toUpperCase() : env

/** @param {readonly Row[]} table @param {string} command @returns {Row[]} the rows a command uses */
export const rowsOf = (table, command) => table.filter((row) => row.uses.includes(command))

/** @param {Row} row @param {string} command */
export const defaultOf = (row, command) => row.defaults && Object.hasOwn(row.defaults, command) ? row.defaults[command] : row.default

/**
 * @param {Row[]} rows @param {Context} context @param {string[]} faults
 * @param {(row: Row) => [origin: string, value: any] | null} givenOf null = not given
 */
export function readRows (rows, context, faults, givenOf) {
  /** @type {Record<string, any>} */
  const values = {}
  /** @type {Record<string, string>} */
  const origins = {}
  for (const row of rows) {
    const [origin, value] = givenOf(row) ?? ['default']
    origins[row.name] = origin
    values[row.name] = origin === 'default' ? defaultOf(row, context.command) : readOne(row, value, origin, context, faults)
  }
  const isGiven = (/** @type {Row} */ { name }) => origins[name] !== 'default'
  for (const row of rows) if (row.otherwise && !isGiven(row)) values[row.name] = row.otherwise(values)
  for (const row of rows) {
    const expected = row.fits && isGiven(row) && values[row.name] !== null ? row.fits(values[row.name], values) : null
    if (expected) faults.push(`${row.name}: ${row.secret ? '(hidden)' : values[row.name]} (${origins[row.name]}); expected ${expected}`)
  }
  return { values, origins }
}

/** @param {Row} row @param {any} value @param {string} origin @param {Context} context @param {string[]} faults */
function readOne (row, value, origin, context, faults) {
  if (Array.isArray(value)) {
    faults.push(`${row.name}: given ${value.length} times (${origin}); give it once`)
    return row.default
  }
  try {
    return row.check.read(textOf(value), context)
  } catch (error) {
    const shown = row.secret ? '(hidden)' : value === '' ? 'no value' : textOf(value)
    faults.push(`${row.name}: ${shown}${error.why ? `, ${error.why}` : ''} (${origin}); expected ${expected(row.check, context)}`)
    return row.default
  }
}

/** @param {unknown} value @returns {string} also of values without a text, such as Object.create(null) */
function textOf (value) {
  try {
    return String(value)
  } catch {
    return `a value of type ${typeof value}`
  }
}

/**
 * Values of an object.
 * @param {Record<string, any>} of @param {string} origin @returns {(row: Row) => [string, any] | null}
 */
export const givenBy = (of, origin) => ({ name }) => {
  const value = of[name]
  return value === undefined || value === null ? null : [origin, Array.isArray(value) ? value.map(textOf).join(',') : value]
}

/**
 * Masks secrets, and passwords in URLs.
 * @param {readonly Row[]} rows @param {Record<string, any>} settings
 * @returns {Record<string, any>}
 */
export function withoutSecrets (rows, { origins: _origins, positionals: _positionals, ...values }) {
  const maskOne = (/** @type {unknown} */ url) => String(url).replace(/\/\/.*@/s, '//***@').replace(/\?.*/s, '?***')
  const mask = (/** @type {unknown} */ value) => (Array.isArray(value) ? value : [value]).map(maskOne).join(',')
  return Object.fromEntries(Object.entries(values).map(([name, value]) => {
    const row = rows.find((candidate) => candidate.name === name)
    if (!row?.secret || value === null) return [name, value]
    return [name, [nodeUrls, serverUrl, serverUrls].includes(row.check) ? mask(value) : '***']
  }))
}
