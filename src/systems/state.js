/** What is stored of a key, as callers of the library see it. */
import { fieldsOf } from '../admission/index.js'

/** @param {Record<string, string>} fields of the hash */
export function stateOf ({ '@seq': seq = '0', '@version': version = '0', ...state }) {
  return { state, seq: Number(seq), version: Number(version) }
}

/** @param {[Buffer | null, Buffer | null]} reply of lineage and number */
export const generationOf = ([lineage, n]) => lineage === null ? '' : `${lineage}.${n}`

/**
 * @param {import('../store/index.js').Connection} connection to the primary
 * @param {(part: string) => string} part of the partition @param {string} key
 * @returns {Promise<import('./definition.js').Stored | null>}
 */
export async function readState (connection, part, key) {
  const [flat, generation] = await connection.sendAll([['HGETALL', part(`state:${key}`)], ['HMGET', part('generation'), 'lineage', 'n']])
  if (flat.length === 0) return null
  return { key, ...stateOf(fieldsOf(flat.map(String))), generation: generationOf(generation) }
}

/** @param {Record<string, string>} fields of an event @returns {import('./definition.js').Event} */
export function eventOf ({ seq, ts, request, version, type, ...fields }) {
  return { seq: Number(seq), type, ts: Number(ts), ...fields }
}
