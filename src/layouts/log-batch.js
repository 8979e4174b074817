/**
 * The commands around the entries of a batch for a log:
 *
 *     MULTI
 *     ZADD ahead GT ms <member>          if its items are further ahead than announced (log-origin.js)
 *     XADD ...                           entries as the layout encodes them
 *     INCRBY appended n                  if the feed has maxItems, at the first sending only
 *     PEXPIRE <key> ttl                  of each key, once a second, if the feed has an age limit
 *     EXEC
 *
 * A single entry without other commands goes without MULTI and EXEC, which would be a tenth of the server's work for a small
 * batch.
 *
 * A batch that is sent again because its outcome is unknown has the same entries. They may be stored twice; readers detect
 * that by their origin. `appended` counts versions for trimming (lua/trim-log.lua) and skips batches that are sent again,
 * unless the server had refused them. It may be too low, which keeps more for a while, but never too high.
 */
import { EXEC, MULTI, NOTHING, argument, command, wholeCommand } from './wire.js'

/** MULTI, ZADD with the longest key and the head of the first XADD take 480 bytes */
export const HEAD_ROOM = 768

/** @typedef {ReturnType<typeof createLogFrame>} LogFrame */

/**
 * @param {{ key: (part: string) => string, part: string, ttlMs: number, maxItems?: number,
 *   origin: import('./log-origin.js').Origin }} options
 */
export function createLogFrame ({ key, part, ttlMs, maxItems = 0, origin }) {
  const aheadKey = key('ahead')
  // a change is sent at once
  const lifetime = `${ttlMs} ${maxItems > 0}`
  const names = [key(part), key('appended'), aheadKey]
  const expiries = Buffer.concat(names.map((name) => wholeCommand('PEXPIRE', name, ttlMs)))
  /** @type {{ ms: number, member: string } | null} */
  let announcement = null
  let isExpiring = false
  /** whether it was sent before, and may be stored */
  let isAgain = false
  let wasAgain = false

  return {
    /**
     * Frames the entries, which fill the wire from HEAD_ROOM to its end.
     * @param {import('./wire.js').Wire} wire @param {{ count: number, lastTs: number, head: Buffer, entries: number }} batch `head`: of the
     *   first entry; `entries`: their number
     * @returns {{ bytes: Buffer, replies: number }}
     */
    around (wire, { count, lastTs, head, entries }) {
      announcement = origin.ahead(aheadKey).needed(lastTs)
      const announces = announcement ? wholeCommand('ZADD', aheadKey, 'GT', announcement.ms, announcement.member) : NOTHING
      const counts = maxItems > 0 && !isAgain ? wholeCommand('INCRBY', key('appended'), count) : NOTHING
      isExpiring = ttlMs > 0 && (announcement !== null || origin.expiry(key(part)).isDue(lifetime))
      const expires = isExpiring ? expiries : NOTHING
      wasAgain = isAgain
      isAgain = true
      const isAlone = entries === 1 && announcement === null && counts.length === 0 && !isExpiring
      const front = isAlone ? head : Buffer.concat([MULTI, announces, head])
      const start = HEAD_ROOM - front.length
      front.copy(wire.bytes, start)
      const end = wire.length
      wire.reserve(counts.length + expires.length + EXEC.length)
      if (!isAlone) for (const part of [counts, expires, EXEC]) wire.long(part)
      const bytes = wire.bytes.subarray(start, wire.length)
      wire.length = end
      return {
        bytes, replies: isAlone ? 1 : 1 + (announcement ? 1 : 0) + entries + (counts.length ? 1 : 0) + (isExpiring ? names.length : 0) + 1
      }
    },

    /** The batch is stored. */
    stored () {
      if (announcement) origin.ahead(aheadKey).announced(announcement)
      if (isExpiring) origin.expiry(key(part)).stored(lifetime)
      announcement = null
      isExpiring = false
    },

    /** The server refused the last sending. */
    refused () { isAgain = wasAgain },

    reset () {
      announcement = null
      isExpiring = false
      isAgain = false
    }
  }
}

/** The beginning of an XADD of one field, up to the length of its value. @param {string} name @param {string} field */
export const xaddHead = (name, field) => Buffer.from(command(5, 'XADD', name, '*').toString() + argument(field))

/** @type {WeakMap<object, LogFrame>} of batches */
const frames = new WeakMap()

/**
 * @template {object} T
 * @param {T} batch
 * @param {LogFrame} frame
 * @returns {T} the same batch; appendToLog reports the outcome to its frame
 */
export function framed (batch, frame) {
  frames.set(batch, frame)
  return batch
}

/** @type {import('./index.js').Layout['append']} */
export async function appendToLog (connection, batch) {
  const frame = frames.get(batch)
  try {
    await connection.sendEncoded(batch.encoded())
    frame?.stored()
  } catch (error) {
    if (['full', 'later', 'moved'].includes(error.outcome)) frame?.refused()
    throw error
  }
  return { late: 0 }
}
