/**
 * Server-sent events (HTML Living Standard, 9.2): text, a field a line, an empty line behind an event.
 *
 *     event: items
 *     data: {"items":[{"id":"a","ts":1,"value":"aGVsbG8="},{"id":"b","ts":2,"deleted":true}]}
 *     id: <position>
 *
 * Data is one line: whatever is in an id or a value, line breaks are escaped or spaces there (http/encode.js). What is too
 * large for one event comes in several. The position is with the last of what there is to tell, so who comes again before it
 * is told all of it again.
 */
import { itemWriter } from '../http/encode.js'
import { TextBuffer } from '../http/text-buffer.js'

const COMMA = 0x2c

/** @typedef {{ ts: number, value: Buffer, deleted: false } | { ts: number | null, value: null, deleted: true }} Newest `ts` null: where a layout does not keep when */
/** @typedef {ReturnType<typeof createEvents>} Events */

/** @param {string} encoding of values */
export function createEvents (encoding) {
  const write = itemWriter(encoding)
  const out = new TextBuffer()
  let isSome = false

  return {
    /** Bytes of the event so far. */
    get length () { return out.length },

    /** @param {'items' | 'snapshot'} name */
    begin (name) {
      out.length = 0
      isSome = false
      out.text(`event: ${name}\ndata: {"items":[`)
    },

    /** @param {string} id byte for character @param {Newest} newest */
    put (id, newest) {
      if (isSome) out.byte(COMMA)
      isSome = true
      const bytes = Buffer.from(id, 'latin1')
      if (newest.deleted) out.text(JSON.stringify({ id: bytes.toString(), ...(newest.ts !== null && { ts: newest.ts }), deleted: true }))
      else write(out, bytes, 0, bytes.length, newest.ts, newest.value, 0, newest.value.length)
    },

    /** Whether there is an item in it. */
    get isSome () { return isSome },

    /** @param {string | null} position null: more comes @returns {Buffer} */
    end (position) {
      out.text(position === null ? ']}\n\n' : `]}\nid: ${position}\n\n`)
      return out.take()
    }
  }
}

/** Who is cut off before the snapshot comes again without a position. @param {string} reason one word */
export const resetEvent = (reason) => `event: reset\ndata: {"reason":"${reason}"}\nid:\n\n`

/**
 * Without data it is no event for anybody, but who comes again goes on there.
 * @param {number} asOf ms since 1970: when it was known last that nothing else had come @param {string} position
 */
export const heartbeat = (asOf, position) => `: as of ${Math.round(asOf)}\nid: ${position}\n\n`

/** While nothing can be said. */
export const EMPTY_HEARTBEAT = ': \n\n'

/** @param {number} ms after which a client may come again */
export const retryAfter = (ms) => `retry: ${Math.round(ms)}\n\n`
