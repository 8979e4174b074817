/**
 * What stands around the entries of a batch on its way into a log:
 *
 *     MULTI
 *     ZADD ahead GT ms <member>          when its items are further ahead than was said (log-origin.js)
 *     XADD ...                           what the layout makes of the items
 *     INCRBY appended n                  when the feed keeps a number of versions, and it is sent for the first time
 *     PEXPIRE <key> ttl                  of each key, once a second, not when the feed has no age limit
 *     EXEC
 *
 * One entry with nothing beside it goes without MULTI and EXEC: of a small batch they are a tenth of what the server does.
 *
 * A batch that is sent again, because its outcome is unknown, brings the same entries. They may then be stored twice;
 * readers tell it by their origin. `appended` counts how many versions came, for trimming (lua/trim-log.lua), and leaves out
 * what is sent again, unless the server had said that it took nothing: it may count too few, and then more is kept for a
 * while, never too many.
 */
import { argument, command, wholeCommand } from './wire.js'

/** MULTI, ZADD with the longest key and the head of the first XADD take 480 bytes */
export const HEAD_ROOM = 768
const MULTI = wholeCommand('MULTI')
const EXEC = wholeCommand('EXEC')
const NOTHING = Buffer.alloc(0)

/** @typedef {ReturnType<typeof createLogFrame>} LogFrame */

/**
 * @param {{ key: (part: string) => string, part: string, ttlMs: number, maxItems?: number,
 *   origin: import('./log-origin.js').Origin }} options
 */
export function createLogFrame ({ key, part, ttlMs, maxItems = 0, origin }) {
  const aheadKey = key('ahead')
  // another one, or a key that was not there, is told at once
  const lifetime = `${ttlMs} ${maxItems > 0}`
  const names = [key(part), key('appended'), aheadKey]
  const expiries = Buffer.concat(names.map((name) => wholeCommand('PEXPIRE', name, ttlMs)))
  /** @type {{ ms: number, member: string } | null} */
  let saying = null
  let isExpiring = false
  /** whether it was sent, and may be stored by now */
  let isAgain = false
  let wasAgain = false

  return {
    /**
     * Frames entries that stand in the wire from HEAD_ROOM on, and end where it ends.
     * @param {import('./wire.js').Wire} wire @param {{ count: number, lastTs: number, head: Buffer, entries: number }} batch `head`: of the
     *   first entry, which goes in front; `entries`: how many
     * @returns {{ bytes: Buffer, replies: number }}
     */
    around (wire, { count, lastTs, head, entries }) {
      saying = origin.ahead(aheadKey).needed(lastTs)
      const says = saying ? wholeCommand('ZADD', aheadKey, 'GT', saying.ms, saying.member) : NOTHING
      const counts = maxItems > 0 && !isAgain ? wholeCommand('INCRBY', key('appended'), count) : NOTHING
      isExpiring = ttlMs > 0 && (saying !== null || origin.expiry(key(part)).isDue(lifetime))
      const expires = isExpiring ? expiries : NOTHING
      wasAgain = isAgain
      isAgain = true
      const isAlone = entries === 1 && saying === null && counts.length === 0 && !isExpiring
      const front = isAlone ? head : Buffer.concat([MULTI, says, head])
      const start = HEAD_ROOM - front.length
      front.copy(wire.bytes, start)
      const end = wire.length
      wire.reserve(counts.length + expires.length + EXEC.length)
      if (!isAlone) for (const part of [counts, expires, EXEC]) wire.long(part)
      const bytes = wire.bytes.subarray(start, wire.length)
      wire.length = end
      return { bytes, replies: isAlone ? 1 : 1 + (saying ? 1 : 0) + entries + (counts.length ? 1 : 0) + (isExpiring ? names.length : 0) + 1 }
    },

    /** It is stored. */
    stored () {
      if (saying) origin.ahead(aheadKey).said(saying)
      if (isExpiring) origin.expiry(key(part)).said(lifetime)
      saying = null
      isExpiring = false
    },

    /** The server said that it took nothing of what was sent last. */
    turnedDown () { isAgain = wasAgain },

    reset () {
      saying = null
      isExpiring = false
      isAgain = false
    }
  }
}

/** The beginning of an XADD of one field, up to the length of its value. @param {string} name @param {string} field */
export const xaddHead = (name, field) => Buffer.from(command(5, 'XADD', name, '*').toString() + argument(field))

/** @type {WeakMap<object, LogFrame>} of batches */
const frames = new WeakMap()

/** @template {object} T @param {T} batch @param {LogFrame} frame @returns {T} the same batch, whose frame hears what became of it */
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
    if (error.outcome === 'full') frame?.turnedDown()
    throw error
  }
  return { late: 0 }
}
