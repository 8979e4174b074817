/**
 * Kinds of values. A check parses the text of a value, or throws; `why` of the error names the wrong part of a value that is
 * not shown itself.
 *
 * @typedef {{ expects: string | ((context: Context) => string), read: (text: string, context: Context) => unknown,
 *   hint?: string | ((context: Context) => string), flagOnly?: boolean, isFlags?: boolean }} Check `hint`: what --help shows of it;
 *   `flagOnly`: the flag has no value; `isFlags`: the value consists of flags
 * @typedef {{ command: string, layouts: string[], acks: string[] }} Context names from the rest of the program
 */

import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** As `toLocaleString('en')`, whose first call takes 0.1 s, at the start of each process. @param {number} n an integer */
export const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ',')

/** What has a slash, or ends so, is a path from the working folder, of a module of a user. */
const PATH = /\/|\.js$/

/** @param {string} name @returns {boolean} whether it is the path of a module */
export const isModule = (name) => PATH.test(name)

/** @type {(low: number, high: number) => Check} */
export const integer = (low, high) => ({
  expects: `an integer from ${grouped(low)} to ${grouped(high)}`,
  read (text) {
    const value = /^\d+$/.test(text) ? Number(text) : NaN
    if (!(value >= low && value <= high)) throw new RangeError()
    return value
  }
})

/** @type {(low: number, high: number) => Check} */
export const number = (low, high) => ({
  expects: `a number from ${low} to ${grouped(high)}`,
  read (text) {
    const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : NaN
    if (!(value >= low && value <= high)) throw new RangeError()
    return value
  }
})

/** @type {(...words: string[]) => Check} */
export const oneOf = (...words) => ({
  expects: words.join(' | '),
  hint: words.join(' | '),
  read (text) {
    if (!words.includes(text)) throw new RangeError()
    return text
  }
})

/** @type {(expects: string, pattern: RegExp) => Check} */
export const matching = (expects, pattern) => ({
  expects,
  read (text) {
    if (!pattern.test(text)) throw new RangeError()
    return text
  }
})

/** @type {(of: 'layouts' | 'acks') => Check} */
export const oneOfKnown = (of) => ({
  expects: (context) => context[of].join(' | '),
  hint: (context) => context[of].join(' | '),
  read (text, context) {
    if (!context[of].includes(text)) throw new RangeError()
    return text
  }
})

const MOST_REPLICAS = 16

/** @type {(check: Check) => Check} */
export const orReplicas = (check) => {
  const both = (/** @type {Context} */ context) => `${expected(check, context)} | a number of replicas, 1 to ${MOST_REPLICAS}`
  return {
    expects: both,
    hint: both,
    read (text, context) {
      if (!/^\d+$/.test(text)) return check.read(text, context)
      return String(integer(1, MOST_REPLICAS).read(text, context))
    }
  }
}

/** @param {string} why the wrong part, without secrets @returns {Error} */
export const wrong = (why) => Object.assign(new RangeError(), { why })

/** @type {(expects: string, isOne: (text: string) => boolean) => Check} */
export const oneWhere = (expects, isOne) => ({
  expects,
  read (text) {
    if (!isOne(text)) throw new RangeError()
    return text
  }
})

/** @type {(expects: string, isOne: (text: string) => boolean) => Check} separated by commas */
export const listWhere = (expects, isOne) => ({
  expects,
  read (text) {
    const given = text.split(',').map((one) => one.trim())
    if (!given.every(isOne)) throw new RangeError()
    return given
  }
})

/** @param {string} path @param {number} mode @param {string} [subject] */
function expectAccess (path, mode, subject = 'it') {
  try {
    accessSync(path, mode)
  } catch (error) {
    throw wrong(error.code === 'ENOENT' ? `${subject} does not exist` : `${subject} cannot be used (${error.code})`)
  }
}

/** @param {string} path @param {number} mode @returns {string} the same */
function expectFile (path, mode) {
  expectAccess(path, mode)
  if (statSync(path).isDirectory()) throw wrong('it is a directory')
  return path
}

/** @type {Check} */
export const readableFile = { expects: 'a file that can be read', read: (path) => expectFile(path, constants.R_OK) }

/** @type {Check} */
export const writableFile = {
  expects: 'a file that can be written',
  read (path) {
    if (existsSync(path)) return expectFile(path, constants.W_OK)
    expectAccess(dirname(path), constants.W_OK, 'its directory')
    return path
  }
}

/** @type {Check} */
export const trueOrFalse = { expects: 'true | false', read: (text, context) => oneOf('true', 'false').read(text, context) === 'true' }

/** @type {Check} */
export const present = { ...trueOrFalse, flagOnly: true }

/** @type {Check} */
export const writerFlags = {
  ...matching('flags of the writer in quotes, such as "--layout values --batch-ms 10"', /\S/), hint: 'flags of the writer, in quotes', isFlags: true
}

export const FIELD = matching('a field, dotted for a nested one, such as properties.time', /^[^.]*[^.\s][^.]*(\.[^.]*[^.\s][^.]*)*$/)

/** @param {Check} check @param {Context} context @returns {string} description of valid values */
export const expected = ({ expects }, context) => typeof expects === 'string' ? expects : expects(context)
