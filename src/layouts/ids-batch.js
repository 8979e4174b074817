/**
 * A batch of layout `ids` on the wire:
 *
 *     MULTI
 *     MSETEX n  item:<id> record ...  PX ttl      servers without MSETEX: SET item:<id> record PX ttl, n times
 *     ZADD ids  score <id> ...
 *     ZREM ids  <id> ...                          ids whose last operation in this batch is a deletion
 *     PEXPIRE ids ttl                             if the feed has an age limit
 *     EXEC
 *
 * with `late: overwrite`. With `late: newest` one EVALSHA of lua/append-newest.lua gets the same arguments of MSETEX and ZADD; in a
 * cluster the item keys are its keys, and records follow. Or, if the batch is newer than all that is stored (ids-append.js), it is
 * the same transaction, with an EVALSHA of lua/mend-scores.lua as its last command.
 * A late batch, or one with deletions, carries a mark in the transaction (late-marks.js).
 * Items are encoded when they are added: keys and records into one buffer, scores and ids into another, joined when the batch
 * is sent.
 *
 * A deletion is a record without a value (a tombstone), encoded like an item, ZADD included; ZREM then removes its id. Only
 * batches with deletions track ids, so a normal append pays one comparison.
 */
import { scoreOf } from '../item/index.js'
import { createItemEncoder, createOrder } from './ids-encoder.js'
import { createLateMark } from './late-marks.js'
import { MAX_ARGUMENTS, MAX_BATCH_ITEMS } from './read-size.js'
import { EXEC, MULTI, NOTHING, Wire, argument, bulk, command, wholeCommand } from './wire.js'

/**
 * A tombstone hides older versions that arrive later. It expires even where items do not, or deleted ids would stay for
 * ever; a day covers a writer that was disconnected overnight.
 */
export const TOMBSTONE_MS = 24 * 60 * 60 * 1000

/** EVALSHA with its digest and two keys of the longest feed name takes 400 bytes */
const HEAD_ROOM = 512
/** four arguments an item, and twelve */
const MAX_NEWEST_ITEMS = Math.floor((MAX_ARGUMENTS - 12) / 4)
const PEXPIRE = command(3, 'PEXPIRE')

/**
 * @typedef {object} Encoding of a batch
 * @property {(part: string) => string} key
 * @property {number} ttlMs
 * @property {import('./index.js').Dialect} dialect
 * @property {Buffer} prefix of item keys
 * @property {boolean} separateSets
 * @property {number} tombstoneMs
 * @property {Buffer} expiry arguments
 * @property {number} count
 * @property {Buffer} records with `late: newest` in a cluster
 * @property {Buffer[]} deleted ids whose last operation is a deletion
 * @property {Buffer} mend last command of a watched transaction
 * @property {ReturnType<import('./late-marks.js').LateMark['around']>} around
 *
 * @typedef {{ head: Buffer[], between: Buffer[], tail: Buffer[], replies: number }} Parts of a batch, around its items and members
 */

/**
 * @param {{ key: (part: string) => string, ttlMs: number, late: 'newest' | 'overwrite',
 *   dialect: import('./index.js').Dialect, clock?: () => number }} options `ttlMs` 0 = keys do not expire
 * @returns {import('./index.js').Batch}
 */
export function createIdsBatch (options) {
  const { key, ttlMs, late, dialect, clock = Date.now } = options
  const prefix = Buffer.from(key('item:'))
  const tombstoneMs = ttlMs || TOMBSTONE_MS
  const expiry = ttlMs > 0 ? Buffer.from(argument('PX') + argument(ttlMs)) : Buffer.alloc(0)
  const separateSets = late === 'overwrite' && !dialect.msetex
  const items = new Wire(64 * 1024)
  // between the item keys, or in a cluster behind all of them
  const records = late === 'newest' && dialect.isCluster ? new Wire(64 * 1024) : items
  const members = new Wire(16 * 1024)
  const encoder = createItemEncoder({ items, records, members, prefix, expiry, tombstoneMs, separateSets })
  const order = createOrder()
  /** @type {Set<string>} ids whose last operation is a deletion, as latin1 */
  const removed = new Set()
  const mark = createLateMark({ key, ttlMs, clock })
  let count = 0
  /** of the last item; -1 = not encoded yet */
  let end = -1
  items.length = HEAD_ROOM

  /** @param {Buffer} id @param {number} ts @param {number} seq @param {Buffer} value @param {boolean} deleted */
  function encode (id, ts, seq, value, deleted) {
    encoder.encode(id, ts, seq, value, deleted)
    mark.add(ts)
    order.add(scoreOf(ts, seq))
    count++
  }

  /** @param {boolean} isWatched */
  function encoded (isWatched) {
    // again when it is sent again: it may be late now
    if (end < 0) end = items.length
    items.length = end
    const deleted = [...removed].map((name) => Buffer.from(name, 'latin1'))
    const around = mark.around(deleted)
    const encodeForm = late === 'newest' && !isWatched ? encodeScript : encodeTransaction
    const named = records === items ? NOTHING : records.written()
    const mend = isWatched ? encodeMend(options, [...encoder.lastItem(), Buffer.from(String(order.lowest)), prefix]) : NOTHING
    const of = { ...options, prefix, separateSets, tombstoneMs, expiry, count, deleted, around, records: named, mend }
    const { head, between, tail, replies } = encodeForm(of)
    return { bytes: join(items, { head: Buffer.concat(head), rest: [...between, members.written(), ...tail] }), replies }
  }

  return {
    get count () { return count },
    get bytes () { return items.length + members.length + (records === items ? 0 : records.length) },
    maxItems: late === 'newest' ? MAX_NEWEST_ITEMS : MAX_BATCH_ITEMS,
    add (id, ts, seq, value) {
      if (removed.size > 0) removed.delete(id.toString('latin1'))
      encode(id, ts, seq, value, false)
    },
    remove (id, ts, seq) {
      removed.add(id.toString('latin1'))
      encode(id, ts, seq, NOTHING, true)
    },
    encoded: () => encoded(false),
    watched: late === 'newest' && dialect.mayWatch && dialect.msetex && !dialect.isCluster
      ? {
          ids: key('ids'),
          deletions: key('deletions'),
          isAbove: (score) => removed.size === 0 && order.isAbove(score),
          encoded: () => encoded(true)
        }
      : undefined,
    missedMark: mark.missed,
    dropped (reply) {
      if (late === 'overwrite') return { late: 0 }
      // in a transaction with a mark it is the first of several replies
      const [dropped, lateBytes = 0] = [reply].flat(2)
      return { late: Number(dropped), lateBytes: Number(lateBytes), form: 'script' }
    },
    reset () {
      count = 0
      end = -1
      records.reset()
      items.length = HEAD_ROOM
      members.reset()
      removed.clear()
      mark.reset()
      order.reset()
    }
  }
}

/**
 * @param {{ key: (part: string) => string, dialect: import('./index.js').Dialect }} options
 * @param {Buffer[]} words of mend-scores.lua, behind the set @returns {Buffer}
 */
const encodeMend = ({ key, dialect }, words) =>
  Buffer.concat([command(4 + words.length, 'EVALSHA', dialect.sha('mend-scores'), 2, key('ids')), ...words.map(bulk)])

/** @param {Encoding} of @returns {Parts} */
function encodeTransaction ({ key, ttlMs, prefix, separateSets, tombstoneMs, expiry, count, deleted, around, mend }) {
  const { before, after, replies } = around ?? { before: MULTI, after: EXEC, replies: 2 }
  const zadd = command(2 + 2 * count, 'ZADD', key('ids'))
  // SET and MSETEX gave tombstones their expiry; MSET has none
  const removals = encodeRemovals(deleted, key('ids'), prefix, separateSets || ttlMs > 0 ? 0 : tombstoneMs)
  const mset = ttlMs > 0 ? command(4 + 2 * count, 'MSETEX', count) : command(1 + 2 * count, 'MSET')
  return {
    head: separateSets ? [before] : [before, mset],
    between: separateSets ? [zadd] : [expiry, zadd],
    tail: [removals.bytes, ttlMs > 0 ? wholeCommand('PEXPIRE', key('ids'), ttlMs) : NOTHING, mend, after],
    replies: replies + (separateSets ? count : 1) + 1 + removals.replies + (ttlMs > 0 ? 1 : 0) + (mend.length > 0 ? 1 : 0)
  }
}

/** @param {Encoding} of @returns {Parts} */
function encodeScript ({ key, ttlMs, dialect, tombstoneMs, expiry, count, records, deleted, around }) {
  const words = (ttlMs > 0 ? 12 : 10) + 4 * count
  const script = command(words, 'EVALSHA', dialect.sha('append-newest'), dialect.isCluster ? 2 + count : 2, key('ids'), key('deletions'))
  // all keys come first, and a cluster must know all of them; elsewhere MSETEX takes each beside its record
  const facts = Buffer.from([count, ttlMs, tombstoneMs, dialect.msetex ? 1 : 0, deleted.length > 0 ? 1 : 0].map(argument).join(''))
  return {
    head: [...(around ? [around.before] : []), script, ...(dialect.isCluster ? [] : [facts])],
    between: [...(dialect.isCluster ? [facts, records] : []), expiry],
    tail: around ? [around.after] : [],
    replies: 1 + (around ? around.replies : 0)
  }
}

/**
 * Joins a batch in the buffer of its items.
 * @param {Wire} items @param {{ head: Buffer, rest: Buffer[] }} parts `head` goes into the room in front of the items
 * @returns {Buffer}
 */
function join (items, { head, rest }) {
  head.copy(items.bytes, HEAD_ROOM - head.length)
  for (const part of rest) {
    items.reserve(part.length)
    items.long(part)
  }
  return items.bytes.subarray(HEAD_ROOM - head.length, items.length)
}

/**
 * The commands after ZADD for ids that leave the set.
 * @param {Buffer[]} ids @param {string} set @param {Buffer} prefix of item keys
 * @param {number} expireMs of their tombstones, which need PEXPIRE; 0 = they have an expiry
 * @returns {{ bytes: Buffer, replies: number }}
 */
function encodeRemovals (ids, set, prefix, expireMs) {
  if (ids.length === 0) return { bytes: NOTHING, replies: 0 }
  const zrem = [command(2 + ids.length, 'ZREM', set), ...ids.map(bulk)]
  if (expireMs === 0) return { bytes: Buffer.concat(zrem), replies: 1 }
  const pexpires = ids.flatMap((id) => [PEXPIRE, bulk(Buffer.concat([prefix, id])), Buffer.from(argument(expireMs))])
  return { bytes: Buffer.concat([...zrem, ...pexpires]), replies: 1 + ids.length }
}
