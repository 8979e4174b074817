/**
 * Validates data by shape. A check takes a value, its path and the list of faults, adds what is wrong to the list, and returns
 * the value with defaults filled in. One pass finds every fault.
 *
 * @typedef {((value: any, path: string, faults: string[]) => any) & { expects: string }} Check
 * @typedef {Record<string, Check | [Check, any]>} Shape a pair: optional, with its default (undefined: absent)
 */
import * as settings from '../../src/settings/index.js'

/** @param {string} path @param {string} name @returns {string} path of a part */
export const at = (path, name) => /^\w+$/.test(name) ? `${path && path + '.'}${name}` : `${path}[${JSON.stringify(name)}]`

/** @param {unknown} value @returns {string} short enough for a message */
const shown = (value) => {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 60 ? text.slice(0, 57) + '...' : text
}

/** @param {string} path @param {unknown} value @param {string} expects */
export const unfit = (path, value, expects) => `${path || 'the plan'}: ${shown(value)}; expected ${expects}`

/** @param {string} name that is unknown @param {readonly string[]} known @returns {string} end of a message */
export const expectedOneOf = (name, known) =>
  known.length > 0 ? settings.didYouMean(name, known) ?? `expected one of: ${known.join(', ')}` : 'there are none'

/** @param {string} expects @param {(value: any, path: string, faults: string[]) => any} read @returns {Check} */
const check = (expects, read) => Object.assign(read, { expects })

/** @param {string} expects @param {(value: any) => boolean} fits @returns {Check} */
const plain = (expects, fits) => check(expects, (value, path, faults) => {
  if (!fits(value)) faults.push(unfit(path, value, expects))
  return value
})

/** @param {number} [most] characters @returns {Check} */
export const text = (most = 2000) => plain(`a text of 1 to ${most.toLocaleString('en')} characters`,
  (value) => typeof value === 'string' && value.trim() !== '' && value.length <= most)

/** @param {unknown} value */
const kindOf = (value) => typeof value

/**
 * A check of src/settings, which reads text, for a typed value.
 * @param {string} type
 * @param {{ expects: any, read: (text: string, known: any) => unknown }} of
 */
const typed = (type, { expects, read }) => plain(expects, (value) => {
  try {
    return kindOf(value) === type && read(String(value), null) !== undefined
  } catch {
    return false
  }
})

/** @param {string} expects @param {RegExp} pattern */
export const matching = (expects, pattern) => typed('string', settings.matching(expects, pattern))

/** @param {number} low @param {number} high */
export const number = (low, high) => typed('number', settings.number(low, high))

/** @param {number} low @param {number} high */
export const integer = (low, high) => typed('number', settings.integer(low, high))

export const trueOrFalse = typed('boolean', settings.trueOrFalse)

/** Any setting; its own check is elsewhere. */
export const scalar = plain('a text, a number, true, false or null', (value) =>
  value === null || ['string', 'number', 'boolean'].includes(typeof value))

/** @param {readonly string[]} words @returns {Check} */
export const oneOf = (words) => check(words.join(' | '), (value, path, faults) => {
  if (!words.includes(value)) faults.push(`${path}: ${shown(value)}; ${expectedOneOf(String(value), words)}`)
  return value
})

/** @param {Check} inner @returns {Check} */
export const orNull = (inner) =>
  check(`${inner.expects}, or null`, (value, path, faults) => value === null ? null : inner(value, path, faults))

/** @param {Check} inner @param {number} [least] how many @returns {Check} */
export const list = (
  inner, least = 0
) => check(`a list of ${least ? `at least ${least}: ` : ''}${inner.expects}`, (value, path, faults) => {
  if (!Array.isArray(value) || value.length < least) {
    faults.push(unfit(path, value, `a list${least ? ` of at least ${least}` : ''}`))
    return []
  }
  return value.map((one, i) => inner(one, `${path}[${i}]`, faults))
})

/** @param {Check} name of its entries @param {Check} inner @param {number} [least] how many @returns {Check} */
export const named = (name, inner, least = 0) => check('an object of names', (value, path, faults) => {
  if (!isRecord(value) || Object.keys(value).length < least) {
    faults.push(unfit(path, value, `an object${least ? ` with at least ${least}, each under its name` : ''}`))
    return {}
  }
  return Object.fromEntries(Object.entries(value).map(([key, one]) => {
    name(key, `${path}: the name`, faults)
    return [key, inner(one, at(path, key), faults)]
  }))
})

/** @param {Shape} shape @returns {Check} */
export const object = (shape) => check(`an object with ${Object.keys(shape).join(', ')}`, (value, path, faults) => {
  if (!isRecord(value)) {
    faults.push(unfit(path, value, 'an object'))
    return {}
  }
  for (const key of Object.keys(value)) {
    if (!Object.hasOwn(shape, key)) faults.push(`${at(path, key)} is unknown; ${expectedOneOf(key, Object.keys(shape))}`)
  }
  /** @type {Record<string, any>} */
  const read = {}
  for (const [key, rule] of Object.entries(shape)) {
    const [inner, fallback] = Array.isArray(rule) ? rule : [rule, undefined]
    if (value[key] !== undefined) read[key] = inner(value[key], at(path, key), faults)
    else if (!Array.isArray(rule)) faults.push(`${at(path, key)} is missing; expected ${inner.expects}`)
    else if (fallback !== undefined) read[key] = fallback
  }
  return read
})

/** @param {unknown} value @returns {value is Record<string, unknown>} */
const isRecord = (value) => value !== null && typeof value === 'object' && !Array.isArray(value)
