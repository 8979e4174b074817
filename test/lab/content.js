/**
 * What a load would have left on a server, written with plain commands past all loads: item n of a writer is due at
 * BASE_TS + n / 5 ms.
 */
import { ENTRY_HEAD_BYTES, itemBytes, SEGMENT_HEAD_BYTES, writeEntry, writeItem, writeSegmentHead } from '../../src/item/segment.js'
import { writeMemberHead, writeRecordHead } from '../../src/item/record.js'
import { scoreOf } from '../../src/item/order.js'
import { makeIds, makeValue } from '../../src/synthetic.js'

const BASE_TS = 1_700_000_000_000
const PER_MS = 5
const PIECE = 500

/** @typedef {(string | number | Buffer)[]} Words of a command */
/** @typedef {{ n: number, id: Buffer, ts: number, seq: number, score: number, value: Buffer }} Item */
/** @typedef {(part: string) => string} Key */

/** @param {{ ts: number, seq: number, value: Buffer }} item */
export function recordOf ({ ts, seq, value }) {
  const head = Buffer.alloc(8)
  writeRecordHead(head, 0, ts, seq)
  return Buffer.concat([head, value])
}

/** @param {Item} item */
export function memberOf ({ n, id, value }) {
  const head = Buffer.alloc(9)
  writeMemberHead(head, 0, BASE_TS * 1000 + n, false)
  return Buffer.concat([id, head, value])
}

/** Of a writing of its own: its number is the number of the first item. @param {Item} item */
const originOf = ({ n }) => ({ stamp: BASE_TS * 1000 + n, writer: Buffer.from('a writer'), epoch: 1, sequence: n })

/** @param {Item[]} items @param {{ deleted?: boolean }} [how] */
export function segmentOf (items, { deleted = false } = {}) {
  const bytes = Buffer.alloc(items.reduce((sum, { id, value }) => sum + itemBytes(id, value), /** @type {number} */ (SEGMENT_HEAD_BYTES)))
  /** @type {number} */
  let end = SEGMENT_HEAD_BYTES
  for (const { id, ts, seq, value } of items) end = writeItem(bytes, end, id, ts, seq, value, deleted)
  const times = items.map(({ ts }) => ts)
  writeSegmentHead(bytes, 0, end, { count: items.length, firstTs: Math.min(...times), lastTs: Math.max(...times), ...originOf(items[0]) })
  return bytes
}

/** @param {Item} item */
export function entryOf (item) {
  const bytes = Buffer.alloc(ENTRY_HEAD_BYTES + item.id.length + item.value.length)
  writeEntry(bytes, 0, item.id, item.ts, item.seq, item.value, false, originOf(item))
  return bytes
}

/**
 * Commands that append to a log; in batches of 10 where an entry is a segment.
 * @param {Key} key @param {string} storage @param {Item[]} items @returns {Words[]}
 */
export function appendsOf (key, storage, items) {
  if (storage === 'stream') return items.map((item) => ['XADD', key('stream'), '*', 'v', entryOf(item)])
  const batches = Array.from({ length: Math.ceil(items.length / 10) }, (_, i) => items.slice(10 * i, 10 * i + 10))
  return batches.map((batch) => ['XADD', key('segments'), '*', 's', segmentOf(batch)])
}

/** @type {Record<string, (key: Key, item: Item) => Words[]>} */
const COMMANDS = {
  ids: (key, item) => [['SET', `${key('item:')}${item.id}`, recordOf(item)], ['ZADD', key('ids'), item.score, item.id]],
  'published-ids': (key, item) => [['SET', `${key('item:')}${item.id}`, item.value], ['ZADD', key('ids'), item.ts, item.id]],
  values: (key, item) => [['ZADD', key('values'), item.score, memberOf(item)]],
  'published-values': (key, item) => [['ZADD', key('values'), item.ts, item.value]]
}

/**
 * @param {{ count: number, ids: number, valueChange?: 'always' | 'never', valueBytes?: number, index?: number, writers?: number }} run
 * @returns {Item[]} of one writer, in turn
 */
export function itemsOf ({ count, ids: distinct, valueChange = 'always', valueBytes = 64, index = 0, writers = 1 }) {
  const ids = makeIds(distinct, index, writers)
  const { value, change } = makeValue(valueBytes, index, valueChange === 'never' ? ids.length : Infinity)
  return Array.from({ length: count }, (_, i) => {
    change()
    const [ts, seq] = [BASE_TS + Math.floor((i + 1) / PER_MS), (i + 1) % PER_MS]
    return { n: i + 1, id: ids[i % ids.length], ts, seq, score: scoreOf(ts, seq), value: Buffer.from(value) }
  })
}

/** @param {import('../../src/store/connection.js').Connection} connection @param {Key} key @param {string} storage @param {Item[]} items */
export async function fill (connection, key, storage, items) {
  const commands = storage === 'blob'
    ? blobsOf(key, items)
    : storage in COMMANDS ? items.flatMap((item) => COMMANDS[storage](key, item)) : appendsOf(key, storage, items)
  for (let at = 0; at < commands.length; at += PIECE) await connection.sendAll(commands.slice(at, at + PIECE))
}

/** Blobs of up to 10 items, that end where the ids begin again. @param {Key} key @param {Item[]} items @returns {Words[]} */
function blobsOf (key, items) {
  const ids = new Set(items.map(({ id }) => String(id))).size
  /** @type {Words[]} */
  const commands = []
  for (let at = 0; at < items.length;) {
    const from = at % ids
    const part = items.slice(at, at + Math.min(10, ids - from))
    const writer = String(part[0].value).match(/"writer":(\d+)/)?.[1] ?? 0
    commands.push(['SET', key(`blob:${writer}:${from}-${from + part.length}`), Buffer.concat(part.map(({ value }) => value))])
    at += part.length
  }
  return commands
}
