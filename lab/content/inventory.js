/**
 * The full contents of a feed on one node, in the form that the ledger (ledger.js) needs: a row for each version, newest first
 * within a partition. A run leaves up to millions of rows on each of three nodes, so they are stored as columns of numbers.
 *
 *     storage            where                                  a row is
 *     ids                sorted set `ids`, keys `item:<id>`     a member with the record of its key
 *     published-ids      the same                               a member with the plain value of its key
 *     values             sorted set `values`                    a member: id and value (item/member.js)
 *     published-values   sorted set `values`                    a member: the value alone
 *     two-sets           as `ids`, and sorted set `ids-2`       the same; `published-two-sets`: as `published-ids`
 *     blob               keys `blob:<writer>:<from>-<to>`       one of the values concatenated in it
 *     list, set, published-list, published-set, ...             see structure-inventory.js
 *
 * Logs have an inventory of their own (log-inventory.js). Nothing is written during the read. Item keys without a member are strays.
 */
import { createHash } from 'node:crypto'
import { readMember, readRecord, scoreOf } from '../../src/item/index.js'
import { createReadSize, MAX_READ } from '../../src/layouts/index.js'
import { readValue } from '../../src/synthetic.js'
import { NONE, numberOfId } from './id-number.js'
import { namesOf, readSortedSet, readValues } from './read-keys.js'
import { checkOtherSet } from './two-sets.js'
import { readPublishedList, readPublishedSet, readSets, readWholeList, withCount } from './structure-inventory.js'

/** in `numbers`: the member exists, its key does not */
export const GONE = -2

const FIRST_ROWS = 1024
const STRAYS_NAMED = 5

/** @typedef {'ids' | 'values' | 'two-sets' | 'list' | 'list-hll' | 'set'} Published */
/** @typedef {Published | `published-${Published}` | 'blob'} RowStorage */
/** @typedef {RowStorage | import('./log-inventory.js').LogStorage} Storage */
/** @typedef {import('../../src/store/index.js').Connection} Connection */
/** @typedef {(part: string) => string} Key */
/** @typedef {ReturnType<typeof createRows>} Rows */
/** @typedef {(connection: Connection, key: Key, rows: Rows) => Promise<number | void>} Reader */

/**
 * @typedef {object} Inventory of one node; row r is index r of all columns
 * @property {number} length rows
 * @property {Float64Array} ids k of `id-<k>`, or NONE
 * @property {Float64Array} writers index of the writer, if the value contains it, or NONE
 * @property {Float64Array} numbers in the values, NONE or GONE
 * @property {Float64Array} lengths of the values, bytes; NONE without a value
 * @property {Float64Array} scores NaN where there is no order
 * @property {number[]} starts first row of each partition
 * @property {number[]} astray rows whose key has another order than the sorted set
 * @property {{ count: number, examples: string[] }} strays keys that belong to no row
 * @property {string} digest of all contents: equal nodes have equal digests
 */

/** @type {Reader} */
const readIds = (connection, key, rows) => readBesideSet(connection, key, rows, (id, bytes) => {
  const { ts, seq, value } = readRecord(id, bytes)
  return { value, score: scoreOf(ts, seq) }
})

/** @type {Reader} */
const readPublishedIds = (connection, key, rows) =>
  readBesideSet(connection, key, rows, (_id, value) => ({ value, score: null }))

/** @param {Reader} read @returns {Reader} */
const withOtherSet = (read) => async (connection, key, rows) => {
  await read(connection, key, rows)
  await checkOtherSet(connection, key, rows)
}

/** @type {Record<RowStorage, Reader>} */
const READERS = {
  ids: readIds,
  'published-ids': readPublishedIds,
  'two-sets': withOtherSet(readIds),
  'published-two-sets': withOtherSet(readPublishedIds),
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
  'list-hll': withCount(readWholeList),
  set: readSets,
  'published-list': readPublishedList,
  'published-list-hll': withCount(readPublishedList),
  'published-set': readPublishedSet
}

/**
 * @param {Connection} connection
 * @param {{ storage: RowStorage, key: Key | Key[] }} feed `key` builds the keys of a partition; an array has one for each
 * @returns {Promise<Inventory>}
 * @throws {import('../../src/errors.js').FreshetError} KEY_HOLDS_OTHER, SERVER_LOST, SERVER_REFUSED
 */
export async function readInventory (connection, { storage, key }) {
  const rows = createRows()
  for (const one of [key].flat()) {
    rows.beginPartition()
    await READERS[storage](connection, one, rows)
  }
  return rows.end()
}

function createRows () {
  const columns = ['ids', 'writers', 'numbers', 'scores', 'lengths'].map(() => new Float64Array(FIRST_ROWS))
  let length = 0
  const hash = createHash('sha1')
  /** @type {Buffer[]} of one piece */
  let bytes = []
  const starts = /** @type {number[]} */ ([])
  const astray = /** @type {number[]} */ ([])
  const strays = { count: 0, examples: /** @type {string[]} */ ([]) }

  function flush () {
    hash.update(Buffer.concat(bytes))
    bytes = []
  }

  return {
    beginPartition: () => { starts.push(length) },

    /** @param {number} id @param {Buffer | null} value null = the key does not exist @param {number} score */
    add (id, value, score) {
      const read = value && readValue(value)
      if (length === columns[0].length) {
        columns.forEach((column, i) => {
          columns[i] = new Float64Array(2 * length)
          columns[i].set(column)
        })
      }
      columns[0][length] = id
      columns[1][length] = read?.writer ?? NONE
      columns[2][length] = read ? read.number : value ? NONE : GONE
      columns[3][length] = score
      columns[4][length] = value ? value.length : NONE
      length++
    },

    /** Marks the last row. */
    markAstray: () => { astray.push(length - 1) },

    /** @param {string} name of a key */
    stray (name) {
      if (strays.count++ < STRAYS_NAMED) strays.examples.push(name)
      bytes.push(Buffer.from(name))
    },

    /** @param {...Buffer} parts */
    hash (...parts) {
      bytes.push(...parts)
      if (bytes.length >= 4 * MAX_READ) flush()
    },

    /** @returns {Inventory} */
    end () {
      flush()
      const [ids, writers, numbers, scores, lengths] = columns.map((column) => column.subarray(0, length))
      return { length, ids, writers, numbers, scores, lengths, starts, astray, strays, digest: hash.digest('hex') }
    }
  }
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
  for (const name of await namesOf(connection, prefix, () => true)) {
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
