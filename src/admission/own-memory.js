/**
 * Folds and certain rejections of rules of users, for the memory of keys: their functions see a state without the engine's fields, and what
 * they throw costs a read of the key, or a call, and nothing else.
 *
 * @typedef {import('./rules/index.js').Fields} Fields
 * @typedef {import('./own-rules.js').OwnRule} OwnRule
 */
import { CHANGED, eventOf, OWN_NAMES } from './own-state.js'

/** @param {Record<string, OwnRule>} rules @returns {import('./rules/index.js').Ruleset} */
export const memoryOf = (rules) => ({
  names: OWN_NAMES,
  folds: Object.fromEntries(Object.entries(rules).flatMap(([name, { fold }]) => fold ? [[name, foldWith(fold)]] : [])),
  certain: Object.fromEntries(Object.entries(rules).flatMap(([name, { certain }]) => certain ? [[name, certainWith(certain)]] : []))
})

/** @param {Fields} fields @returns {Fields} */
const stateIn = ({ [OWN_NAMES.seq]: _, [OWN_NAMES.version]: __, ...state }) => state

/** @param {NonNullable<OwnRule['fold']>} fold */
const foldWith = (fold) => (/** @type {Fields} */ fields, /** @type {Fields} */ event) => {
  if (event.type === CHANGED) return false
  try {
    const next = fold(stateIn(fields), eventOf(event))
    for (const name of Object.keys(fields)) delete fields[name]
    for (const [name, value] of Object.entries(next)) if (value !== undefined && value !== null) fields[name] = String(value)
    Object.assign(fields, { [OWN_NAMES.seq]: event.seq, [OWN_NAMES.version]: event.version })
    return true
  } catch {
    return false
  }
}

/** @param {NonNullable<OwnRule['certain']>} certain */
const certainWith = (certain) => (/** @type {Fields} */ fields, /** @type {string[]} */ args) => {
  try {
    const found = certain(stateIn(fields), args)
    if (!found) return null
    const { code, details = {} } = typeof found === 'string' ? { code: found } : found
    return { code, details: Object.entries(details).flatMap(([name, value]) => [name, String(value)]) }
  } catch {
    return null
  }
}
