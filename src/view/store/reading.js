/**
 * Queries of a store. They change nothing, and leave out what is outside the window at the time given, removed or not.
 */
import { packed, unpacked } from './limits.js'
import { NONE } from './buckets.js'

/** @typedef {import('./contents.js').Contents} Contents */
/** @typedef {import('../../item/index.js').Place} Place */

/**
 * A page, newest first, at the same cost from any depth.
 * @param {Contents} contents
 * @param {{ limit: number, after: Place | null, minOrder: number }} question
 * @param {import('./index.js').Visit} visit
 * @returns {{ next: Place | null, count: number }}
 */
export function readLatest (contents, { limit, after, minOrder }, visit) {
  const { records, live } = contents
  let position = after ? live.below(packed(after.ts, after.seq), after.id, 0, after.id.length) : live.end()
  let last = NONE
  let count = 0
  for (let isFull = limit <= 0; position !== NONE; position = live.older(position)) {
    const record = live.at(position)
    const order = records.order(record)
    if (order < minOrder) break
    if (isFull) return { next: last === NONE ? after : readPlace(contents, last), count }
    const bytes = records.bytes(record)
    const idAt = records.idAt(record)
    const idEnd = idAt + records.idBytes(record)
    const { ts, seq } = unpacked(order)
    count++
    last = record
    isFull = visit(bytes, idAt, idEnd, ts, seq, idEnd, idEnd + records.valueBytes(record)) === false || count === limit
  }
  return { next: null, count }
}

/**
 * @param {Contents} contents @param {Buffer} id @param {number} minOrder
 * @returns {import('./index.js').Item | null} copied
 */
export function readItem (contents, id, minOrder) {
  const { records } = contents
  const record = contents.find(id, 0, id.length)
  if (record === NONE || contents.isDeleted(record) || records.order(record) < minOrder) return null
  const valueAt = records.idAt(record) + records.idBytes(record)
  const value = Buffer.from(records.bytes(record).subarray(valueAt, valueAt + records.valueBytes(record)))
  return { ...readPlace(contents, record), value }
}

/** @param {Contents} contents @param {Buffer} id @returns {{ ts: number, seq: number, stamp: number, deleted: boolean } | null} */
export function readVersion (contents, id) {
  const { records } = contents
  const record = contents.find(id, 0, id.length)
  if (record === NONE) return null
  return { ...unpacked(records.order(record)), stamp: records.stamp(record), deleted: contents.isDeleted(record) }
}

/** @param {Contents} contents @param {number} record @returns {Place} copied */
export function readPlace ({ records }, record) {
  const idAt = records.idAt(record)
  return { ...unpacked(records.order(record)), id: Buffer.from(records.bytes(record).subarray(idAt, idAt + records.idBytes(record))) }
}
