/**
 * A batch of layout `ids` as it travels:
 *
 *     MULTI
 *     MSETEX n  item:<id> record ...  PX ttl      servers without MSETEX: SET item:<id> record PX ttl, n times
 *     ZADD ids  score <id> ...
 *     PEXPIRE ids ttl                             not when the feed has no age limit
 *     EXEC
 *
 * or, with `late: drop`, one EVALSHA of lua/append-ids.lua. Items are spelt when they are added: keys and records
 * into one run of bytes, the arguments of ZADD into another, joined when the batch is sent.
 */
import { RECORD_HEAD_BYTES, writeRecordHead } from '../item/record.js'
import { createScoreText } from './score-text.js'
import { Wire, argument, command, wholeCommand } from './wire.js'

/** ElastiCache Serverless refuses requests of more than 3,999 arguments */
export const MAX_BATCH_ITEMS = 1997

/** EVALSHA with its digest and the longest key takes 192 bytes */
const HEAD_ROOM = 256
const ITEM_ROOM = 96
const MULTI = wholeCommand('MULTI')
const EXEC = wholeCommand('EXEC')
const SET = command(3, 'SET')
const SET_EXPIRING = command(5, 'SET')

/**
 * @param {{ key: (part: string) => string, ttlMs: number, late: 'overwrite' | 'drop',
 *   dialect: { msetex: boolean, sha: (script: string) => string } }} options `ttlMs` 0 = keys do not expire
 * @returns {import('./index.js').Batch}
 */
export function createIdsBatch ({ key, ttlMs, late, dialect }) {
  const prefix = Buffer.from(key('item:'))
  const expiry = ttlMs > 0 ? Buffer.from(argument('PX') + argument(ttlMs)) : Buffer.alloc(0)
  const separateSets = late === 'overwrite' && !dialect.msetex
  const setHead = ttlMs > 0 ? SET_EXPIRING : SET
  const items = new Wire(64 * 1024)
  const members = new Wire(16 * 1024)
  const writeScore = createScoreText()
  let count = 0
  let start = -1
  items.length = HEAD_ROOM

  /** @param {Buffer} id @param {number} ts @param {number} seq @param {Buffer} value */
  function add (id, ts, seq, value) {
    items.reserve(prefix.length + id.length + value.length + ITEM_ROOM + expiry.length)
    members.reserve(id.length + ITEM_ROOM + (late === 'drop' ? value.length : 0))
    if (separateSets) items.short(setHead)
    items.bulkHead(prefix.length + id.length)
    items.short(prefix)
    items.short(id)
    items.end()
    const records = late === 'drop' ? members : items
    records.bulkHead(RECORD_HEAD_BYTES + value.length)
    records.length = writeRecordHead(records.bytes, records.length, ts, seq)
    records.long(value)
    records.end()
    if (separateSets) items.short(expiry)
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

  function encodeTransaction () {
    const zadd = command(2 + 2 * count, 'ZADD', key('ids'))
    if (separateSets) finish(MULTI, zadd)
    else if (ttlMs > 0) finish(Buffer.concat([MULTI, command(4 + 2 * count, 'MSETEX', count)]), expiry, zadd)
    else finish(Buffer.concat([MULTI, command(1 + 2 * count, 'MSET')]), zadd)
    const expire = ttlMs > 0 ? wholeCommand('PEXPIRE', key('ids'), ttlMs) : Buffer.alloc(0)
    const tail = Buffer.concat([expire, EXEC])
    items.reserve(tail.length)
    items.long(tail)
    return 3 + (separateSets ? count : 1) + (ttlMs > 0 ? 1 : 0)
  }

  function encodeScript () {
    finish(command(6 + 2 * count, 'EVALSHA', dialect.sha('append-ids'), count + 1, key('ids')),
      Buffer.from(argument(prefix.length) + argument(ttlMs)))
    return 1
  }

  let replies = 0
  return {
    get count () { return count },
    get bytes () { return items.length + members.length },
    // EVALSHA has two words more of its own
    maxItems: late === 'drop' ? MAX_BATCH_ITEMS - 1 : MAX_BATCH_ITEMS,
    add,
    encoded () {
      if (start < 0) replies = late === 'drop' ? encodeScript() : encodeTransaction()
      return { bytes: items.bytes.subarray(start, items.length), replies }
    },
    reset () {
      count = 0
      start = -1
      items.length = HEAD_ROOM
      members.reset()
    }
  }
}
