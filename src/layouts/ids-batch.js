/**
 * A batch of layout `ids` as it travels:
 *
 *     MULTI
 *     MSETEX n  item:<id> record ...  PX ttl      servers without MSETEX: SET item:<id> record PX ttl, n times
 *     ZADD ids  score <id> ...
 *     ZREM ids  <id> ...                          ids that this batch deletes and does not bring back
 *     PEXPIRE ids ttl                             not when the feed has no age limit
 *     EXEC
 *
 * or, with `late: drop`, one EVALSHA of lua/append-ids.lua. Items are spelt when they are added: keys and records
 * into one run of bytes, the arguments of ZADD into another, joined when the batch is sent.
 *
 * A deletion is a record without a value (a tombstone) and travels as items do, the ZADD too, so that a batch is spelt
 * the same way whatever is in it; the last operation on an id decides whether it then leaves the set. Which ids do is
 * remembered only by batches with deletions, so an item that is added pays one comparison for them.
 */
import { RECORD_HEAD_BYTES, writeRecordHead } from '../item/record.js'
import { MAX_BATCH_ITEMS } from './pieces.js'
import { createScoreText } from './score-text.js'
import { Wire, argument, bulk, command, wholeCommand } from './wire.js'

/**
 * A tombstone is there to be compared with older versions that arrive later. Where items do not expire it must end all
 * the same, or every id ever deleted would stay: a day covers a writer that was cut off over night.
 */
export const TOMBSTONE_MS = 24 * 60 * 60 * 1000

/** EVALSHA with its digest and the longest key takes 192 bytes */
const HEAD_ROOM = 256
const ITEM_ROOM = 96
const MULTI = wholeCommand('MULTI')
const EXEC = wholeCommand('EXEC')
const SET = command(3, 'SET')
const SET_EXPIRING = command(5, 'SET')
const PEXPIRE = command(3, 'PEXPIRE')
const NO_VALUE = Buffer.alloc(0)

/**
 * @param {{ key: (part: string) => string, ttlMs: number, late: 'overwrite' | 'drop',
 *   dialect: { msetex: boolean, sha: (script: string) => string } }} options `ttlMs` 0 = keys do not expire
 * @returns {import('./index.js').Batch}
 */
export function createIdsBatch ({ key, ttlMs, late, dialect }) {
  const prefix = Buffer.from(key('item:'))
  const tombstoneMs = ttlMs || TOMBSTONE_MS
  const expiry = ttlMs > 0 ? Buffer.from(argument('PX') + argument(ttlMs)) : Buffer.alloc(0)
  const tombstoneExpiry = Buffer.from(argument('PX') + argument(tombstoneMs))
  const separateSets = late === 'overwrite' && !dialect.msetex
  const setHead = ttlMs > 0 ? SET_EXPIRING : SET
  const items = new Wire(64 * 1024)
  const members = new Wire(16 * 1024)
  const writeScore = createScoreText()
  /** @type {Set<string>} ids whose last operation here is a deletion, byte for character */
  const removed = new Set()
  let count = 0
  let start = -1
  items.length = HEAD_ROOM

  /** @param {Buffer} id @param {number} ts @param {number} seq @param {Buffer} value */
  function add (id, ts, seq, value) {
    if (removed.size > 0) removed.delete(id.toString('latin1'))
    spell(id, ts, seq, value, false)
  }

  /** @param {Buffer} id @param {number} ts @param {number} seq */
  function remove (id, ts, seq) {
    removed.add(id.toString('latin1'))
    spell(id, ts, seq, NO_VALUE, true)
  }

  /** @param {Buffer} id @param {number} ts @param {number} seq @param {Buffer} value @param {boolean} deleted */
  function spell (id, ts, seq, value, deleted) {
    items.reserve(prefix.length + id.length + value.length + ITEM_ROOM + tombstoneExpiry.length)
    members.reserve(id.length + ITEM_ROOM + (late === 'drop' ? value.length : 0))
    if (separateSets) items.short(deleted ? SET_EXPIRING : setHead)
    items.bulkHead(prefix.length + id.length)
    items.short(prefix)
    items.short(id)
    items.end()
    const records = late === 'drop' ? members : items
    records.bulkHead(RECORD_HEAD_BYTES + value.length)
    records.length = writeRecordHead(records.bytes, records.length, ts, seq, deleted)
    records.long(value)
    records.end()
    if (separateSets) items.short(deleted ? tombstoneExpiry : expiry)
    if (late === 'overwrite') {
      writeScore(members, ts, seq)
      members.bulkHead(id.length)
      members.short(id)
      members.end()
    }
    count++
  }

  /** @param {Buffer} head goes into the room in front of the items @param {...Buffer} between */
  function finish (head, ...between) {
    start = HEAD_ROOM - head.length
    head.copy(items.bytes, start)
    for (const part of [...between, members.written()]) {
      items.reserve(part.length)
      items.long(part)
    }
  }

  /** What follows ZADD for the ids that leave. @returns {{ bytes: Buffer, replies: number }} */
  function encodeRemovals () {
    if (removed.size === 0) return { bytes: NO_VALUE, replies: 0 }
    const ids = [...removed].map((name) => Buffer.from(name, 'latin1'))
    const zrem = [command(2 + ids.length, 'ZREM', key('ids')), ...ids.map(bulk)]
    // SET and MSETEX gave tombstones their expiry, MSET has none
    const hasExpiry = separateSets || ttlMs > 0
    const pexpires = hasExpiry ? [] : ids.flatMap((id) => [PEXPIRE, bulk(Buffer.concat([prefix, id])), Buffer.from(argument(tombstoneMs))])
    return { bytes: Buffer.concat([...zrem, ...pexpires]), replies: hasExpiry ? 1 : 1 + ids.length }
  }

  function encodeTransaction () {
    const zadd = command(2 + 2 * count, 'ZADD', key('ids'))
    if (separateSets) finish(MULTI, zadd)
    else if (ttlMs > 0) finish(Buffer.concat([MULTI, command(4 + 2 * count, 'MSETEX', count)]), expiry, zadd)
    else finish(Buffer.concat([MULTI, command(1 + 2 * count, 'MSET')]), zadd)
    const removals = encodeRemovals()
    const expire = ttlMs > 0 ? wholeCommand('PEXPIRE', key('ids'), ttlMs) : Buffer.alloc(0)
    const tail = Buffer.concat([removals.bytes, expire, EXEC])
    items.reserve(tail.length)
    items.long(tail)
    return 3 + (separateSets ? count : 1) + removals.replies + (ttlMs > 0 ? 1 : 0)
  }

  function encodeScript () {
    finish(command(7 + 2 * count, 'EVALSHA', dialect.sha('append-ids'), count + 1, key('ids')),
      Buffer.from(argument(prefix.length) + argument(ttlMs) + argument(tombstoneMs)))
    return 1
  }

  let replies = 0
  return {
    get count () { return count },
    get bytes () { return items.length + members.length },
    // EVALSHA has three words more of its own
    maxItems: late === 'drop' ? MAX_BATCH_ITEMS - 1 : MAX_BATCH_ITEMS,
    add,
    remove,
    encoded () {
      if (start < 0) replies = late === 'drop' ? encodeScript() : encodeTransaction()
      return { bytes: items.bytes.subarray(start, items.length), replies }
    },
    reset () {
      count = 0
      start = -1
      items.length = HEAD_ROOM
      members.reset()
      removed.clear()
    }
  }
}
