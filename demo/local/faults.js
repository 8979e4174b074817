/**
 * Faults of a local service, switched over HTTP. Fields that a request does not name are off.
 *
 * @typedef {Record<string, { off: number | boolean | null, range?: readonly [low: number, high: number] }>} FaultTable by name; `range` of
 *   a number, the others are true or false
 */
import { unknownName } from '../../src/settings/index.js'

/** @param {FaultTable} table @returns {any} none of them */
export const offOf = (table) => Object.freeze(Object.fromEntries(Object.entries(table).map(([name, { off }]) => [name, off])))

/**
 * @param {string} text JSON @param {FaultTable} table
 * @returns {any} the faults @throws {Error} one sentence per mistake
 */
export function readFaults (text, table) {
  const names = Object.keys(table)
  const example = JSON.stringify({ [names[1]]: table[names[1]].range?.[1] ?? true })
  /** @type {any} */
  let given
  try {
    given = JSON.parse(text)
  } catch {
    throw new Error(`the body is not JSON; expected an object such as ${example}`)
  }
  if (given === null || typeof given !== 'object' || Array.isArray(given)) {
    throw new Error(`the body is not an object; expected one such as ${example}`)
  }
  const wrong = Object.entries(given).flatMap(([name, value]) => {
    if (!Object.hasOwn(table, name)) return [unknownName(name, names, `the faults are ${names.join(' ')}`)]
    const { range } = table[name]
    if (!range) return typeof value === 'boolean' ? [] : [`${name}: ${JSON.stringify(value)}; expected true or false`]
    const isValid = typeof value === 'number' && value >= range[0] && value <= range[1]
    return isValid ? [] : [`${name}: ${JSON.stringify(value)}; expected a number from ${range.join(' to ')}`]
  })
  if (wrong.length > 0) throw new Error(wrong.join('\n'))
  return { ...offOf(table), ...given }
}
