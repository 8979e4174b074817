/**
 * The full contents of a feed on one node, as rows for the ledger (ledger.js): one for each version, newest first within a partition.
 * A run leaves up to millions of them on each of three nodes, so they are passed on one by one and not kept.
 *
 *     storage            where                                  a row is
 *     ids                sorted set `ids`, keys `item:<id>`     a member with the record of its key
 *     published-ids      the same                               a member with the plain value of its key
 *     values             sorted set `values`                    a member: id and value (item/record.js)
 *     published-values   sorted set `values`                    a member: the value alone
 *     published-two-sets as `published-ids`, and sorted set `ids-2`   the same
 *     blob               keys `blob:<writer>:<from>-<to>`       one of the values concatenated in it
 *     list, published-list, published-set, ...                  see structure-inventory.js
 *
 * Logs have an inventory of their own (log-inventory.js). Nothing is written during the read. Item keys without a member are strays.
 */
import { readMember, readRecord, scoreOf } from '../../src/item/index.js'
import { createReadSize } from '../../src/layouts/index.js'
import { NONE, numberOfId } from './id-number.js'
import { createLedger } from './ledger.js'
import { namesOf, readSortedSet, readValues } from './read-keys.js'
import { checkOtherSet } from './two-sets.js'
import { readPublishedList, readPublishedSet, readWholeList, withCount } from './structure-inventory.js'

/** @typedef {'ids' | 'values' | 'list'} Stored */
/** @typedef {Stored | `published-${Stored | 'list-hll' | 'set' | 'two-sets'}` | 'blob'} RowStorage */
/** @typedef {RowStorage | import('./log-inventory.js').LogStorage} Storage */
/** @typedef {import('../../src/store/index.js').Connection} Connection */
/** @typedef {(part: string) => string} Key */
/** @typedef {ReturnType<typeof createLedger>} Rows */
/** @typedef {(connection: Connection, key: Key, rows: Rows) => Promise<number | void>} Reader */

/** @type {Reader} */
const readIds = (connection, key, rows) => readBesideSet(connection, key, rows, (id, bytes) => {
  const { ts, seq, value } = readRecord(id, bytes)
  return { value, score: scoreOf(ts, seq) }
})

/** @type {Reader} */
const readPublishedIds = (connection, key, rows) =>
  readBesideSet(connection, key, rows, (_id, value) => ({ value, score: null }))

/** @type {Record<RowStorage, Reader>} */
const READERS = {
  ids: readIds,
  'published-ids': readPublishedIds,
  async 'published-two-sets' (connection, key, rows) {
    await readPublishedIds(connection, key, rows)
    await checkOtherSet(connection, key, rows)
  },
  values: (connection, key, rows) => readSortedSet(connection, key('values'), (member, score) => {
    const { id, value } = readMember(member)
    rows.add(numberOfId(id), value, score)
    rows.hash(member, Buffer.from(String(score)))
  }),
  'published-values': (connection, key, rows) => readSortedSet(connection, key('values'), (member, score) => {
    rows.add(NONE, member, score)
    rows.hash(member, Buffer.from(String(score)))
  }),
  blob: readBlobs,
  list: readWholeList,
  'published-list': readPublishedList,
  'published-list-hll': withCount(readPublishedList),
  'published-set': readPublishedSet
}

/**
 * @param {Connection} connection to one node
 * @param {{ storage: RowStorage, key: Key | Key[] }} feed `key` builds the keys of a partition; an array has one for each
 * @param {import('./ledger.js').Run} run
 * @returns {Promise<import('./ledger.js').Ledger>}
 * @throws {import('../../src/errors.js').FreshetError} KEY_HOLDS_OTHER, SERVER_LOST, SERVER_REFUSED
 */
export async function checkRows (connection, { storage, key }, run) {
  const keys = [key].flat()
  const rows = createLedger({ ...run, storage, partitions: keys.length })
  for (const one of keys) {
    rows.beginPartition()
    await READERS[storage](connection, one, rows)
  }
  return rows.end()
}

/**
 * @param {Connection} connection @param {Key} key @param {Rows} rows
 * @param {(id: Buffer, bytes: Buffer) => { value: Buffer, score: number | null }} decode the value of a key; `score` null =
 *   it has none
 */
async function readBesideSet (connection, key, rows, decode) {
  const prefix = Buffer.from(key('item:'))
  const size = createReadSize()
  /** @type {Set<string>} ids, byte for character */
  const named = new Set()

  /** @param {Buffer[]} ids @param {number[]} scores */
  async function readKeys (ids, scores) {
    const held = await readValues(connection, prefix, ids, size)
    ids.forEach((id, i) => addItem(id, scores[i], held[i]))
  }

  /** @param {Buffer} id @param {number} score @param {Buffer | null} bytes */
  function addItem (id, score, bytes) {
    named.add(id.toString('latin1'))
    const item = bytes && decode(id, bytes)
    rows.add(numberOfId(id), item && item.value, score)
    if (item && item.score !== null && item.score !== score) rows.markAstray()
    rows.hash(id, Buffer.from(String(score)), bytes ?? Buffer.alloc(0))
  }

  await readSortedSet(connection, key('ids'), () => {}, readKeys)
  const strays = await namesOf(connection, key('item:'), (name) => !named.has(name.toString('latin1', prefix.length)))
  for (const name of strays) rows.stray(name)
}

/** @type {Reader} */
async function readBlobs (connection, key, rows) {
  const prefix = key('blob:')
  for (const name of await namesOf(connection, prefix)) {
    const [, from, to] = /^\d+:(\d+)-(\d+)$/.exec(name.slice(prefix.length)) ?? []
    const bytes = from === undefined ? null : await connection.send('GET', name)
    const count = Number(to) - Number(from)
    if (bytes === null || count < 1 || bytes.length % count !== 0) {
      rows.stray(name)
      continue
    }
    rows.hash(Buffer.from(name), bytes)
    const valueBytes = bytes.length / count
    for (let i = 0; i < count; i++) rows.add(NONE, bytes.subarray(i * valueBytes, (i + 1) * valueBytes), NaN)
  }
}
