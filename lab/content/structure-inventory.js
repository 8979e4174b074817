/**
 * The contents of the structures of experiment 009 (loads/structures.js, loads/published.js), as rows of an inventory.
 *
 *     storage            where                                    a row is
 *     list               list `list`                              an element: an item as encoded in a segment
 *     published-list     list `ids`, keys `item:<id>`             an element with the value of its key
 *     published-set      sets `ids:<minute>`, keys `item:<id>`    an id, in however many sets it is, with the value of its key
 *     published-list-hll and HyperLogLogs `hll:<minute>`          nothing: their count must be close to the number of ids
 */
import { ITEM_HEAD_BYTES, scoreOf } from '../../src/item/index.js'
import { NONE, numberOfId } from './id-number.js'
import { namesOf, readList, readMembers, readValues } from './read-keys.js'

/** A HyperLogLog is wrong by 0.81 % on average. */
const MOST_WRONG = 0.05

/** @typedef {import('./inventory.js').Connection} Connection */
/** @typedef {import('./inventory.js').Key} Key */
/** @typedef {import('./inventory.js').Rows} Rows */

/** @typedef {(...parts: Parameters<import('./inventory.js').Reader>) => Promise<number>} ListReader how many ids there are */

/** @type {ListReader} */
export async function readWholeList (connection, key, rows) {
  const ids = new Set()
  await readList(connection, key('list'), (element) => {
    const { id, value, score } = itemIn(element)
    ids.add(id)
    rows.add(id, value, score)
    rows.hash(element)
  })
  return ids.size
}

/** @type {ListReader} */
export async function readPublishedList (connection, key, rows) {
  /** @type {Buffer[]} newest first */
  const elements = []
  await readList(connection, key('ids'), (id) => { elements.push(id) })
  const held = await valuesOf(connection, key, rows, elements)
  elements.forEach((id, at) => {
    rows.add(numberOfId(id), held.get(id.toString('latin1')) ?? null, -at)
    rows.hash(id)
  })
  return held.size
}

/** @type {import('./inventory.js').Reader} */
export async function readPublishedSet (connection, key, rows) {
  const held = await valuesOf(connection, key, rows, await membersOf(connection, key('ids:')))
  // no order
  for (const [id, value] of held) rows.add(numberOfId(Buffer.from(id, 'latin1')), value, 0)
}

/** Of all sets of a prefix. @param {Connection} connection @param {string} prefix @returns {Promise<Buffer[]>} */
const membersOf = async (connection, prefix) => (await Promise.all((await namesOf(connection, prefix)).map((name) =>
  readMembers(connection, name)))).flat()

/**
 * The values of ids; keys of other ids are strays.
 * @param {Connection} connection @param {Key} key @param {Rows} rows @param {Buffer[]} ids
 * @returns {Promise<Map<string, Buffer | null>>} by id in latin1, sorted
 */
async function valuesOf (connection, key, rows, ids) {
  const prefix = Buffer.from(key('item:'))
  const names = [...new Set(ids.map((id) => id.toString('latin1')))].sort()
  const distinct = names.map((name) => Buffer.from(name, 'latin1'))
  const values = await readValues(connection, prefix, distinct)
  values.forEach((value, i) => rows.hash(distinct[i], value ?? Buffer.alloc(0)))
  const held = new Map(names.map((name, i) => [name, values[i]]))
  for (const name of await namesOf(connection, key('item:'), (name) => !held.has(name.toString('latin1', prefix.length)))) rows.stray(name)
  return held
}

/** With HyperLogLogs that count the ids. @param {ListReader} read @returns {import('./inventory.js').Reader} */
export const withCount = (read) => async (connection, key, rows) => {
  const ids = await read(connection, key, rows)
  const names = await namesOf(connection, key('hll:'))
  // with several keys, because PFCOUNT of one writes its cached count into the key
  const counted = names.length ? await connection.send('PFCOUNT', names[0], ...names) : 0
  if (Math.abs(counted - ids) > ids * MOST_WRONG + 1) rows.stray(`${key('hll:')}*, which count ${counted} ids instead of ${ids},`)
}

/**
 * @param {Buffer} bytes of an item as encoded in a segment
 * @returns {{ id: number, value: Buffer | null, score: number }} `id` NONE, `value` null: invalid
 */
function itemIn (bytes) {
  const idEnd = ITEM_HEAD_BYTES + bytes[8]
  if (bytes.length < ITEM_HEAD_BYTES || bytes.length !== idEnd + bytes.readUIntBE(9, 3)) return { id: NONE, value: null, score: 0 }
  return {
    id: numberOfId(bytes.subarray(ITEM_HEAD_BYTES, idEnd)),
    value: bytes.subarray(idEnd),
    score: scoreOf(bytes.readUIntBE(0, 6), bytes.readUInt16BE(6) >>> 4)
  }
}
