/**
 * A batch of layout `ids` on the wire:
 *
 *     MULTI
 *     MSETEX n  item:<id> record ...  PX ttl      where it cannot be used: SET item:<id> record PX ttl, n times
 *     ZADD ids  score <id> ...
 *     ZREM ids  <id> ...                          ids whose last operation in this batch is a deletion
 *     PEXPIRE ids ttl                             if the feed has an age limit
 *     EXEC
 *
 * with `late: overwrite`. With `late: newest` one EVALSHA of lua/append-newest.lua gets the same arguments of MSETEX and ZADD; where
 * MSETEX cannot be used, the item keys are its keys, and records follow. Or, if the batch is newer than all that is stored
 * (ids-append.js), it is the same transaction, with an EVALSHA of lua/mend-scores.lua as its last command.
 * Each form has the entry of the log of arrivals before EXEC (arrivals.js): the script, too, goes inside MULTI.
 * Items are encoded when they are added: keys and records into one buffer, scores and ids into another, joined when the batch
 * is sent.
 *
 * A deletion is a record without a value (a tombstone), encoded like an item, ZADD included; ZREM then removes its id. Only
 * batches with deletions track ids, so a normal append pays one comparison.
 */
import { RECORD_HEAD_BYTES, scoreOf, writeRecordHead } from '../item/index.js'
import { createArrivals } from './arrivals.js'
import { MAX_ARGUMENTS, MAX_BATCH_ITEMS } from '../read-size.js'
import { argument, bulk, command, copyArguments, createScoreText, NOTHING, wholeCommand, Wire } from './wire.js'

const ITEM_BUDGET = 96
const SET = command(3, 'SET')
const SET_EXPIRING = command(5, 'SET')

/**
 * Writes each item: its key and record, its score and id.
 * @param {{ items: Wire, members: Wire, prefix: Buffer, expiry: Buffer, tombstoneMs: number, separateSets: boolean }} to
 */
function createItemEncoder ({ items, members, prefix, expiry, tombstoneMs, separateSets }) {
  const tombstoneExpiry = Buffer.from(argument('PX') + argument(tombstoneMs))
  const setHead = expiry.length > 0 ? SET_EXPIRING : SET
  const writeScore = createScoreText()
  /** where the last item's key begins and ends, and where its record begins */
  let [keyAt, keyEnd, recordAt] = [0, 0, 0]

  return {
    /** @param {Buffer} id @param {number} ts @param {number} seq @param {Buffer} value @param {boolean} deleted */
    encode (id, ts, seq, value, deleted) {
      items.reserve(prefix.length + id.length + value.length + 2 * ITEM_BUDGET + tombstoneExpiry.length)
      members.reserve(id.length + ITEM_BUDGET)
      if (separateSets) items.short(deleted ? SET_EXPIRING : setHead)
      items.bulkHead(prefix.length + id.length)
      keyAt = items.length
      items.short(prefix)
      items.short(id)
      keyEnd = items.length
      items.end()
      items.bulkHead(RECORD_HEAD_BYTES + value.length)
      recordAt = items.length
      items.length = writeRecordHead(items.bytes, items.length, ts, seq, deleted)
      items.long(value)
      items.end()
      if (separateSets) items.short(deleted ? tombstoneExpiry : expiry)
      writeScore(members, ts, seq)
      members.bulkHead(id.length)
      members.short(id)
      members.end()
    },
    /** Key, and the first bytes of the record. @returns {Buffer[]} */
    lastItem: () => [items.bytes.subarray(keyAt, keyEnd), items.bytes.subarray(recordAt, recordAt + RECORD_HEAD_BYTES)]
  }
}

/** Whether the items of a batch are in their order. */
function createOrder () {
  let lowest = NaN
  /** of the last item; NaN = one was older than the item before */
  let last = -1
  return {
    get lowest () { return lowest },
    /** @param {number} score */
    add (score) {
      if (last === -1) lowest = score
      last = score >= last ? score : NaN
    },
    /** They are, and all are newer. @param {number} score */
    isAbove: (score) => last >= lowest && lowest > score,
    reset () { last = -1 }
  }
}

/**
 * A tombstone hides older versions that arrive later. It expires even where items do not, or deleted ids would stay for
 * ever; a day covers a writer that was disconnected overnight.
 */
export const TOMBSTONE_MS = 24 * 60 * 60 * 1000

/** EVALSHA with its digest and two keys of the longest feed name takes 400 bytes */
const HEAD_BUDGET = 512
/** four arguments an item, and twelve */
const MAX_NEWEST_ITEMS = Math.floor((MAX_ARGUMENTS - 12) / 4)
const PEXPIRE = command(3, 'PEXPIRE')
/** SET key record ... */
const KEY_OF_SET = 1
const RECORD_OF_SET = 2

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
 * @property {Buffer[]} deleted ids whose last operation is a deletion
 * @property {Buffer} mend last command of a watched transaction
 * @property {ReturnType<import('./arrivals.js').Arrivals['around']>} around
 *
 * @typedef {{ head: Buffer[], between: Buffer[], tail: Buffer[], replies: number, facts?: Buffer }} Parts of a batch, around its items and
 *   members; `facts`: arguments between keys and records, if these stand apart
 */

/**
 * @param {{ key: (part: string) => string, ttlMs: number, late: 'newest' | 'overwrite',
 *   dialect: import('./index.js').Dialect, clock?: () => number,
 *   origin?: import('./log-origin.js').Origin }} options `ttlMs` 0 = keys do not expire
 * @returns {import('./index.js').Batch}
 */
export function createIdsBatch (options) {
  const { key, ttlMs, late, dialect, clock = Date.now, origin } = options
  const prefix = Buffer.from(key('item:'))
  const tombstoneMs = ttlMs || TOMBSTONE_MS
  const expiry = ttlMs > 0 ? Buffer.from(argument('PX') + argument(ttlMs)) : NOTHING
  const separateSets = !dialect.msetex
  const items = new Wire(64 * 1024)
  const members = new Wire(16 * 1024)
  /** @type {Wire | null} `items` as arguments of the script, where they are commands */
  let apart = null
  const encoder = createItemEncoder({ items, members, prefix, expiry, tombstoneMs, separateSets })
  const order = createOrder()
  /** @type {Set<string>} ids whose last operation is a deletion, as latin1 */
  const removed = new Set()
  const log = createArrivals({ key, ttlMs, clock, origin })
  let count = 0
  /** of the last item; -1 = not encoded yet */
  let end = -1
  items.length = HEAD_BUDGET

  /** @param {Buffer} id @param {number} ts @param {number} seq @param {Buffer} value @param {boolean} deleted */
  function encode (id, ts, seq, value, deleted) {
    encoder.encode(id, ts, seq, value, deleted)
    log.add(id, ts, seq, deleted)
    order.add(scoreOf(ts, seq))
    count++
  }

  /** @param {boolean} isWatched */
  function encoded (isWatched) {
    // again when it is sent again
    if (end < 0) end = items.length
    items.length = end
    const deleted = [...removed].map((name) => Buffer.from(name, 'latin1'))
    const around = log.around()
    const mend = isWatched ? encodeMend(options, [...encoder.lastItem(), Buffer.from(String(order.lowest)), prefix]) : NOTHING
    const of = { ...options, prefix, separateSets, tombstoneMs, expiry, count, deleted, around, mend }
    const isScript = late === 'newest' && !isWatched
    const { head, facts, between, tail, replies } = isScript ? encodeScript(of) : encodeTransaction(of)
    if (facts) apart ??= new Wire(items.bytes.length)
    const wire = facts && apart ? takeApart(items.bytes.subarray(HEAD_BUDGET, end), facts, apart) : items
    return { bytes: join(wire, { head: Buffer.concat(head), rest: [...between, members.written(), ...tail] }), replies }
  }

  return {
    get count () { return count },
    get bytes () { return items.length + members.length + log.bytes },
    log,
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
    watched: late === 'newest' && dialect.mayWatch
      ? {
          ids: key('ids'),
          deletions: key('deletions'),
          isAbove: (score) => removed.size === 0 && order.isAbove(score),
          encoded: () => encoded(true)
        }
      : undefined,
    dropped (reply) {
      if (late === 'overwrite') return { late: 0 }
      // it is the first of the replies in the transaction
      const [dropped, lateBytes = 0] = [reply].flat(2)
      return { late: Number(dropped), lateBytes: Number(lateBytes), form: 'script' }
    },
    reset () {
      count = 0
      end = -1
      items.length = HEAD_BUDGET
      members.reset()
      removed.clear()
      log.reset()
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
  const { before, after, replies } = around
  const zadd = command(2 + 2 * count, 'ZADD', key('ids'))
  // SET and MSETEX gave tombstones their expiry; MSET has none
  const removals = encodeRemovals(deleted, key('ids'), prefix, separateSets || ttlMs > 0 ? 0 : tombstoneMs)
  const mset = ttlMs > 0 ? command(4 + 2 * count, 'MSETEX', count) : command(1 + 2 * count, 'MSET')
  return {
    head: separateSets ? [before] : [before, mset],
    between: separateSets ? [zadd] : [expiry, zadd],
    tail: [removals.bytes, ttlMs > 0 ? wholeCommand('PEXPIRE', key('ids'), ttlMs) : NOTHING, mend, ...after],
    replies: replies + (separateSets ? count : 1) + 1 + removals.replies + (ttlMs > 0 ? 1 : 0) + (mend.length > 0 ? 1 : 0)
  }
}

/** @param {Encoding} of @returns {Parts} */
function encodeScript ({ key, ttlMs, dialect, separateSets, tombstoneMs, expiry, count, deleted, around }) {
  const words = (ttlMs > 0 ? 11 : 9) + 4 * count
  // MSETEX takes each key beside its record; elsewhere they are keys of the script, because a cluster must know all of them
  const script = command(words, 'EVALSHA', dialect.sha('append-newest'), separateSets ? 2 + count : 2, key('ids'), key('deletions'))
  const facts = Buffer.from([count, ttlMs, tombstoneMs, deleted.length > 0 ? 1 : 0].map(argument).join(''))
  return {
    head: [around.before, script, ...(separateSets ? [] : [facts])],
    facts: separateSets ? facts : undefined,
    between: [expiry],
    tail: around.after,
    replies: 1 + around.replies
  }
}

/**
 * Turns SET commands into arguments of the script: all keys, its facts, all records, behind room for a head.
 * @param {Buffer} sets @param {Buffer} facts @param {Wire} to @returns {Wire} `to`
 */
function takeApart (sets, facts, to) {
  to.length = HEAD_BUDGET
  copyArguments(sets, KEY_OF_SET, to)
  to.copy(facts, 0, facts.length)
  copyArguments(sets, RECORD_OF_SET, to)
  return to
}

/**
 * Joins a batch in the buffer of its items.
 * @param {Wire} items @param {{ head: Buffer, rest: Buffer[] }} parts `head` goes into the room in front of the items
 * @returns {Buffer}
 */
function join (items, { head, rest }) {
  head.copy(items.bytes, HEAD_BUDGET - head.length)
  for (const part of rest) {
    items.reserve(part.length)
    items.long(part)
  }
  return items.bytes.subarray(HEAD_BUDGET - head.length, items.length)
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
