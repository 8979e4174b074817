/**
 * Checks of arguments of the library: callers may have no types.
 */
import { FreshetError } from './errors.js'

/** @param {string} message */
export const invalid = (message) => new FreshetError('ARGUMENT_INVALID', message)

/** @param {unknown} value @returns {string} short text for a message; some values have none of their own */
export function shown (value) {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 100))
  if (value === null || typeof value !== 'object') return typeof value === 'function' ? 'a function' : String(value)
  return Array.isArray(value) ? 'an array' : 'an object'
}

/**
 * @param {unknown} options an object; undefined = none
 * @param {readonly string[]} names
 * @returns {Record<string, any>}
 * @throws {FreshetError} ARGUMENT_INVALID
 */
export function optionsIn (options, names) {
  if (options === undefined) return {}
  if (typeof options !== 'object' || options === null) {
    throw invalid(`${shown(options)} is not an object; the options are ${names.join(' ')}`)
  }
  const unknown = Object.keys(options).find((name) => !names.includes(name))
  if (unknown !== undefined) throw invalid(`${unknown} is unknown; the options are ${names.join(' ')}`)
  return options
}

/**
 * The only option of a wait. A timer would treat anything but a number as zero.
 * @param {unknown} options an object; undefined = none
 * @param {string} name
 * @param {number} otherwise ms
 * @returns {number} ms; negative = already passed, Infinity = no deadline
 * @throws {FreshetError} ARGUMENT_INVALID
 */
export function waitOf (options, name, otherwise) {
  const ms = optionsIn(options, [name])[name] ?? otherwise
  if (typeof ms !== 'number' || Number.isNaN(ms)) throw invalid(`${name} ${shown(ms)}; expected milliseconds, or Infinity`)
  return ms
}
