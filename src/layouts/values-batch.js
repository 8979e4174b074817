/**
 * A batch of layout `values` on the wire:
 *
 *     MULTI
 *     ZADD values  score <member> ...             item/member.js
 *     PEXPIRE values ttl                          once a second, if the feed has an age limit
 *     XADD arrivals ...                           arrivals.js
 *     EXEC
 *
 * Items are encoded when they are added, with the time of the append. A batch that is sent again has the same members, so it adds none
 * twice.
 */
import { MEMBER_HEAD_BYTES, writeMemberHead } from '../item/index.js'
import { createArrivals } from './arrivals.js'
import { MAX_BATCH_ITEMS } from './read-size.js'
import { createScoreText } from './score-text.js'
import { NOTHING, Wire, command, wholeCommand } from './wire.js'

/** ZADD with the longest key takes 160 bytes */
const HEAD_ROOM = 256
/** score, lengths and line ends */
const ITEM_ROOM = 96

/** Microseconds, unique in the process and increasing. One clock reading per batch; monotonic-clock.js would take one per item. */
let lastStamp = 0

/** @type {import('./index.js').Layout['createBatch']} */
export function createValuesBatch ({ key, ttlMs, clock = Date.now, origin }) {
  const expire = ttlMs > 0 ? wholeCommand('PEXPIRE', key('values'), ttlMs) : NOTHING
  const members = new Wire(64 * 1024)
  const writeScore = createScoreText()
  const log = createArrivals({ key, ttlMs, clock, origin })
  let count = 0
  /** of the last member; -1 = not encoded yet */
  let end = -1
  members.length = HEAD_ROOM

  /** @param {Buffer} id @param {number} ts @param {number} seq @param {Buffer} value @param {boolean} deleted */
  function encode (id, ts, seq, value, deleted) {
    if (count === 0) lastStamp = Math.max(lastStamp, Math.floor(clock() * 1000))
    members.reserve(id.length + value.length + ITEM_ROOM)
    writeScore(members, ts, seq)
    members.bulkHead(id.length + MEMBER_HEAD_BYTES + value.length)
    members.short(id)
    members.length = writeMemberHead(members.bytes, members.length, ++lastStamp, deleted)
    members.long(value)
    members.end()
    log.add(id, ts, seq, deleted)
    count++
  }

  return {
    get count () { return count },
    get bytes () { return members.length + log.bytes },
    log,
    maxItems: MAX_BATCH_ITEMS,
    add: (id, ts, seq, value) => encode(id, ts, seq, value, false),
    remove: (id, ts, seq) => encode(id, ts, seq, NOTHING, true),
    encoded () {
      // again when it is sent again
      if (end < 0) end = members.length
      members.length = end
      const { before, after, replies, isExpiring } = log.around()
      const head = Buffer.concat([before, command(2 + 2 * count, 'ZADD', key('values'))])
      head.copy(members.bytes, HEAD_ROOM - head.length)
      for (const part of [isExpiring ? expire : NOTHING, ...after]) {
        members.reserve(part.length)
        members.long(part)
      }
      return {
        bytes: members.bytes.subarray(HEAD_ROOM - head.length, members.length),
        replies: (isExpiring ? 2 : 1) + replies
      }
    },
    reset () {
      count = 0
      end = -1
      members.length = HEAD_ROOM
      log.reset()
    }
  }
}
