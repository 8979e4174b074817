/**
 * How long a caller waits, as it is handed over: `flush({ deadlineMs: 5000 })`. A timer takes what is no number for no time
 * at all, or would never be set, so it is refused.
 */

/** Waits end after so long unless they are told otherwise. */
export const WAIT_MS = 10_000

/**
 * @param {any} given the options; undefined = none
 * @param {string} name of the one option that there is
 * @param {number} otherwise ms
 * @returns {number} ms; below 0 = that moment has passed, Infinity = without end
 * @throws {TypeError | RangeError} what it was given is no options, or no number
 */
export function waitOf (given, name, otherwise) {
  if (given === undefined) return otherwise
  if (typeof given !== 'object' || given === null) throw new TypeError(`${String(given)} is no options; expected an object such as { ${name}: ${otherwise} }`)
  const unknown = Object.keys(given).find((one) => one !== name)
  if (unknown !== undefined) throw new TypeError(`${unknown} is unknown; the only option is ${name}`)
  const ms = given[name] ?? otherwise
  if (typeof ms !== 'number' || Number.isNaN(ms)) throw new RangeError(`${name} ${String(ms)}; expected milliseconds, or Infinity`)
  return ms
}
