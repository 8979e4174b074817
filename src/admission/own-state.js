/**
 * What is stored of a key with rules of a user, as callers of the library see it. The engine's own fields begin with an at sign, so that a
 * rule may name its fields as it likes.
 *
 * For the memory of keys, folds and certain rejections see a state without the engine's fields too, and what they throw costs a read of the
 * key, or a call, and nothing else.
 *
 * @typedef {{ seq: number, type: string, ts: number, [field: string]: string | number }} OwnEvent
 *
 * @import { OwnRule } from './own-rules.js'
 * @import { Fields, Ruleset } from './rules.js'
 */
import { fieldsOf, generationOf } from './outbox.js'

/** The names of the engine's fields in the state. */
export const OWN_NAMES = Object.freeze({ seq: '@seq', version: '@version', exists: '@version' })
/** The type of an entry for readers: the state changed without an event. */
export const CHANGED = '@changed'

/** `@done` has requests that an earlier call had stored events of when it failed. @param {Record<string, string>} fields of the hash */
export function stateOf ({ '@seq': seq = '0', '@version': version = '0', '@done': _, ...state }) {
  return { state, seq: Number(seq), version: Number(version) }
}

/**
 * A key as callers of the library, queries and streams see it.
 * @param {{ key: string, fields: Fields, generation: string }} one @param {Ruleset['names']} names of the engine's fields
 */
export function storedOf ({ key, fields, generation }, names) {
  if (names === OWN_NAMES) return { key, ...stateOf(fields), generation }
  const { [names.seq]: seq = '0', [names.version]: version = '0', ...state } = fields
  return { key, state, seq: Number(seq), version: Number(version), generation }
}

/**
 * @param {import('../store/index.js').Connection} connection to the primary
 * @param {(part: string) => string} part of the partition @param {string} key
 * @param {Ruleset['names']} [names] of the engine's fields
 * @returns {Promise<{ key: string, state: Record<string, string>, seq: number, version: number, generation: string } | null>}
 */
export async function readState (connection, part, key, names = OWN_NAMES) {
  const [flat, generation] = await connection.sendAll([['HGETALL', part(`state:${key}`)], ['HMGET', part('generation'), 'lineage', 'n']])
  if (flat.length === 0) return null
  return storedOf({ key, fields: fieldsOf(flat), generation: generationOf(generation) }, names)
}

/** @param {Record<string, string>} fields of an event @returns {OwnEvent} */
export function eventOf ({ seq, ts, request, version, type, ...fields }) {
  return { seq: Number(seq), type, ts: Number(ts), ...fields }
}

/** @param {Record<string, OwnRule>} rules @returns {Ruleset} */
export const memoryOf = (rules) => ({
  names: OWN_NAMES,
  folds: Object.fromEntries(Object.entries(rules).flatMap(([name, { fold }]) => fold ? [[name, foldWith(fold)]] : [])),
  certain: Object.fromEntries(Object.entries(rules).flatMap(([name, { certain }]) => certain ? [[name, certainWith(certain)]] : [])),
  claimants: Object.fromEntries(Object.entries(rules).flatMap(([name, { claimant }]) => claimant ? [[name, claimant]] : []))
})

/** @param {NonNullable<OwnRule['fold']>} fold */
const foldWith = (fold) => (/** @type {Fields} */ fields, /** @type {Fields} */ event) => {
  if (event.type === CHANGED) return false
  try {
    const next = fold(stateOf(fields).state, eventOf(event))
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
    const found = certain(stateOf(fields).state, args)
    if (!found) return null
    const { code, details = {} } = typeof found === 'string' ? { code: found } : found
    return { code, details: Object.entries(details).flat() }
  } catch {
    return null
  }
}
