/**
 * Validates deadlines of callers, as in `flush({ deadlineMs: 5000 })`. A timer would treat anything but a number as zero.
 */

/** Default deadline. */
export const WAIT_MS = 10_000

/**
 * @param {any} given the options; undefined = none
 * @param {string} name of the only option
 * @param {number} otherwise ms
 * @returns {number} ms; negative = already passed, Infinity = no deadline
 * @throws {TypeError | RangeError} not an options object, or not a number
 */
export function waitOf (given, name, otherwise) {
  if (given === undefined) return otherwise
  if (typeof given !== 'object' || given === null) {
    throw new TypeError(`${String(given)} is not an options object; expected for example { ${name}: ${otherwise} }`)
  }
  const unknown = Object.keys(given).find((one) => one !== name)
  if (unknown !== undefined) throw new TypeError(`${unknown} is unknown; the only option is ${name}`)
  const ms = given[name] ?? otherwise
  if (typeof ms !== 'number' || Number.isNaN(ms)) throw new RangeError(`${name} ${String(ms)}; expected milliseconds, or Infinity`)
  return ms
}
