/**
 * What is stored of a key with rules of a user, as callers of the library see it. The engine's own fields begin with an at sign, so that a
 * rule may name its fields as it likes.
 *
 * @typedef {{ seq: number, type: string, ts: number, [field: string]: string | number }} OwnEvent
 */
import { fieldsOf, generationOf } from './outbox.js'

/** The names of the engine's fields in the state. */
export const OWN_NAMES = Object.freeze({ seq: '@seq', version: '@version', exists: '@version' })
/** The type of an entry for readers: the state changed without an event. */
export const CHANGED = '@changed'

/** @param {Record<string, string>} fields of the hash */
export function stateOf ({ '@seq': seq = '0', '@version': version = '0', ...state }) {
  return { state, seq: Number(seq), version: Number(version) }
}

/**
 * @param {import('../store/index.js').Connection} connection to the primary
 * @param {(part: string) => string} part of the partition @param {string} key
 * @returns {Promise<{ key: string, state: Record<string, string>, seq: number, version: number, generation: string } | null>}
 */
export async function readState (connection, part, key) {
  const [flat, generation] = await connection.sendAll([['HGETALL', part(`state:${key}`)], ['HMGET', part('generation'), 'lineage', 'n']])
  if (flat.length === 0) return null
  return { key, ...stateOf(fieldsOf(flat)), generation: generationOf(generation) }
}

/** @param {Record<string, string>} fields of an event @returns {OwnEvent} */
export function eventOf ({ seq, ts, request, version, type, ...fields }) {
  return { seq: Number(seq), type, ts: Number(ts), ...fields }
}
